// Package script compiles the expr expressions of a schema at boot and runs
// them: access rules, event conditions, subscription filters, and what operations
// set.
//
// What it guarantees:
//   - A misspelt name is a refusal with its file:line:col and the nearest name
//     that would do, and so is an operation that no value of the declared types
//     could take.
//   - A script ends, soon, and in bounded memory. The VM cannot be stopped from
//     outside, so an allow-list of nodes and functions at boot keeps out whatever
//     grows with its input more than linearly or loops: closures, ranges, let,
//     repeat, join, and chains of + longer than a few.
//   - A script that fails is an error, never a panic, and its text holds places
//     and types but no value of a row.
//
// Values in scope: text, enum, ulid, uuid and date are strings, int and bigint
// are ints, double a float, boolean a bool, timestamp and datetime a time,
// object and array the decoded JSON, bytes its base64 text, NULL nil. `==` and
// `!=` take nil, and nil == nil is true, where a row rule would say unknown; `<`
// and arithmetic on nil fail; contains, startsWith, endsWith and matches are
// false of nil. `old.x` is nil where there is no old row, and `old == nil` asks
// for just that.
//
// A Program is immutable and safe for concurrent use; it holds no goroutine and
// nothing to close. The package may import value, document and schema.
package script

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// User is `user` in every script.
type User struct {
	ID        string
	Anonymous bool // user.id is nil
	Roles     []string
	Tenant    string
	Claims    map[string]any // decoded JSON; json.Number is read as int or float
}

// Change is what a condition may look at. Old is nil on create.
type Change struct {
	Payload, Old []value.Value
	Operation    string
	User         User
	Tenant       string
}

// Delivery is what a subscription filter may look at. A cell that is not at
// hand makes the filter fail where it is used, and only there.
type Delivery struct {
	Payload []value.Value  // as rls would show it to the subscriber: unreadable and excluded fields null, masks applied
	Event   map[string]any // id, type, entity, operation, subject, time, tenant, topic
	User    User
}

// Program is a compiled expression.
type Program struct {
	script  schema.Script
	kind    reflect.Type  // of the result, where it is known before a run; interfaces are not
	into    *schema.Field // of an assignment
	fields  []int
	slots   []slot         // the names the expression uses
	calls   map[int]string // offset of each function call to its name
	plain   *vm.Program
	guarded *vm.Program // the same, each cell checked to be at hand when it is used; nil where no cell is named
}

// Fields returns the positions of the fields that the script names under
// payload or old, ascending. The caller must not change it.
func (p *Program) Fields() []int { return p.fields }

// RunAccess yields the script's list of names, or all = true where it yields
// true. nil and false are the empty list. Anything else is an error, and then
// there are no names.
func (p *Program) RunAccess(u User) (names []string, all bool, err error) {
	out, err := p.run(frame{user: u})
	if err != nil {
		return nil, false, err
	}
	switch out := out.(type) {
	case nil:
		return nil, false, nil
	case bool:
		return nil, out, nil
	case []string:
		return out, false, nil
	case []any:
		names = make([]string, len(out))
		for i, x := range out {
			s, ok := x.(string)
			if !ok {
				return nil, false, fmt.Errorf("%s: element %d of the list is of type %T; it must be a name", p.script.Pos, i, x)
			}
			names[i] = s
		}
		return names, false, nil
	}
	return nil, false, fmt.Errorf("%s: the result is of type %T; it must be a list of names, true, false or nil", p.script.Pos, out)
}

// RunCondition reports whether the condition is truthy. An error aborts the
// write (contract: events).
func (p *Program) RunCondition(c Change) (bool, error) {
	out, err := p.run(frame{
		payload: c.Payload, old: c.Old,
		operation: c.Operation, user: c.User, tenant: c.Tenant,
	})
	return err == nil && truthy(out), err
}

// RunFilter reports whether the filter is truthy. An error delivers nothing.
func (p *Program) RunFilter(d Delivery) (bool, error) {
	out, err := p.run(frame{payload: d.Payload, event: d.Event, user: d.User})
	return err == nil && truthy(out), err
}

func (p *Program) run(f frame) (any, error) {
	m := machines.Get().(*machine)
	defer m.release()
	m.frame = f
	code := p.plain
	for i := range p.slots {
		s := &p.slots[i]
		x := s.load(&m.frame)
		if x == unknown {
			code = p.guarded
		}
		m.env[s.path] = x
	}
	out, err := m.vm.Run(code, m.env)
	if err != nil {
		return nil, p.explain(err)
	}
	return out, nil
}

// explain turns an error of the VM into one that names the place. A function
// may quote its argument, which is a value of the row: its text is not kept.
func (p *Program) explain(err error) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return fmt.Errorf("%s: the expression cannot be evaluated", p.script.Pos)
	}
	pos := p.script.At(fe.From)
	if errors.Is(fe.Prev, errUnknown) {
		return fmt.Errorf("%s: %w", pos, errUnknown)
	}
	if name, ok := p.calls[fe.From]; ok {
		return fmt.Errorf("%s: %s() cannot take this value", pos, name)
	}
	return fmt.Errorf("%s: %s", pos, fe.Message)
}
