package hub

import (
	"slices"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/internal/sse"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

// Declared is the View of a declared subscription. Its fields are set, and See
// is called, before it is registered.
type Declared struct {
	Tenant       string
	Entity       *schema.Entity // the one subscribed to
	Subscription *schema.Subscription
	Topic        string
	Ops          schema.OpSet // what the subscription declares, perhaps narrowed
	Leave        bool
	Principal    *access.Principal
	lenses       []lens
}

// Source is an entity that publishes to the topic, as the principal may read it.
type Source struct {
	Publisher *schema.Publisher
	Grant     *access.Grant
	Filter    *script.Program // nil: none
}

// lens is a Source, prepared.
type lens struct {
	eye
	entity    *schema.Entity
	publisher *schema.Publisher
	key       frameKey
}

// See adds an entity that publishes to the topic.
func (v *Declared) See(s Source) {
	l := lens{
		eye: newEye(s.Grant), entity: s.Grant.Policy.Entity, publisher: s.Publisher,
		key: frameKey{subscription: v.Subscription},
	}
	l.values, l.ofDeletes = v.Subscription.RLS, true
	if s.Filter != nil {
		l.filter = &deliveryFilter{tenant: v.Tenant, source: s}
		l.judgedFrom = append(slices.Clone(l.judgedFrom), s.Filter.Fields()...)
	}
	if v.Subscription.RLS {
		l.key.view = s.Grant.ViewKey()
	}
	v.lenses = append(v.lenses, l)
}

// About implements View.
func (v *Declared) About() About {
	return About{Entity: v.Entity, Subscription: v.Subscription.Name, Principal: v.Principal, lane: lane{topic: v.Topic}}
}

// Judge implements View.
func (v *Declared) Judge(e *tail.Entry) Verdict {
	l := v.lens(e.Entity)
	if l == nil || e.Log.Topic != v.Topic || !v.Ops.Has(e.Log.Operation) || !v.inScope(e.Log) {
		return Nothing
	}
	return l.judge(e, v.Leave)
}

func (v *Declared) lens(e *schema.Entity) *lens {
	for i := range v.lenses {
		if v.lenses[i].entity == e {
			return &v.lenses[i]
		}
	}
	return nil
}

// inScope keeps a subscription's scope: user narrows to the writes this caller made. Two
// anonymous callers are never the same one.
func (v *Declared) inScope(row *store.LogRow) bool {
	return !v.Subscription.ScopeUser || (row.Actor != "" && !v.Principal.Anonymous && row.Actor == v.Principal.ID)
}

// Frame implements View.
func (v *Declared) Frame(e *tail.Entry, verdict Verdict) []byte {
	l := v.lens(e.Entity)
	key := l.key
	if verdict == TellLeave {
		key.view, key.leave = "", true
	}
	return e.Encoded(key, func() []byte { return v.encode(l, e, verdict) })
}

func (v *Declared) encode(l *lens, e *tail.Entry, verdict Verdict) []byte {
	ev := eventOf(v.Tenant, e.Log)
	if verdict == TellLeave {
		ev.Type = event.Leave
	} else if v.Subscription.RLS && e.Log.Operation != schema.Delete {
		ev.Data = render.Row(nil, l.grant, l.publisher.Keeps, e.Row)
	}
	return sse.AppendFrame(nil, ev.ID, string(ev.Type), ev.AppendJSON(nil))
}

// deliveryFilter is a subscription's filter, run for one subscriber.
type deliveryFilter struct {
	tenant string
	source Source
}

func (f *deliveryFilter) match(row *store.LogRow, cells store.Row) predicate.Truth {
	ok, err := f.source.Filter.RunFilter(script.Delivery{
		Payload: f.shown(cells), Event: describe(f.tenant, row), User: f.source.Grant.User(),
	})
	if err != nil {
		return predicate.Maybe
	}
	return truth(ok)
}

// shown is the row as rls would show it to this subscriber, in the cells that
// the filter names: a filter must not tell what a read would not.
func (f *deliveryFilter) shown(cells store.Row) store.Row {
	shown := make(store.Row, len(cells))
	for _, i := range f.source.Filter.Fields() {
		if !f.source.Publisher.Keeps(i) {
			continue
		}
		shown[i] = cells[i]
		if cells[i].Class() != unknown {
			shown[i], _ = f.source.Grant.Show(i, cells[i])
		}
	}
	return shown
}

// describe is `event` in a subscription's filter.
func describe(tenant string, row *store.LogRow) map[string]any {
	ev := eventOf(tenant, row)
	return map[string]any{
		"id": ev.ID, "type": string(ev.Type), "entity": ev.Entity, "operation": string(ev.Operation),
		"subject": ev.Subject, "time": ev.Time, "tenant": ev.Tenant, "topic": row.Topic,
	}
}
