package schema

import (
	"slices"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

// assignments reads what an operation sets: a value or a script for each field.
// The result is never nil, which would mean that a handler does the work.
func (l *loader) assignments(e *Entity, n *document.Node) []Assignment {
	members := n.Members(&l.refusals)
	if n.Kind() == document.Mapping && len(members) == 0 {
		l.refusals.Add(n.Refusal("set is empty; name at least one field, or leave it out and give a handler in Go"))
	}
	set := make([]Assignment, 0, len(members))
	for _, m := range members {
		i, ok := e.byName[m.Key.Raw()]
		switch {
		case !ok:
			l.unresolved(m.Key, "field", e.Names())
		case l.settable(e.Fields[i], m.Key):
			if a, ok := l.assignment(e.Fields[i], m); ok {
				set = append(set, a)
			}
		}
	}
	return set
}

// settable refuses a field that no operation may change.
func (l *loader) settable(f *Field, key *document.Node) bool {
	var why string
	switch {
	case f.Name == "id":
		why = "the id of a row never changes"
	case f.System:
		why = "it is set by rowcast alone"
	case f.Final:
		why = "it is final and keeps what it was created with"
	default:
		return true
	}
	l.refusals.Add(key.Refusal("field %q cannot be set: %s; remove it", f.Name, why))
	return false
}

func (l *loader) assignment(f *Field, m document.Member) (Assignment, bool) {
	a := Assignment{Field: f.Index, Pos: m.Key.Pos}
	if isScript(f, m.Value) {
		a.Script = l.script(m.Value)
		return a, a.Script != nil
	}
	if m.Value.Kind() == document.Null {
		return a, l.clears(f, m)
	}
	v, ok := l.literal(f, m.Value)
	if !ok {
		return a, false
	}
	for i := range f.Validations {
		if c := &f.Validations[i]; !c.allows(f.Type, v) {
			l.refusals.Add(m.Value.Refusal("the value fails the field's own validation %s; change one of them", c.Kind))
			return a, false
		}
	}
	a.Value = v
	return a, true
}

// isScript tells a script from the value of an object field, which is a mapping
// as well: only a script has an expression.
func isScript(f *Field, n *document.Node) bool {
	if n.Kind() != document.Mapping || f.Type != value.Object {
		return n.Kind() == document.Mapping
	}
	return slices.ContainsFunc(n.Members(&document.Refusals{}), func(m document.Member) bool {
		return m.Key.Raw() == "expression"
	})
}

// clears judges a null, which must be written: a forgotten value looks like one.
func (l *loader) clears(f *Field, m document.Member) bool {
	switch {
	case m.Value.Pos == m.Key.Pos:
		l.refusals.Add(m.Value.Refusal("%s has no value; write one, or null to clear the field", f.Name))
	case f.Required:
		l.refusals.Add(m.Value.Refusal("field %q is required and cannot be null; write a value", f.Name))
	default:
		return true
	}
	return false
}
