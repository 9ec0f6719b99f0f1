package predicate

import (
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// relation is a comparison operator.
type relation uint8

const (
	equal relation = iota
	unequal
	less
	lessOrEqual
	greater
	greaterOrEqual
)

// not is exact: no cell is NaN, and NULL is unknown either way.
func (r relation) not() relation {
	return [...]relation{unequal, equal, greaterOrEqual, greater, lessOrEqual, less}[r]
}

// flip is the relation with its sides exchanged.
func (r relation) flip() relation {
	return [...]relation{equal, unequal, greater, greaterOrEqual, less, lessOrEqual}[r]
}

// of turns the outcome of value.Compare into a truth.
func (r relation) of(order int) Truth {
	switch r {
	case equal:
		return truth(order == 0)
	case unequal:
		return truth(order != 0)
	case less:
		return truth(order < 0)
	case lessOrEqual:
		return truth(order <= 0)
	case greater:
		return truth(order > 0)
	default:
		return truth(order >= 0)
	}
}

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

func turned(t Truth, negated bool) Truth {
	if negated {
		return -t
	}
	return t
}

// missing reports a cell that makes a comparison unknown.
func missing(v value.Value) bool {
	return v.Class() == value.Null || v.Class() == value.Unknown
}

// compare is a field beside a value that is not NULL.
type compare struct {
	field *schema.Field
	op    relation
	value value.Value
}

// newCompare answers unknown for NULL, as SQL does whatever the row holds.
func newCompare(f *schema.Field, op relation, v value.Value) atom {
	if missing(v) {
		return constant(Maybe)
	}
	return &compare{field: f, op: op, value: v}
}

func (c *compare) eval(row []value.Value) Truth {
	cell := row[c.field.Index]
	switch {
	case missing(cell):
		return Maybe
	case c.op == equal:
		return truth(cell == c.value)
	case c.op == unequal:
		return truth(cell != c.value)
	}
	return c.op.of(value.Compare(cell, c.value))
}

func (c *compare) not() atom { return &compare{c.field, c.op.not(), c.value} }

// pair is a field beside another of the same storage class.
type pair struct {
	left, right *schema.Field
	op          relation
}

func (p *pair) eval(row []value.Value) Truth {
	a, b := row[p.left.Index], row[p.right.Index]
	if missing(a) || missing(b) {
		return Maybe
	}
	return p.op.of(value.Compare(a, b))
}

func (p *pair) not() atom { return &pair{p.left, p.right, p.op.not()} }

// member is a field in a list of two values or more.
type member struct {
	field   *schema.Field
	values  []value.Value // distinct, in order, none NULL
	set     map[value.Value]struct{}
	null    bool // the list holds NULL too: what is not found is unknown
	negated bool
}

// longList is from where a set is faster than looking through the list.
const longList = 12

// newMember answers for an empty list what SQL does: nothing is in it, not even NULL.
func newMember(f *schema.Field, values []value.Value) atom {
	m := &member{field: f}
	for _, v := range values {
		if missing(v) {
			m.null = true
		} else {
			m.values = append(m.values, v)
		}
	}
	slices.SortFunc(m.values, value.Compare)
	m.values = slices.Compact(m.values)
	switch {
	case len(values) == 0:
		return constant(False)
	case len(m.values) == 0:
		return constant(Maybe)
	case len(m.values) == 1 && !m.null:
		return newCompare(f, equal, m.values[0])
	case len(m.values) >= longList:
		m.set = make(map[value.Value]struct{}, len(m.values))
		for _, v := range m.values {
			m.set[v] = struct{}{}
		}
	}
	return m
}

func (m *member) eval(row []value.Value) Truth {
	cell := row[m.field.Index]
	switch {
	case missing(cell):
		return Maybe
	case m.holds(cell):
		return turned(True, m.negated)
	case m.null:
		return Maybe
	}
	return turned(False, m.negated)
}

func (m *member) holds(v value.Value) bool {
	if m.set != nil {
		_, ok := m.set[v]
		return ok
	}
	for i := range m.values {
		if m.values[i] == v {
			return true
		}
	}
	return false
}

func (m *member) not() atom {
	n := *m
	n.negated = !m.negated
	return &n
}

// null is the null check: the one condition that is never unknown for a cell at hand.
type null struct {
	field   *schema.Field
	negated bool
}

func (n *null) eval(row []value.Value) Truth {
	cell := row[n.field.Index]
	if cell.Class() == value.Unknown {
		return Maybe
	}
	return truth(cell.IsNull() != n.negated)
}

func (n *null) not() atom { return &null{n.field, !n.negated} }

// match is like and ilike.
type match struct {
	field   *schema.Field
	pattern *Pattern
	negated bool
}

func (m *match) eval(row []value.Value) Truth {
	cell := row[m.field.Index]
	if missing(cell) {
		return Maybe
	}
	return truth(m.pattern.Match(cell.Text()) != m.negated)
}

func (m *match) not() atom { return &match{m.field, m.pattern, !m.negated} }

// has is startsWith, endsWith and contains, by bytes.
type has struct {
	field   *schema.Field
	kind    string // prefix, suffix, infix
	text    string
	negated bool
}

func (h *has) eval(row []value.Value) Truth {
	cell := row[h.field.Index]
	if missing(cell) {
		return Maybe
	}
	return truth(holds(h.kind, cell.Text(), h.text) != h.negated)
}

func (h *has) not() atom { return &has{h.field, h.kind, h.text, !h.negated} }

func holds(kind, text, part string) bool {
	switch kind {
	case "prefix":
		return strings.HasPrefix(text, part)
	case "suffix":
		return strings.HasSuffix(text, part)
	default:
		return strings.Contains(text, part)
	}
}
