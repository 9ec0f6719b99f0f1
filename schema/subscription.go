package schema

import (
	"github.com/rowcast/rowcast/internal/document"
)

// subscriptions reads the listening side (contract: subscriptions), when all
// topics are known.
func (l *loader) subscriptions(d draft) {
	e, names := d.entity, map[string]bool{}
	for _, item := range d.list.List(&l.refusals) {
		m := item.Map(&l.refusals, subscriptionShape)
		s := Subscription{Index: len(e.Subscriptions), Pos: item.Pos, Source: "entity." + e.Name}
		s.Name = l.unique(m.Need("name", "give the subscription a name, by which a client picks it"), names, "subscription")
		place := item
		if n := m.Get("source"); n != nil {
			s.Source, place = l.name(n, topicName), n
		}
		s.Operations = l.operations(m.Get("eventtypes"))
		scope, _ := m.Get("scope").OneOf(&l.refusals, "tenant", "user")
		s.ScopeUser = scope == "user"
		s.RLS = m.Bool("rls", false)
		l.transports(m.Get("transports"))
		s.Filter = l.script(m.Get("filter"))
		if e.Name != "" {
			l.source(e, &s, place)
		}
		e.Subscriptions = append(e.Subscriptions, s)
	}
}

// transports takes sse, alone or as a list.
func (l *loader) transports(n *document.Node) {
	if n.Kind() == document.Sequence {
		l.words(n, []string{"sse"})
		return
	}
	n.OneOf(&l.refusals, "sse")
}

// source refuses a subscription that would stay silent for ever, and one that
// would tell of rows which a row rule hides.
func (l *loader) source(e *Entity, s *Subscription, place *document.Node) {
	if s.Source == "" {
		return
	}
	if len(e.RowRules) > 0 && !s.RLS {
		l.refusals.Add(place.Refusal("subscription %q without rls on entity %q, which has row rules; set rls: true", s.Name, e.Name))
	}
	publishers := l.model.Source(e, s)
	if len(publishers) == 0 {
		l.silent(e, s, place)
		return
	}
	var published OpSet
	for _, p := range publishers {
		published |= p.Publisher.Operations
		if p.Entity != e && len(p.Entity.RowRules) > 0 && !s.RLS {
			l.refusals.Add(place.Refusal("subscription %q without rls on topic %q, to which entity %q with row rules publishes; set rls: true",
				s.Name, s.Source, p.Entity.Name))
		}
	}
	if published != 0 && s.Operations != 0 && published&s.Operations == 0 {
		l.refusals.Add(place.Refusal("subscription %q would stay silent: topic %q is published on %s alone; change eventtypes",
			s.Name, s.Source, published))
	}
}

func (l *loader) silent(e *Entity, s *Subscription, place *document.Node) {
	if l.incomplete {
		return
	}
	var here []string
	for _, t := range l.model.Topics() {
		for _, p := range t.Publishers {
			if p.Entity.Datastore == e.Datastore {
				here = append(here, t.Name)
				break
			}
		}
	}
	l.refusals.Add(place.Refusal("subscription %q would stay silent: no events of datastore %q publish to topic %q; %s",
		s.Name, e.Datastore, s.Source, sourceWayOut(s.Source, here)))
}

func sourceWayOut(source string, topics []string) string {
	if near := document.Nearest(source, topics); near != "" {
		return document.WayOut(source, topics)
	}
	return "declare the event that feeds it, or set another source"
}
