// Package script compiles the expr expressions of a schema at boot and runs
// them: access rules, event conditions, subscription filters. A boot-time
// allow-list of nodes and functions keeps out whatever could run for ever or
// eat the memory (closures, ranges, repeat, reduce); a misspelt name is a
// refusal with its place.
//
// A Program is immutable and safe for concurrent use. It may import value,
// document and schema.
package script

import (
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// User is `user` in every script.
type User struct {
	ID        string
	Anonymous bool // user.id is nil
	Roles     []string
	Tenant    string
	Claims    map[string]any
}

// Program is a compiled expression.
type Program struct{ fields []int }

// CompileAccess compiles access.actions or access.read: only `user` is in scope.
func CompileAccess(s schema.Script) (*Program, document.Refusals) { panic("not written") }

// CompileCondition compiles an event's condition: payload, old, operation, user, tenant.
func CompileCondition(e *schema.Entity, s schema.Script) (*Program, document.Refusals) {
	panic("not written")
}

// CompileFilter compiles a subscription's filter: payload, event, user. payload
// may only name fields that keeps allows (include/exclude of the publisher).
func CompileFilter(e *schema.Entity, s schema.Script, keeps func(field int) bool) (*Program, document.Refusals) {
	panic("not written")
}

// Fields returns the positions of the payload fields the script names, ascending.
func (p *Program) Fields() []int { return p.fields }

// RunAccess yields the script's list of names, or all = true where it yields true.
func (p *Program) RunAccess(u User) (names []string, all bool, err error) { panic("not written") }

// Change is what a condition may look at. Old is nil on create.
type Change struct {
	Payload, Old []value.Value
	Operation    string
	User         User
	Tenant       string
}

// RunCondition reports whether the condition is truthy.
func (p *Program) RunCondition(c Change) (bool, error) { panic("not written") }

// Delivery is what a subscription filter may look at. A cell that is not at
// hand makes the filter fail where it is used.
type Delivery struct {
	Payload []value.Value  // as rls would show it to the subscriber: unreadable and excluded fields null, masks applied
	Event   map[string]any // id, type, entity, operation, subject, time, tenant, topic
	User    User
}

// RunFilter reports whether the filter is truthy.
func (p *Program) RunFilter(d Delivery) (bool, error) { panic("not written") }
