package schema

import "github.com/rowcast/rowcast/internal/document"

// events reads the publishing side (contract: events).
func (l *loader) events(e *Entity, list *document.Node) {
	names, topics := map[string]bool{}, map[string]bool{}
	for _, item := range list.List(&l.refusals) {
		m := item.Map(&l.refusals, eventShape)
		p := Publisher{Index: len(e.Events), Pos: item.Pos, Topic: "entity." + e.Name, Operations: AllOps}
		place := item
		if n := m.Get("topic"); n != nil {
			p.Topic, place = l.name(n, topicName), n
		}
		if p.Topic != "" && topics[p.Topic] {
			l.refusals.Add(place.Refusal("topic %q is published twice by entity %q; give one of the events a topic of its own", p.Topic, e.Name))
		}
		topics[p.Topic] = true
		p.Name = p.Topic
		if n := m.Get("name"); n != nil {
			p.Name = l.unique(n, names, "event")
		}
		p.Operations = l.operations(m.Get("operations"))
		m.Get("format").OneOf(&l.refusals, "json")
		p.Condition = l.script(m.Get("condition"))
		p.Bulk = m.Bool("bulk", true)
		if n := m.Get("include"); n != nil {
			p.Include = l.positions(e, n)
		}
		if n := m.Get("exclude"); n != nil {
			p.Exclude = l.positions(e, n)
		}
		e.Events = append(e.Events, p)
	}
}

// operations reads a list of create, update, delete; absent means all three.
func (l *loader) operations(n *document.Node) OpSet {
	if n == nil {
		return AllOps
	}
	var set OpSet
	for _, word := range l.words(n, opNames) {
		if op, ok := ParseOp(word); ok {
			set |= OpSet(op)
		}
	}
	return set
}
