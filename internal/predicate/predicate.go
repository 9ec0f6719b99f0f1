// Package predicate is the one tree behind row rules, REST filters and
// subscribe-time filters: parsed from three grammars, evaluated in memory with
// SQL's three-valued logic, and rendered as SQL, with the same answer both ways
// for every row. What cannot be decided alike in both is refused when parsed.
//
// A Tree and a Predicate are immutable and safe for concurrent use.
// It may import value, document, schema and fault.
package predicate

import (
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Truth is SQL's: False, Unknown or True.
type Truth int8

// The three truths.
const (
	False Truth = iota - 1
	Maybe       // unknown
	True
)

// Caller is what a row rule may ask of the principal.
type Caller struct {
	ID        string // "" with Anonymous: user.id is null
	Anonymous bool
	Roles     []string
	Tenant    string
	Claims    map[string]any // verified claims as decoded JSON (numbers: json.Number)
}

// Tree is a parsed rule or filter over one entity, not yet bound to a caller.
type Tree struct{ root any }

// Predicate is a Tree with every part that has no row in it already decided.
type Predicate struct{ root any }

// Dialect is what differs between databases in the SQL of a predicate.
type Dialect interface {
	// Column returns the quoted column of a field.
	Column(f *schema.Field) string
	// Placeholder returns the text of the n-th bound value, counting from 1.
	Placeholder(n int) string
	// Like returns SQL that is true where the column matches the pattern of
	// the filter grammar; pattern is bound as the n-th value.
	Like(column string, n int, fold bool) string
	// Has returns SQL of startsWith ("prefix"), endsWith ("suffix") and
	// contains ("infix"), by bytes, with the text bound as the n-th value.
	Has(kind, column string, n int) string
}

// ParseRule reads the row-rule subset of expr.
func ParseRule(e *schema.Entity, s schema.Script) (*Tree, document.Refusals) { panic("not written") }

// ParseQuery reads every parameter of a raw query string (without "?") whose
// name begins with "filter". It returns nil where there is none. allowed says
// which fields the caller may filter by; the error is a *fault.Fault with code
// invalid_query and all FieldErrors.
func ParseQuery(e *schema.Entity, rawQuery string, allowed func(field int) bool) (*Tree, error) {
	panic("not written")
}

// Columns returns the positions of the fields the tree names, ascending.
func (t *Tree) Columns() []int { panic("not written") }

// EqualityColumns returns the fields that the tree compares for equality (==, in) with something that is no field.
func (t *Tree) EqualityColumns() []int { panic("not written") }

// Bind decides the parts that have no row in them.
func (t *Tree) Bind(c Caller) *Predicate { panic("not written") }

// Always returns the predicate that is true of every row; Never of none.
func Always() *Predicate { panic("not written") }

// Never is true of no row.
func Never() *Predicate { panic("not written") }

// And joins predicates; Or likewise. And() is Always, Or() is Never.
func And(ps ...*Predicate) *Predicate { panic("not written") }

// Or joins predicates.
func Or(ps ...*Predicate) *Predicate { panic("not written") }

// Eval decides a row (positions as in Entity.Fields). Unknown cells make what needs them Maybe.
func (p *Predicate) Eval(row []value.Value) Truth { panic("not written") }

// Constant reports a predicate that is the same for every row.
func (p *Predicate) Constant() (Truth, bool) { panic("not written") }

// Key is equal for predicates that decide alike (a canonical text).
func (p *Predicate) Key() string { panic("not written") }

// SQL renders the predicate. args are the values bound so far; the result's
// args have the new ones appended.
func (p *Predicate) SQL(d Dialect, args []value.Value) (string, []value.Value) { panic("not written") }
