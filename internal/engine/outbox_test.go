package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/store"
)

// queued is a real datastore with a queue that keeps what was committed and can
// be broken.
type queued struct {
	store.Store
	broken error
	calls  int
	kept   []*store.Delivery
}

func (q *queued) Write(ctx context.Context, work store.Work) error {
	var put []*store.Delivery
	run := work.Run
	work.Run = func(ctx context.Context, tx store.Tx) error {
		put = nil
		return run(ctx, &queueing{tx, q, &put})
	}
	err := q.Store.Write(ctx, work)
	if err == nil {
		q.kept = append(q.kept, put...)
	}
	return err
}

type queueing struct {
	store.Tx
	queue *queued
	put   *[]*store.Delivery
}

func (t *queueing) Enqueue(ds ...*store.Delivery) error {
	t.queue.calls++
	if t.queue.broken != nil {
		return t.queue.broken
	}
	*t.put = append(*t.put, ds...)
	return nil
}

// post is an Outbox with room for a while.
type post struct {
	room                        int
	reserved                    int
	committed, dropped, unknown []*store.Delivery
}

func (p *post) Reserve(string) (string, bool) {
	if p.room == 0 {
		return "", false
	}
	p.room--
	p.reserved++
	return "me", true
}

func (p *post) Committed(ds []*store.Delivery) { p.committed = append(p.committed, ds...) }

func (p *post) Dropped(ds []*store.Delivery, unknown bool) {
	if unknown {
		p.unknown = append(p.unknown, ds...)
		return
	}
	p.dropped = append(p.dropped, ds...)
}

// delivering is a house with targets.
type delivering struct {
	*house
	queue *queued
	post  *post
}

func deliver(t *testing.T, targets []engine.Target, change ...func(*engine.Config)) *delivering {
	t.Helper()
	d := &delivering{post: &post{room: 100}}
	d.house = open(t, append([]func(*engine.Config){func(c *engine.Config) {
		d.queue = &queued{Store: c.Store}
		c.Store, c.Targets, c.Outbox = d.queue, targets, d.post
	}}, change...)...)
	return d
}

func to(name string, topics ...string) engine.Target {
	return engine.Target{Name: name, Topics: topics}
}

func as(pr *access.Principal, t engine.Target) engine.Target {
	t.As = pr
	return t
}

// sent lists what is queued: target, topic, event, row.
func (d *delivering) sent() (all []string) {
	for _, q := range d.queue.kept {
		all = append(all, strings.Join([]string{q.Target, q.Topic, q.Event, q.Subject}, " "))
	}
	return all
}

func (d *delivering) wantSent(want ...string) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.sent()); diff != "" {
		d.t.Error(diff)
	}
	d.queue.kept = nil
}

// lost is a real datastore whose connection breaks while a write is committed.
type lost struct{ store.Store }

func (l *lost) Write(ctx context.Context, work store.Work) error {
	if err := l.Store.Write(ctx, work); err != nil {
		return err
	}
	return store.ErrUnknown
}
