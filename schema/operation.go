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
	Action      string // the access action and row rules that judge it; defaults to update, of a read to read
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

// What an operation may say.
var (
	operationKinds = []string{"read", "write"}
	cardinalities  = []string{"one", "many"}
	// standardNames are the standard operations, taken in any letter case.
	standardNames = []string{"createOne", "findOne", "findMany", "updateOne", "patchOne", "deleteOne", "restoreOne", "purgeOne"}
	// standardRoutes stand where an operation's name stands in a URL.
	standardRoutes = []string{"restore", "purge", "bulk"}
)

// customOperations reads what an entity offers beyond the standard operations.
func (l *loader) customOperations(e *Entity, list *document.Node) {
	seen := map[string]bool{}
	for _, item := range list.List(&l.refusals) {
		m := item.Map(&l.refusals, operationShape)
		op := Operation{Pos: item.Pos, node: item}
		op.Name = l.operationName(m.Need("name", "give the operation a name, which stands in its URL"), seen)
		op.Kind, _ = m.Need("kind", "write kind: write").OneOf(&l.refusals, operationKinds...)
		op.Cardinality, _ = m.Need("cardinality", "write cardinality: one").OneOf(&l.refusals, cardinalities...)
		op.Action = l.action(&op, m)
		op.Event = l.realtimeEvent(&op, m.Get("realtimeevent"))
		l.operationRealtime(&op, m)
		if n := m.Get("set"); n != nil {
			op.Set = l.assignments(e, n)
			l.settles(&op, m)
		}
		e.Operations = append(e.Operations, op)
	}
}

func (l *loader) operationName(n *document.Node, seen map[string]bool) string {
	name := l.name(n, pathName)
	why := takenName(name)
	switch {
	case name == "":
		return ""
	case why != "":
		l.refusals.Add(n.Refusal("operation %q %s; rename it", name, why))
	case seen[fold(name)]:
		l.refusals.Add(n.Refusal("operation %q stands twice in the entity, upper and lower case being one here; rename one", name))
	}
	seen[fold(name)] = true
	return name
}

// takenName says why no operation may have the name, or "".
func takenName(name string) string {
	same := func(other string) bool { return fold(other) == fold(name) }
	switch {
	case slices.ContainsFunc(standardNames, same):
		return "has the name of a standard operation, upper and lower case being one here"
	case slices.ContainsFunc(standardRoutes, same):
		return "has the name of a route below an entity, /data/{entity}/…/" + fold(name)
	}
	return ""
}

func (l *loader) action(op *Operation, m document.Map) string {
	allowed := actionsOf(op.Kind, m.Has("set"))
	if action, ok := m.Get("action").OneOf(&l.refusals, allowed...); ok {
		return action
	}
	return allowed[0]
}

// actionsOf returns what may judge an operation, the default first. read would
// let who reads a row write it; restore and purge judge deleted rows, which no
// operation finds; a row that create judges is for a handler to make.
func actionsOf(kind string, sets bool) []string {
	switch {
	case kind == "read":
		return []string{"read", "update", "delete"}
	case sets:
		return []string{"update", "delete"}
	default:
		return []string{"update", "delete", "create"}
	}
}

// settles refuses set where there is no one row that is written.
func (l *loader) settles(op *Operation, m document.Map) {
	if op.Kind == "read" {
		l.refusals.Add(m.Get("kind").Refusal("set on an operation that reads; write kind: write, or leave set out and give a handler in Go"))
	}
	if op.Cardinality == "many" {
		l.refusals.Add(m.Get("cardinality").Refusal("set works on one row, and PATCH /data/{entity} with a filter on many; write cardinality: one, or leave set out and give a handler in Go"))
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
	if why := op.unpublished(); ok && why != "" {
		l.refusals.Add(n.Refusal("realtimeevent %s; remove it", why))
	}
	return RealtimeEvent(event)
}

// unpublished says why no event can tell of the operation, or "".
func (op *Operation) unpublished() string {
	if op.Kind == "read" || op.Cardinality == "many" {
		return "on an operation of kind " + op.Kind + ", cardinality " + op.Cardinality + ": an event describes one row that was written"
	}
	return ""
}

func (l *loader) operationRealtime(op *Operation, m document.Map) {
	n := m.Get("realtime")
	op.Realtime = ReadRealtime(n, operationRealtimeShape, &l.refusals)
	if op.Realtime != nil && !op.Realtime.Off && !m.Has("realtimeevent") {
		l.refusals.Add(n.Refusal("realtime on an operation that publishes nothing; add realtimeevent, or remove realtime"))
	}
}
