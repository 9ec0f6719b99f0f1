// Package access decides who may do what: a Principal and an entity's Policy
// make a Grant, and the Grant guards every read and write of rowcast: REST,
// streams and deliveries alike.
//
// Policies and Grants are immutable and safe for concurrent use. It may import
// value, document, schema, predicate and script.
package access

import (
	"time"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Action is something a Grant may allow.
type Action uint8

// The actions.
const (
	Create Action = iota
	Read
	Update
	Delete
	Restore
	Purge
	Unmask
	actionCount
)

// Principal is a verified caller.
type Principal struct {
	ID        string // "" when Anonymous
	Anonymous bool
	Roles     []string
	Tenant    string
	Claims    map[string]any
	Expires   time.Time // zero: never
}

// HasRole reports whether the principal bears the role.
func (p *Principal) HasRole(role string) bool { panic("not written") }

// Policy is the compiled access section of one entity.
type Policy struct {
	Entity *schema.Entity
}

// Compile compiles access, row rules and masks of an entity.
func Compile(e *schema.Entity) (*Policy, document.Refusals) { panic("not written") }

// HasRowRules reports whether the entity has row rules.
func (p *Policy) HasRowRules() bool { return len(p.Entity.RowRules) > 0 }

// RuleColumns returns the fields that row rules name: what a log row's guard keeps.
func (p *Policy) RuleColumns() []int { panic("not written") }

// EqualityColumns returns the fields that row rules compare for equality: what boot indexes.
func (p *Policy) EqualityColumns() []int { panic("not written") }

// Grant is what one principal may do with one entity.
type Grant struct {
	Policy    *Policy
	Principal *Principal
}

// Grant evaluates the policy for a principal. An error in a script denies, and is returned as a warning for the log.
func (p *Policy) Grant(pr *Principal) (*Grant, error) { panic("not written") }

// Can reports whether the action is allowed on the entity at all.
func (g *Grant) Can(a Action) bool { panic("not written") }

// Reads reports whether the field is readable (perhaps masked).
func (g *Grant) Reads(field int) bool { panic("not written") }

// ReadsPlain reports whether the field is readable and not masked for this principal: only such may be filtered, sorted or compared.
func (g *Grant) ReadsPlain(field int) bool { panic("not written") }

// Rows returns the predicate that judges a row for the action: for Read,
// Update, Delete, Restore, Purge the row before; for Create the row as written.
// Always without row rules.
func (g *Grant) Rows(a Action) *predicate.Predicate { panic("not written") }

// Show returns what the principal sees in the cell: the value, the masked value, or NULL and false where it may not read the field.
func (g *Grant) Show(field int, v value.Value) (value.Value, bool) { panic("not written") }

// ViewKey is equal for grants that show the same bytes for the same row (readable and masked fields; not the row rules).
func (g *Grant) ViewKey() string { panic("not written") }
