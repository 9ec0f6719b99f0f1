package hub

import (
	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/sse"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

const unknown = value.Unknown

// frameKey is equal for subscribers who see the same bytes of an entry.
type frameKey struct {
	subscription *schema.Subscription
	view         string // the grant's ViewKey where values travel
	leave        bool
}

// Frame returns the block that tells the verdict. All who see the same share
// the bytes: they must not be changed.
func (v *View) Frame(e *tail.Entry, verdict Verdict) []byte {
	l := v.lens(e.Entity)
	key := l.key
	if verdict == TellLeave {
		key.view, key.leave = "", true
	}
	return e.Encoded(key, func() []byte { return v.encode(l, e, verdict) })
}

func (v *View) encode(l *lens, e *tail.Entry, verdict Verdict) []byte {
	ev := v.event(e.Log)
	if verdict == TellLeave {
		ev.Type = event.Leave
	} else if v.Subscription.RLS && e.Log.Operation != schema.Delete {
		ev.Data = render.Row(nil, l.Grant, l.Publisher.Keeps, e.Row)
	}
	return sse.AppendFrame(nil, ev.ID, string(ev.Type), ev.AppendJSON(nil))
}

func (v *View) event(row *store.LogRow) event.Event {
	op := operation(row.Operation)
	return event.Event{
		ID: row.EventID, Type: event.TypeOf(op), Entity: row.Entity, Operation: op,
		Subject: row.Subject, Time: row.Time, Tenant: v.Tenant,
	}
}

func operation(op schema.Op) event.Op {
	switch op {
	case schema.Create:
		return event.Create
	case schema.Delete:
		return event.Delete
	default:
		return event.Update
	}
}

// describe is `event` in a subscription's filter.
func describe(v *View, row *store.LogRow) map[string]any {
	ev := v.event(row)
	return map[string]any{
		"id": ev.ID, "type": string(ev.Type), "entity": ev.Entity, "operation": string(ev.Operation),
		"subject": ev.Subject, "time": ev.Time, "tenant": ev.Tenant, "topic": row.Topic,
	}
}
