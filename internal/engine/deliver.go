package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/store"
)

// Target is where events of some topics are delivered.
type Target struct {
	Name    string
	Topics  []string
	As      *access.Principal // who reads what it is sent; nil: nobody, so that it gets notifications without values
	Ordered bool              // events of a row one after the other: never born leased
}

// Outbox sends what a write put into the queue. The engine tells it of each
// write after its commit, from the goroutine of the request: no method may wait.
type Outbox interface {
	// Reserve makes room for one more delivery to the target, to be born leased to
	// the owner; ok is false where there is none. Each reservation ends in one of
	// the two below.
	Reserve(target string) (owner string, ok bool)
	// Committed hands over all deliveries of a write, in the order of the queue;
	// those without an owner are in the queue and nobody's.
	Committed(ds []*store.Delivery)
	// Dropped gives reservations back: of a run that was undone, or, where unknown,
	// of a write that stands or does not, so that the queue must be asked.
	Dropped(ds []*store.Delivery, unknown bool)
}

// route is the way from a publisher to one target.
type route struct {
	*Target
	reader *access.Grant // nil: nobody
	view   int           // those of one view are sent the same bytes
}

// noValues is the view of a notification.
const noValues = 0

// addRoutes finds the targets that want what the publisher publishes. Grants are
// evaluated here, once: a target is one principal for as long as the engine lives.
func (e *Engine) addRoutes(ent *entity, p *publisher) {
	views := []string{""}
	for i := range e.config.Targets {
		t := &e.config.Targets[i]
		if !slices.Contains(t.Topics, p.Topic) {
			continue
		}
		r := route{Target: t}
		if t.As != nil {
			r.reader = e.grant(ent, t.As)
			r.view = slices.Index(views[1:], r.reader.ViewKey()) + 1
			if r.view == noValues {
				r.view = len(views)
				views = append(views, r.reader.ViewKey())
			}
		}
		p.routes = append(p.routes, r)
	}
	p.views = len(views)
}

// wanted is an event that some target wants.
type wanted struct {
	ent *entity
	*publisher
	change *change
	log    *store.LogRow // its Row is the row as the work leaves it
}

// sees reports whether the target is told of the event: a row that its principal
// may not read makes no delivery, by the very rules that guard a stream.
func (r *route) sees(w *wanted) bool {
	g, c := r.reader, w.change
	switch {
	case g == nil:
		return true
	case !g.Can(access.Read):
		return false
	case c.after == nil:
		return !w.ent.policy.HasRowRules() || (!c.hidden && passes(g, access.Read, c.before))
	default:
		return passes(g, access.Read, c.after) && w.ent.shown(g, w.log.Row) != nil
	}
}

// body returns what the target is sent, made once for all targets of its view.
func (w *writing) body(ev *wanted, r *route, made [][]byte) []byte {
	view := r.view
	if ev.change.after == nil {
		view = noValues
	}
	if made[view] == nil {
		told := event.Event{
			ID: ev.log.EventID, Type: event.TypeOf(event.Op(ev.change.operation())), Entity: ev.log.Entity,
			Operation: event.Op(ev.change.operation()), Subject: ev.log.Subject, Time: ev.log.Time, Tenant: w.engine.config.Tenant,
		}
		if view != noValues {
			told.Data = render.Row(nil, r.reader, ev.Keeps, ev.log.Row)
		}
		made[view] = told.AppendJSON(nil)
	}
	return made[view]
}

// enqueue puts into the queue what targets want of the work, in the order of its
// events.
func (w *writing) enqueue() error {
	for i := range w.wanted {
		ev := &w.wanted[i]
		made := make([][]byte, ev.views)
		for j := range ev.routes {
			if r := &ev.routes[j]; r.sees(ev) {
				w.queue = append(w.queue, w.delivery(ev, r, w.body(ev, r, made)))
			}
		}
	}
	if len(w.queue) == 0 {
		return nil
	}
	failpoint.Hit(failpoint.BeforeInsert)
	if err := w.tx.Enqueue(w.queue...); err != nil {
		return unqueued(err)
	}
	failpoint.Hit(failpoint.AfterInsert)
	return nil
}

// unqueued is the error of a queue that cannot be written: the write fails as
// where the datastore cannot be reached, whatever the cause.
func unqueued(err error) error {
	for _, known := range []error{store.ErrUnavailable, store.ErrTimeout, store.ErrClosed, store.ErrUnknown} {
		if errors.Is(err, known) {
			return err
		}
	}
	return fmt.Errorf("%w: the delivery queue: %w", store.ErrUnavailable, err)
}

func (w *writing) delivery(ev *wanted, r *route, body []byte) *store.Delivery {
	d := &store.Delivery{
		ID: "U" + w.engine.config.NewID(), Target: r.Name, Topic: ev.Topic, Event: string(event.TypeOf(event.Op(ev.change.operation()))),
		EventID: ev.log.EventID, Entity: ev.log.Entity, Subject: ev.log.Subject, Ordered: r.Ordered,
		Body: body, Created: w.now, Status: store.Pending,
	}
	if r.Ordered {
		return d
	}
	if owner, ok := w.engine.config.Outbox.Reserve(r.Name); ok {
		d.Status, d.Owner, d.Epoch = store.Claimed, owner, 1
	}
	return d
}

// handOver tells the outbox how the write of the last run went.
func (w *writing) handOver(err error) {
	switch {
	case w == nil || len(w.queue) == 0:
	case err == nil:
		failpoint.Hit(failpoint.BeforeHandOver)
		w.engine.config.Outbox.Committed(w.queue)
		failpoint.Hit(failpoint.AfterHandOver)
	default:
		w.drop(errors.Is(err, store.ErrUnknown))
	}
}

// drop gives back what the run reserved.
func (w *writing) drop(unknown bool) {
	if w == nil {
		return
	}
	reserved := slices.DeleteFunc(w.queue, func(d *store.Delivery) bool { return d.Owner == "" })
	if w.queue = nil; len(reserved) > 0 {
		w.engine.config.Outbox.Dropped(reserved, unknown)
	}
}
