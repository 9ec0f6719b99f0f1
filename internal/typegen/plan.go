package typegen

import (
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// plan is what is written, in whichever language: every type with its name.
type plan struct {
	names    names
	enums    []enum
	entities []*entity
	enumName map[*schema.Enum]string
	byEntity map[*schema.Entity]*entity
}

type enum struct {
	*schema.Enum
	name string
}

// entity is one entity with all that is written for it.
type entity struct {
	*schema.Entity
	row, create, patch record
	narrowed           []record // its row as an event or a channel shows it, with fewer fields
	subscriptions      []subscription
	channel            *channel // nil: it has none
	byPublisher        map[*schema.Publisher]string
}

// record is an object with named members.
type record struct {
	name, doc string
	members   []member
	written   bool // a body, and not what is read
}

// member is one field of a record.
type member struct {
	*schema.Field
	null   bool // its value may be null
	absent bool // it may not be there
	apart  bool // that it is not there means something else than null
}

// newPlan names rows before all else, so that a row has the name of its entity
// wherever that can be.
func newPlan(m *schema.Model, o Options) *plan {
	p := &plan{names: names{}, enumName: map[*schema.Enum]string{}, byEntity: map[*schema.Entity]*entity{}}
	for _, e := range m.Entities {
		planned := &entity{Entity: e, byPublisher: map[*schema.Publisher]string{}}
		planned.row.name = p.names.take(exported(e.Name))
		p.entities = append(p.entities, planned)
		p.byEntity[e] = planned
	}
	for _, e := range m.Enums {
		named := enum{e, p.names.take(exported(e.Name))}
		p.enums = append(p.enums, named)
		p.enumName[e] = named.name
	}
	for _, e := range p.entities {
		p.records(e)
	}
	for _, e := range p.entities {
		for i := range e.Subscriptions {
			e.subscriptions = append(e.subscriptions, p.subscription(m, e, &e.Subscriptions[i]))
		}
		p.planChannel(e, o.Realtime)
	}
	return p
}

func (p *plan) records(e *entity) {
	e.row.doc = "is a row of " + e.Name + ", as it is read."
	e.create = record{written: true, name: p.names.take(e.row.name + "Create"), doc: "is what creates a row of " + e.Name + ", or replaces one."}
	e.patch = record{written: true, name: p.names.take(e.row.name + "Patch"), doc: "is what changes a row of " + e.Name + ": the fields to change alone."}
	reads := everyReader(e.Entity)
	for i, f := range e.Fields {
		e.row.members = append(e.row.members, member{Field: f, null: !f.Required || hiddenAsNull(f), absent: !reads[i]})
		if f.System {
			continue
		}
		generated := i == e.ID && f.Type != value.String
		e.create.members = append(e.create.members, member{
			Field: f, null: !f.Required, absent: !f.Required || f.Default != nil || generated, apart: !f.Required && f.Default != nil,
		})
		if i != e.ID && !f.Final {
			e.patch.members = append(e.patch.members, member{Field: f, null: !f.Required, absent: true, apart: !f.Required})
		}
	}
}

// hiddenAsNull tells of a mask that shows null, and not a part of a text.
func hiddenAsNull(f *schema.Field) bool { return f.Mask != nil && f.Type != value.String }

// narrow names the row without the fields that keep refuses.
func (p *plan) narrow(e *entity, want, doc string, keep func(field int) bool) string {
	fewer := record{doc: doc}
	for _, m := range e.row.members {
		if keep(m.Index) {
			fewer.members = append(fewer.members, m)
		}
	}
	if len(fewer.members) == len(e.row.members) {
		return e.row.name
	}
	fewer.name = p.names.take(want)
	e.narrowed = append(e.narrowed, fewer)
	return fewer.name
}

// note is what a member's comment says.
func (r *record) note(m member) string {
	text := m.Type.String()
	if m.Enum != nil {
		text = m.Enum.Name
	}
	switch {
	case m.System:
		text += ", set by the server"
	case m.Mask != nil && !r.written:
		text += ", masked but to who may unmask it"
	}
	if m.absent && !r.written {
		text += ", not there for who may not read it"
	}
	return text
}
