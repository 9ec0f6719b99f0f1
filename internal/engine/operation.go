package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Operation is a custom operation as an engine serves it (channels contract,
// section 1): declared with what it sets, or done by a handler in Go. Immutable.
type Operation struct {
	*schema.Operation
	action access.Action
	set    []assignment
	do     Do // nil: set does the work
}

// Handler is an operation that is done in Go. Operation is as it is declared in
// the schema, or all there is of it.
type Handler struct {
	Entity    string
	Operation *schema.Operation
	Do        Do
}

// assignment is one field that an operation sets, compiled.
type assignment struct {
	field   int
	value   value.Value
	program *script.Program // nil: value
}

// OnRow reports whether the operation is for one row that is there, which its
// path names; others stand under the entity. One whose action is create makes
// its row.
func (o *Operation) OnRow() bool {
	return o.Cardinality == "one" && (o.do == nil || o.action != access.Create)
}

// Reads reports whether the operation reads and never writes.
func (o *Operation) Reads() bool { return o.Kind == "read" }

// TakesInput reports whether the operation reads the body of its request; to any
// other the body must be empty.
func (o *Operation) TakesInput() bool { return o.do != nil }

func (ent *entity) compileOperations() (refusals document.Refusals) {
	ent.operations = map[string]*Operation{}
	for i := range ent.Operations {
		declared := &ent.Operations[i]
		action, ok := access.ParseAction(declared.Action)
		if !ok {
			refusals = append(refusals, document.Refusal{Pos: declared.Pos, Message: fmt.Sprintf("operation %q: there is no action %q", declared.Name, declared.Action)})
			continue
		}
		op := &Operation{Operation: declared, action: action}
		for _, a := range declared.Set {
			compiled := assignment{field: a.Field, value: a.Value}
			if a.Script != nil {
				program, refused := script.CompileAssignment(ent.Entity, a.Field, *a.Script)
				refusals, compiled.program = append(refusals, refused...), program
			}
			op.set = append(op.set, compiled)
		}
		ent.operations[declared.Name] = op
	}
	return refusals
}

// handlers ties the operations in Go to their entities. That each names an
// entity of the schema, and none twice, whoever gives them has made sure of.
func (e *Engine) handlers() error {
	for _, h := range e.config.Handlers {
		ent, ok := e.byName[h.Entity]
		if !ok {
			return fmt.Errorf("engine: operation %q is of entity %q, which is not served here", h.Operation.Name, h.Entity)
		}
		action, ok := access.ParseAction(h.Operation.Action)
		if !ok {
			return fmt.Errorf("engine: operation %q of %q: there is no action %q", h.Operation.Name, h.Entity, h.Operation.Action)
		}
		ent.operations[h.Operation.Name] = &Operation{Operation: h.Operation, action: action, do: h.Do}
	}
	return nil
}

// Operation finds an operation, on one row or on none, and judges whether the
// principal may take its action on the entity at all. Faults: entity_not_found,
// operation_not_found, which names those that the principal may use, forbidden.
func (e *Engine) Operation(pr *access.Principal, name, operation string, onRow bool) (*Operation, *access.Grant, error) {
	ent, ok := e.byName[name]
	if !ok {
		return nil, nil, fault.New(fault.EntityNotFound, "there is no entity %q here", name)
	}
	op, ok := ent.operations[operation]
	if !ok || op.OnRow() != onRow {
		return nil, nil, e.noOperation(ent, pr, operation, onRow)
	}
	g, err := e.Grant(pr, name, op.action)
	return op, g, err
}

func (e *Engine) noOperation(ent *entity, pr *access.Principal, operation string, onRow bool) error {
	where := "rows of " + ent.Name
	if !onRow {
		where = ent.Name + " as a whole"
	}
	f := fault.New(fault.OperationNotFound, "there is no operation %q on %s", clipped(operation), where)
	g := e.grant(ent, pr)
	for _, name := range slices.SortedFunc(maps.Keys(ent.operations), strings.Compare) {
		if op := ent.operations[name]; op.OnRow() == onRow && g.Can(op.action) {
			f.Available = append(f.Available, name)
		}
	}
	return f
}
