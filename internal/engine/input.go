package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// input is a body judged as far as that needs no row: before the write waits
// for its turn, so that a bad body costs the writer nothing. Its faults are told
// only after the row was found (DESIGN.md, the order of checks).
type input struct {
	cells  []cell
	sent   []string // names of fields as sent, for the event
	given  []bool   // by field: sent, rightly or not
	faults []fault.FieldError
}

// cell is one field of a body with its value.
type cell struct {
	field int
	value value.Value
}

// read judges each member of a body for itself.
func (ent *entity) read(b Body) *input {
	in := &input{cells: make([]cell, 0, len(b)), sent: make([]string, 0, len(b)), given: make([]bool, len(ent.Fields))}
	for _, m := range b {
		i, ok := ent.Field(m.Name)
		if !ok {
			in.refuse(clipped(m.Name), "unknown_field", ent.Name+" has no such field")
			continue
		}
		in.given[i] = true
		in.sent = append(in.sent, m.Name)
		if ent.Fields[i].System {
			in.refuse(m.Name, "read_only", "is set by the server alone; leave it out")
			continue
		}
		v, refused := ent.decode(i, m.Raw)
		if len(refused) > 0 {
			in.faults = append(in.faults, refused...)
			continue
		}
		in.cells = append(in.cells, cell{i, v})
	}
	return in
}

func (in *input) refuse(field, code, detail string) {
	in.faults = append(in.faults, fault.FieldError{Field: field, Code: code, Detail: detail})
}

// invalid is the fault of everything wrong with a body, or nil.
func (in *input) invalid(more ...fault.FieldError) error {
	all := slices.Concat(in.faults, more)
	if len(all) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "the body is not valid: see errors for each field").With(bounded(all)...)
}

// maxFaults bounds the faults that one answer reports: what a caller sends
// must not come back many times its size.
const maxFaults = 100

func bounded(faults []fault.FieldError) []fault.FieldError {
	return faults[:min(len(faults), maxFaults)]
}

// clipped is a name of the caller's making, short enough to answer with.
func clipped(name string) string {
	const longest = 64
	if len(name) > longest {
		name = strings.ToValidUTF8(name[:longest], "") + "…"
	}
	return name
}

// draft makes the row that a create would insert, without what only the writer
// knows (stamps, a number drawn by the store). The row is a draft: its faults
// are in the input.
func (e *Engine) draft(ent *entity, g *access.Grant, b Body) (store.Row, *input) {
	in := ent.read(b)
	row := make(store.Row, len(ent.Fields))
	for _, c := range in.cells {
		row[c.field] = c.value
	}
	now := e.now()
	for i, f := range ent.Fields {
		if in.given[i] || f.System {
			continue
		}
		row[i] = e.initial(f, g.Principal, now)
		in.faults = append(in.faults, ent.missing(i, row[i])...)
	}
	e.identify(ent, row, in)
	return row, in
}

// identify gives the row its id, where the caller did not. A number is drawn
// by the store.
func (e *Engine) identify(ent *entity, row store.Row, in *input) {
	id := ent.Fields[ent.ID]
	if in.given[ent.ID] && !row[ent.ID].IsNull() {
		if row[ent.ID] == value.OfText("") {
			in.refuse(id.Name, "required", "must not be empty")
		}
		return
	}
	if in.faulty(id.Name) {
		return
	}
	switch id.Type {
	case value.ULID:
		row[ent.ID] = value.OfText(e.config.NewID())
	case value.UUID:
		row[ent.ID] = value.OfText(newUUID())
	case value.Integer, value.BigInt:
	default:
		in.refuse(id.Name, "required", "must be given: "+ent.Name+" makes no ids of its own")
	}
}

func (in *input) faulty(field string) bool {
	return slices.ContainsFunc(in.faults, func(f fault.FieldError) bool { return f.Field == field })
}

// initial is what a field holds that was not sent: its default, or NULL. The
// schema holds a default to the type of its field.
func (e *Engine) initial(f *schema.Field, pr *access.Principal, now time.Time) value.Value {
	if f.Default == nil {
		return value.Value{}
	}
	switch f.Default.Kind {
	case schema.DefaultULID:
		return value.OfText(e.config.NewID())
	case schema.DefaultUUID:
		return value.OfText(newUUID())
	case schema.DefaultNow:
		return value.OfTime(now)
	case schema.DefaultUserID:
		return idOf(pr)
	default:
		return f.Default.Value
	}
}

// idOf is the caller's id as a cell; an anonymous caller has none.
func idOf(pr *access.Principal) value.Value {
	if pr.Anonymous {
		return value.Value{}
	}
	return value.OfText(pr.ID)
}

// missing judges a field that was not sent by what it holds instead.
func (ent *entity) missing(i int, v value.Value) []fault.FieldError {
	if i == ent.ID {
		return nil
	}
	if v.IsNull() && !ent.Fields[i].Required {
		return nil
	}
	return ent.validate(i, v)
}

// stamp sets createdby, createdon, updatedby, updatedon where the entity has
// them. A new row counts as updated when it was created, so that one order by
// updatedon holds all rows.
func (ent *entity) stamp(row store.Row, pr *access.Principal, now time.Time, created bool) {
	by := idOf(pr)
	set := func(field int, v value.Value) {
		if field >= 0 {
			row[field] = v
		}
	}
	if created {
		set(ent.createdBy, by)
		set(ent.createdOn, value.OfTime(now))
	}
	set(ent.updatedBy, by)
	set(ent.updatedOn, value.OfTime(now))
}
