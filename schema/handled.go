package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/document"
)

// Handled completes an operation that is given in Go by the rules of a declared
// one, and returns it. One that the entity declares is taken as declared: what is
// given beside its name may repeat that and not differ. The error says what is
// wrong and the way out, without naming the operation.
func (e *Entity) Handled(given Operation) (*Operation, error) {
	if declared, ok := e.Operation(given.Name); ok {
		return declared, declared.completedBy(given)
	}
	if err := e.nameable(given.Name); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains(operationKinds, given.Kind):
		return nil, fmt.Errorf("kind is %q; give one of %s", given.Kind, strings.Join(operationKinds, ", "))
	case !slices.Contains(cardinalities, given.Cardinality):
		return nil, fmt.Errorf("cardinality is %q; give one of %s", given.Cardinality, strings.Join(cardinalities, ", "))
	}
	actions := actionsOf(given.Kind, false)
	if given.Action == "" {
		given.Action = actions[0]
	}
	switch why := given.unpublished(); {
	case !slices.Contains(actions, given.Action):
		return nil, fmt.Errorf("action is %q; give one of %s", given.Action, strings.Join(actions, ", "))
	case given.Event == "":
	case !slices.Contains(realtimeEvents, string(given.Event)):
		return nil, fmt.Errorf("realtimeevent is %q; give one of %s", given.Event, strings.Join(realtimeEvents, ", "))
	case why != "":
		return nil, fmt.Errorf("realtimeevent %s; leave it out", why)
	}
	return &given, nil
}

func (e *Entity) nameable(name string) error {
	if !wellFormed(name, pathName.extra) {
		return fmt.Errorf("the name is no part of a URL; use letters, digits, _ and -, a letter or _ first, at most %d of them", maxName)
	}
	if why := takenName(name); why != "" {
		return fmt.Errorf("it %s; rename it", why)
	}
	for i := range e.Operations {
		if other := &e.Operations[i]; fold(other.Name) == fold(name) {
			return fmt.Errorf("the schema declares %q at %s, upper and lower case being one here; write it alike", other.Name, other.Pos)
		}
	}
	return nil
}

func (op *Operation) completedBy(given Operation) error {
	if op.Set != nil {
		return fmt.Errorf("the schema says at %s what it sets; remove set there, or the handler", op.Pos)
	}
	for _, part := range []struct{ name, declared, given string }{
		{"kind", op.Kind, given.Kind}, {"cardinality", op.Cardinality, given.Cardinality},
		{"action", op.Action, given.Action}, {"realtimeevent", string(op.Event), string(given.Event)},
	} {
		if part.given != "" && part.given != part.declared {
			return fmt.Errorf("%s is %q, and %q in the schema at %s; leave it out", part.name, part.given, part.declared, op.Pos)
		}
	}
	if given.Realtime != nil || given.Set != nil {
		return errors.New("realtime and set are the schema's to say; leave them out")
	}
	return nil
}

// Unhandled refuses every operation that sets nothing and that no handler in Go
// completes: nothing would come of it. handled reports whether there is one; nil
// means that there is none at all.
func (m *Model) Unhandled(handled func(entity, operation string) bool) (refused document.Refusals) {
	for _, e := range m.Entities {
		for i := range e.Operations {
			op := &e.Operations[i]
			if op.Set == nil && (handled == nil || !handled(e.Name, op.Name)) {
				refused.Add(op.unhandled())
			}
		}
	}
	return refused
}

func (op *Operation) unhandled() document.Refusal {
	const handler = "no handler in Go does its work; give one under Operations of rowcast.Config, or "
	switch {
	case op.Kind == "read":
		return op.node.Refusal("operation %q reads, and "+handler+"remove it: GET /data/{entity} and its filters read", op.Name)
	case op.Cardinality == "many":
		return op.node.Refusal("operation %q works on many rows, and "+handler+"remove it: PATCH /data/{entity} with a filter writes many", op.Name)
	case op.Action == "create":
		return op.node.Refusal("operation %q makes a row, and "+handler+"remove it: POST /data/{entity} makes one", op.Name)
	}
	return op.node.Refusal("operation %q sets nothing, and "+handler+"add set", op.Name)
}
