package schema

import (
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

// Operation is a custom operation of an entity (channels contract, section 1),
// declared in the schema with what it sets, or completed by a handler in Go.
type Operation struct {
	Name        string
	Kind        string // read, write
	Cardinality string // one, many
	Action      string // update or delete: the access action and row rules that judge it; defaults to update
	Event       RealtimeEvent
	Realtime    *Realtime    // nil: as the entity's
	Set         []Assignment // in declared order; nil: a handler does the work
	Pos         document.Pos
	node        *document.Node
}

// Assignment gives one field a value.
type Assignment struct {
	Field  int
	Value  value.Value // where Script is nil
	Script *Script     // evaluated in the write; yields the field's value
	Pos    document.Pos
}

// Operation returns the custom operation of that name.
func (e *Entity) Operation(name string) (*Operation, bool) {
	for i := range e.Operations {
		if e.Operations[i].Name == name {
			return &e.Operations[i], true
		}
	}
	return nil, false
}

// What an operation of a schema may say. It works on one row that is there:
// nothing else has a route, and nothing else could be judged by a row rule.
var (
	operationKinds   = []string{"read", "write"}
	cardinalities    = []string{"one", "many"}
	operationActions = []string{"update", "delete"}
	// standardNames are the standard operations, taken in any letter case.
	standardNames = []string{"createOne", "findOne", "findMany", "updateOne", "patchOne", "deleteOne", "restoreOne", "purgeOne"}
	// rowRoutes stand where an operation's name stands in a URL.
	rowRoutes = []string{"restore", "purge"}
)

// customOperations reads what an entity offers beyond the standard operations.
func (l *loader) customOperations(e *Entity, list *document.Node) {
	seen := map[string]bool{}
	for _, item := range list.List(&l.refusals) {
		m := item.Map(&l.refusals, operationShape)
		op := Operation{Action: "update", Pos: item.Pos, node: item}
		op.Name = l.operationName(m.Need("name", "give the operation a name, which stands in its URL"), seen)
		op.Kind, _ = m.Need("kind", "write kind: write").OneOf(&l.refusals, operationKinds...)
		op.Cardinality, _ = m.Need("cardinality", "write cardinality: one").OneOf(&l.refusals, cardinalities...)
		l.served(&op, m)
		if action, ok := m.Get("action").OneOf(&l.refusals, operationActions...); ok {
			op.Action = action
		}
		op.Event = l.realtimeEvent(&op, m.Get("realtimeevent"))
		l.operationRealtime(&op, m)
		if n := m.Get("set"); n != nil {
			op.Set = l.assignments(e, n)
		}
		e.Operations = append(e.Operations, op)
	}
}

func (l *loader) operationName(n *document.Node, seen map[string]bool) string {
	name := l.name(n, pathName)
	same := func(other string) bool { return fold(other) == fold(name) }
	switch {
	case name == "":
	case slices.ContainsFunc(standardNames, same):
		l.refusals.Add(n.Refusal("operation %q has the name of a standard operation, upper and lower case being one here; rename it", name))
	case slices.ContainsFunc(rowRoutes, same):
		l.refusals.Add(n.Refusal("operation %q has the name of a route below a row, /data/{entity}/{id}/%s; rename it", name, fold(name)))
	case seen[fold(name)]:
		l.refusals.Add(n.Refusal("operation %q stands twice in the entity, upper and lower case being one here; rename one", name))
	}
	seen[fold(name)] = true
	return name
}

// served refuses what no route answers.
func (l *loader) served(op *Operation, m document.Map) {
	if op.Kind == "read" {
		l.refusals.Add(m.Get("kind").Refusal("an operation that reads has no route: GET /data/{entity} and its filters read; write kind: write, or remove the operation"))
	}
	if op.Cardinality == "many" {
		l.refusals.Add(m.Get("cardinality").Refusal("an operation on many rows has no route: PATCH /data/{entity} with a filter writes many; write cardinality: one, or remove the operation"))
	}
}

// realtimeEvent reads what the operation's write is published as.
func (l *loader) realtimeEvent(op *Operation, n *document.Node) RealtimeEvent {
	if n == nil {
		return ""
	}
	if n.Raw() == "left" {
		l.refusals.Add(n.Refusal("realtimeevent: no write is published as left, which a subscriber asks for with leave=true; write one of %s",
			strings.Join(realtimeEvents, ", ")))
		return ""
	}
	event, ok := n.OneOf(&l.refusals, realtimeEvents...)
	if ok && (op.Kind == "read" || op.Cardinality == "many") {
		l.refusals.Add(n.Refusal("realtimeevent on an operation of kind %s, cardinality %s: an event describes one row that was written; remove it", op.Kind, op.Cardinality))
	}
	return RealtimeEvent(event)
}

func (l *loader) operationRealtime(op *Operation, m document.Map) {
	n := m.Get("realtime")
	op.Realtime = ReadRealtime(n, operationRealtimeShape, &l.refusals)
	if op.Realtime != nil && !op.Realtime.Off && !m.Has("realtimeevent") {
		l.refusals.Add(n.Refusal("realtime on an operation that publishes nothing; add realtimeevent, or remove realtime"))
	}
}

// Unhandled refuses every operation that sets nothing and that no handler in Go
// completes: it would change no row. handled reports whether there is one; nil
// means that there is none at all.
func (m *Model) Unhandled(handled func(entity, operation string) bool) (refused document.Refusals) {
	for _, e := range m.Entities {
		for i := range e.Operations {
			op := &e.Operations[i]
			if op.Set == nil && (handled == nil || !handled(e.Name, op.Name)) {
				refused.Add(op.node.Refusal("operation %q sets nothing, and no handler in Go does its work; add set, or give a handler under Operations of rowcast.Config", op.Name))
			}
		}
	}
	return refused
}
