// Package predicate is the one tree behind row rules, REST filters and
// subscribe-time filters: parsed from three grammars, evaluated in memory with
// SQL's three-valued logic, and rendered as SQL, with the same answer both ways
// for every row. What cannot be decided alike in both is refused when parsed.
//
// A Tree and a Predicate are immutable and safe for concurrent use. Neither
// starts a goroutine, and Eval does not allocate.
// It may import value, document, schema and fault.
package predicate

import (
	"slices"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Truth is SQL's: False, Unknown or True.
type Truth int8

// The three truths. Their order makes "and" a minimum, "or" a maximum and "not"
// a change of sign.
const (
	False Truth = iota - 1
	Maybe       // unknown
	True
)

// String returns the SQL word.
func (t Truth) String() string {
	switch t {
	case True:
		return "true"
	case False:
		return "false"
	default:
		return "unknown"
	}
}

// Caller is what a row rule may ask of the principal.
type Caller struct {
	ID        string // "" with Anonymous: user.id is null
	Anonymous bool
	Roles     []string
	Tenant    string
	Claims    map[string]any // verified claims as decoded JSON (numbers: json.Number)
}

// Tree is a parsed rule or filter over one entity, not yet bound to a caller.
type Tree struct{ root term }

// Predicate is a Tree with every part that has no row in it already decided.
type Predicate struct{ root node }

// Columns returns the positions of the fields the tree names, ascending.
func (t *Tree) Columns() []int {
	return t.collect(func(l *leaf) []int { return l.fields })
}

// EqualityColumns returns the fields, ascending, that the tree compares for
// equality (==, in) with something that is no field: those an index helps.
func (t *Tree) EqualityColumns() []int {
	return t.collect(func(l *leaf) []int {
		if l.equality && !l.negated {
			return l.fields
		}
		return nil
	})
}

func (t *Tree) collect(fields func(*leaf) []int) []int {
	var found []int
	t.root.walk(func(l *leaf) { found = append(found, fields(l)...) })
	slices.Sort(found)
	return slices.Compact(found)
}

// Bind decides the parts that have no row in them. What can then be true of no
// row at all is a constant.
func (t *Tree) Bind(c Caller) *Predicate { return &Predicate{root: t.root.bind(&c)} }

// Always returns the predicate that is true of every row.
func Always() *Predicate { return &Predicate{root: constant(True)} }

// Never returns the predicate that is true of no row.
func Never() *Predicate { return &Predicate{root: constant(False)} }

// And joins predicates. And() is Always. A nil one counts as Never, so that one
// that was forgotten lets no row through; so it does in Or.
func And(ps ...*Predicate) *Predicate { return &Predicate{root: allOf(roots(ps))} }

// Or joins predicates. Or() is Never.
func Or(ps ...*Predicate) *Predicate { return &Predicate{root: anyOf(roots(ps))} }

func roots(ps []*Predicate) []node {
	nodes := make([]node, len(ps))
	for i, p := range ps {
		nodes[i] = constant(False)
		if p != nil {
			nodes[i] = p.root
		}
	}
	return nodes
}

// Eval decides a row (positions as in Entity.Fields). Unknown cells make what
// needs them Maybe, null checks included. A row passes only with True.
func (p *Predicate) Eval(row []value.Value) Truth { return p.root.eval(row) }

// Constant reports a predicate that is the same for every row.
func (p *Predicate) Constant() (Truth, bool) {
	c, ok := p.root.(constant)
	return Truth(c), ok
}

// Key is equal for predicates that decide alike: a canonical text in which
// every value carries its class and its length, so that no two different
// predicates share one. Predicates of different entities are not comparable.
func (p *Predicate) Key() string { return string(p.root.key(nil)) }

// Equality returns a field and the value it must equal for the predicate to be
// true, where the predicate is such a comparison or a conjunction with one:
// what an index over many predicates files it under. A boolean is taken only
// for want of another, since half of all rows would share it.
func (p *Predicate) Equality() (field int, v value.Value, ok bool) {
	candidates := []node{p.root}
	if g, isGroup := p.root.(*group); isGroup && g.and {
		candidates = g.nodes
	}
	for _, n := range candidates {
		c, isCompare := n.(*compare)
		if !isCompare || c.op != equal {
			continue
		}
		field, v, ok = c.field.Index, c.value, true
		if c.field.Type != value.Boolean {
			break
		}
	}
	return field, v, ok
}

// Dialect is what differs between databases in the SQL of a predicate.
type Dialect interface {
	// Column returns the quoted column of a field.
	Column(f *schema.Field) string
	// Placeholder returns the text of the n-th bound value, counting from 1.
	Placeholder(n int) string
	// Like returns SQL that is true where the column matches the pattern. bind
	// binds a value and returns its placeholder.
	Like(column string, p *Pattern, bind func(value.Value) string) string
	// Has returns SQL of startsWith ("prefix"), endsWith ("suffix") and
	// contains ("infix"), by bytes, with the text bound as the n-th value. It
	// is NULL for a NULL column alone: an empty text answers like any other.
	Has(kind, column string, n int) string
}
