package typegen

import "github.com/rowcast/rowcast/schema"

// subscription is a declared subscription with the events it may tell.
type subscription struct {
	*schema.Subscription
	name string
	told []told
}

// told is one type of event about the rows of one entity.
type told struct {
	entity, kind, operation string
	data                    string // the type of data; "" where the event has none
}

// subscription plans what is told: each operation that a publisher of the topic
// publishes and the subscription asks for.
func (p *plan) subscription(m *schema.Model, e *entity, s *schema.Subscription) subscription {
	planned := subscription{Subscription: s, name: p.names.take(e.row.name + pascal(s.Name) + "Event")}
	for _, source := range m.Source(e.Entity, s) {
		from := p.byEntity[source.Entity]
		for _, op := range []schema.Op{schema.Create, schema.Update, schema.Delete} {
			if !s.Operations.Has(op) || !source.Publisher.Operations.Has(op) {
				continue
			}
			event := told{entity: from.Name, kind: "entity." + op.String(), operation: op.String()}
			if s.RLS && op != schema.Delete {
				event.data = p.data(from, source.Publisher)
			}
			planned.told = append(planned.told, event)
			if op == schema.Update {
				planned.told = append(planned.told, told{entity: from.Name, kind: "entity.leave", operation: "update"})
			}
		}
	}
	return planned
}

// data names the row as one publisher shows it.
func (p *plan) data(e *entity, publisher *schema.Publisher) string {
	name, known := e.byPublisher[publisher]
	if !known {
		name = p.narrow(e, e.row.name+pascal(publisher.Name)+"Data", "is a row of "+e.Name+" as its event "+publisher.Name+" shows it.", publisher.Keeps)
		e.byPublisher[publisher] = name
	}
	return name
}

// dataType is the one type that all data of a subscription has; several says that
// there is more than one, and "" that no event has any.
func (s subscription) dataType() (name string, several bool) {
	for _, t := range s.told {
		switch {
		case t.data == "" || t.data == name:
		case name == "":
			name = t.data
		default:
			return "", true
		}
	}
	return name, false
}

// channel is what GET /realtime tells of an entity.
type channel struct {
	name, item    string
	whole, edited []schema.RealtimeEvent // with item; with item and changed
	gone          []schema.RealtimeEvent // with neither
}

// left is what a channel tells where that was asked for.
const left schema.RealtimeEvent = "left"

func (p *plan) planChannel(e *entity, defaults *schema.Realtime) {
	if !e.HasChannel(defaults) {
		return
	}
	c := &channel{name: p.names.take(e.row.name + "ChannelEvent")}
	c.item = p.narrow(e, e.row.name+"Item", "is a row of "+e.Name+" as its channels show it.", e.Realtime.Subscribes)
	for _, event := range []schema.RealtimeEvent{schema.RealtimeCreated, schema.RealtimeRestored} {
		if e.tells(event, defaults) {
			c.whole = append(c.whole, event)
		}
	}
	for _, event := range []schema.RealtimeEvent{schema.RealtimeUpdated, schema.RealtimePatched} {
		if e.tells(event, defaults) {
			c.edited = append(c.edited, event)
		}
	}
	if e.tells(schema.RealtimeDeleted, defaults) {
		c.gone = append(c.gone, schema.RealtimeDeleted)
	}
	c.gone = append(c.gone, left)
	e.channel = c
}

// tells reports whether a standard operation or one of the entity's own is told
// as the event.
func (e *entity) tells(event schema.RealtimeEvent, defaults *schema.Realtime) bool {
	standard := event != schema.RealtimeRestored || e.SoftDelete
	if standard && e.Publishes(event, nil, defaults) {
		return true
	}
	for i := range e.Operations {
		op := &e.Operations[i]
		if op.Event == event && e.Publishes(event, op, defaults) {
			return true
		}
	}
	return false
}
