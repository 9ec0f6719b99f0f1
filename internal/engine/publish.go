package engine

import (
	"slices"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// publisher is an entry of events, compiled.
type publisher struct {
	*schema.Publisher
	condition *script.Program // nil: every change
	guard     []int           // fields whose cells the log keeps for this topic
	routes    []route         // to the targets that want it; nil: none does
	views     int             // how many bodies one event may need
}

func compilePublisher(m *schema.Model, policy *access.Policy, p *schema.Publisher) (publisher, document.Refusals) {
	out := publisher{Publisher: p}
	var refusals document.Refusals
	if p.Condition != nil {
		out.condition, refusals = script.CompileCondition(policy.Entity, *p.Condition)
	}
	columns := slices.Clone(policy.RuleColumns())
	for _, filter := range filtersOf(m, p.Topic) {
		program, refused := script.CompileFilter(policy.Entity, *filter, p.Keeps)
		if len(refused) > 0 {
			refusals = append(refusals, refused...)
			continue
		}
		columns = append(columns, program.Fields()...)
	}
	slices.Sort(columns)
	out.guard = slices.Compact(columns)
	return out, refusals
}

// filtersOf returns the filters of all subscriptions that read the topic,
// whatever entity declares them.
func filtersOf(m *schema.Model, topic string) (out []*schema.Script) {
	for _, e := range m.Entities {
		for i := range e.Subscriptions {
			if s := &e.Subscriptions[i]; s.Source == topic && s.Filter != nil {
				out = append(out, s.Filter)
			}
		}
	}
	return out
}

// change is what a write did to one row.
type change struct {
	op     schema.Op
	fine   string    // created, updated, patched, deleted, restored
	before store.Row // nil on create
	after  store.Row // nil on delete
	// hidden says that before was soft-deleted: nobody could see it, so the
	// guard must know nothing of it.
	hidden bool
	bulk   bool
	sent   []string          // names in the payload
	custom *schema.Operation // the operation that made it; nil: a standard one
	names  []string          // what differs does, once somebody has asked
}

// payload is what a condition sees: the row after, or before a delete.
func (c *change) payload() store.Row {
	if c.after == nil {
		return c.before
	}
	return c.after
}

func (c *change) operation() string { return opNames[c.op] }

var opNames = map[schema.Op]string{schema.Create: "create", schema.Update: "update", schema.Delete: "delete"}

// publish gathers one log row for each publisher that speaks of the change, and
// one for the channels. A condition that fails undoes the write: to skip the event would hide a change,
// to send it would show one that the schema meant to hide.
func (w *writing) publish(ent *entity, g *access.Grant, c *change) error {
	if w.left != nil {
		w.left[rowKey{ent.Name, ent.subject(c.payload())}] = c.after
	}
	for i := range ent.publishers {
		p := &ent.publishers[i]
		if !p.Operations.Has(c.op) || (c.bulk && !p.Bulk) {
			continue
		}
		told, err := w.holds(ent, p, g, c)
		if err != nil {
			return err
		}
		if !told {
			continue
		}
		row := w.logRow(ent, p.Topic, p.guard, g, c)
		w.log = append(w.log, row)
		if p.routes != nil {
			w.wanted = append(w.wanted, wanted{ent, p, c, row})
		}
	}
	w.channelRow(ent, g, c)
	return nil
}

func (w *writing) holds(ent *entity, p *publisher, g *access.Grant, c *change) (bool, error) {
	if p.condition == nil {
		return true, nil
	}
	told, err := p.condition.RunCondition(script.Change{
		Payload: c.payload(), Old: c.before, Operation: c.operation(),
		User: g.User(), Tenant: w.engine.config.Tenant,
	})
	if err != nil {
		return false, fault.New(fault.EventConditionFailed,
			"the condition of event %q of %s could not be evaluated; nothing was written", p.Name, ent.Name).Because(err)
	}
	return told, nil
}

// logRow makes the row of one topic, "" for the channels.
func (w *writing) logRow(ent *entity, topic string, guard []int, g *access.Grant, c *change) *store.LogRow {
	row := &store.LogRow{
		EventID: w.engine.config.NewID(), Entity: ent.Name, Operation: c.op, Fine: c.fine, Topic: topic,
		Subject: ent.subject(c.payload()), Time: w.now, Sent: c.sent, Differs: ent.differs(c),
		Origin: w.engine.config.Origin, Row: c.after,
	}
	if !g.Principal.Anonymous {
		row.Actor = g.Principal.ID
	}
	row.Guard.After = kept(guard, c.after)
	if !c.hidden {
		row.Guard.Before = kept(guard, c.before)
	}
	return row
}

// kept copies the cells that the guard needs; the others are not at hand.
func kept(columns []int, row store.Row) store.Row {
	if row == nil {
		return nil
	}
	out := make(store.Row, len(row))
	for i := range out {
		out[i] = value.NotAtHand()
	}
	for _, i := range columns {
		out[i] = row[i]
	}
	return out
}

// differs names the fields whose values differ between before and after; of a
// new row those that are not null; of a removed one none.
func (ent *entity) differs(c *change) []string {
	if c.names != nil {
		return c.names
	}
	c.names = []string{}
	if c.after == nil {
		return c.names
	}
	for i, f := range ent.Fields {
		if was := c.before; (was == nil && !c.after[i].IsNull()) || (was != nil && was[i] != c.after[i]) {
			c.names = append(c.names, f.Name)
		}
	}
	return c.names
}
