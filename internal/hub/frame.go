package hub

import (
	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// frameKey is equal for subscribers who see the same bytes of an entry.
type frameKey struct {
	subscription *schema.Subscription // nil on a channel
	view         string               // where values travel: which fields are seen, and how
	leave        bool
}

// eventOf is a log row of a topic as it is told.
func eventOf(tenant string, row *store.LogRow) event.Event {
	op := operation(row.Operation)
	return event.Event{
		ID: row.EventID, Type: event.TypeOf(op), Entity: row.Entity, Operation: op,
		Subject: row.Subject, Time: row.Time, Tenant: tenant,
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
