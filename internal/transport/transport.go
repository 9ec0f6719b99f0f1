// Package transport hands the channel events of one datastore on to what the
// embedding program registered (channels contract, section 2).
//
// Guarantees. An event is handed on after its commit, by the instance that wrote
// it, once, and to each transport in the order of the change log; item is the
// whole row, null where the row is gone. Each transport has a queue and a
// goroutine of its own: one that is slow, fails, panics or never comes back
// delays no writer, no stream and no other transport. Its queue is bounded in
// number and bytes; what does not fit is dropped, counted and reported. What a
// crash leaves unpublished is lost: for what must arrive there are targets.
//
// Offer never blocks. Run is the life of an Outlet; it returns a bounded time
// after its context is done, if need be without a transport that does not come
// back. All methods are safe for concurrent use. The package may import event,
// value, schema, access, render and tail.
package transport

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Bounds of a queue, and of time.
const (
	queueEvents = 1024
	queueBytes  = 16 << 20
	// publishTime is when the context of one Publish ends.
	publishTime = 30 * time.Second
	// drainTime is how long a stopping outlet goes on with what is queued, and
	// graceTime how long it then waits for what it has told to stop.
	drainTime = 3 * time.Second
	graceTime = time.Second
)

// ErrDropped is what is reported of an event that found a full queue.
var ErrDropped = errors.New("the transport's queue is full; the event is dropped")

// Transport takes channel events further.
type Transport interface {
	Name() string
	Publish(ctx context.Context, e event.ChannelEvent) error
}

// Config is what an Outlet stands on.
type Config struct {
	Tenant, Origin string
	Transports     []Transport
	Policies       map[string]*access.Policy // by entity; of this datastore
	// OnError is told of each event that a transport did not take, one at a time.
	// Defaults to a line in the log. It is not waited for.
	OnError func(transport string, e event.ChannelEvent, err error)
	Logger  *slog.Logger // defaults to slog.Default()
}

// Counter is a reading of one transport's counters, from the start of the process.
type Counter struct {
	Transport                  string
	Published, Dropped, Errors uint64
}

// Outlet hands on the events of one datastore.
type Outlet struct {
	config  Config
	sights  map[*schema.Entity]sight
	lanes   []*lane
	reports chan report
}

// sight is how the rows of an entity are shown: whole.
type sight struct {
	grant     *access.Grant
	deletedOn int // -1: no soft delete
}

// New returns an Outlet that has not started. Names are the caller's to check.
func New(c Config) *Outlet {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.OnError == nil {
		c.OnError = func(transport string, e event.ChannelEvent, err error) {
			c.Logger.Warn("a transport did not take an event", "transport", transport, "event", e.EventID, "channel", e.Channel(), "error", err)
		}
	}
	o := &Outlet{config: c, sights: map[*schema.Entity]sight{}, reports: make(chan report, reportsKept)}
	for _, p := range c.Policies {
		s := sight{grant: p.Whole(&access.Principal{Tenant: c.Tenant}), deletedOn: -1}
		if p.Entity.SoftDelete {
			s.deletedOn, _ = p.Entity.Field("deletedon")
		}
		o.sights[p.Entity] = s
	}
	for _, t := range c.Transports {
		o.lanes = append(o.lanes, &lane{outlet: o, name: t.Name(), transport: t, wake: make(chan struct{}, 1)})
	}
	return o
}

// Offer takes the channel events out of a batch of the log. It never blocks: what
// a queue has no room for is dropped.
func (o *Outlet) Offer(batch []*tail.Entry) {
	if len(o.lanes) == 0 {
		return
	}
	for _, e := range batch {
		if !o.tells(e) {
			continue
		}
		for _, l := range o.lanes {
			l.offer(e)
		}
	}
}

// tells reports whether transports are told of the entry. A row that is gone by
// the time it is looked at has a later event that says so, as on a stream.
func (o *Outlet) tells(e *tail.Entry) bool {
	s, known := o.sights[e.Entity]
	switch {
	case e.Log.Topic != "" || e.Log.Fine == "" || e.Log.Origin != o.config.Origin || !known:
		return false
	case event.ChannelOp(e.Log.Fine).Gone():
		return true
	}
	return e.Row != nil && (s.deletedOn < 0 || e.Row[s.deletedOn].IsNull())
}

// wholeRow is the key under which the encoding of an entry is kept: one serves
// all transports.
type wholeRow struct{}

func (o *Outlet) event(e *tail.Entry) event.ChannelEvent {
	out := event.ChannelEvent{
		Event: event.ChannelOp(e.Log.Fine), Entity: e.Log.Entity, ID: e.Log.Subject, OccurredAt: e.Log.Time,
		EventID: e.Log.EventID, Tenant: o.config.Tenant,
	}
	if out.Event.Changes() {
		out.Changed = append([]string{}, e.Log.Sent...)
	}
	if !out.Event.Gone() {
		// Clipped: whoever appends to it must not write into what others are given.
		out.Item = e.Encoded(wholeRow{}, func() []byte { return slices.Clip(render.Row(nil, o.sights[e.Entity].grant, nil, e.Row)) })
	}
	return out
}

// Counters returns a reading for each transport.
func (o *Outlet) Counters() []Counter {
	out := make([]Counter, len(o.lanes))
	for i, l := range o.lanes {
		out[i] = Counter{Transport: l.name, Published: l.published.Load(), Dropped: l.dropped.Load(), Errors: l.failed.Load()}
	}
	return out
}

// Run hands on what is offered until ctx is done, and then, for a bounded time,
// what is still queued.
func (o *Outlet) Run(ctx context.Context) {
	if len(o.lanes) == 0 {
		return
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var lanes, reporting sync.WaitGroup
	for _, l := range o.lanes {
		lanes.Go(func() { l.run(ctx, work) })
	}
	finished := make(chan struct{})
	reporting.Go(func() { o.report(finished) })
	<-ctx.Done()
	all := make(chan struct{})
	go func() {
		defer close(all)
		lanes.Wait()
		close(finished)
		reporting.Wait()
	}()
	if within(drainTime, all) {
		return
	}
	cancel()
	if !within(graceTime, all) {
		o.leftBehind()
	}
}

// within waits for done, for so long.
func within(limit time.Duration, done <-chan struct{}) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// leftBehind says whose code did not come back.
func (o *Outlet) leftBehind() {
	var names []string
	for _, l := range o.lanes {
		if l.working.Load() {
			names = append(names, l.name)
		}
	}
	if len(names) == 0 {
		o.config.Logger.Error("OnPublishError did not return and is left behind")
		return
	}
	o.config.Logger.Error("a transport did not end and is left behind; its Publish must heed its context", "transports", names)
}

// weight estimates the memory that an entry and its encoding hold, in bytes.
func weight(row []value.Value) int {
	n := 512
	for _, cell := range row {
		n += 32 + 2*len(cell.Text())
	}
	return n
}
