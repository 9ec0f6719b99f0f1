package schema

import (
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

// Operation is a custom operation of an entity (channels contract, section 1),
// declared in the schema with what it sets, or completed by a handler in Go.
type Operation struct {
	Name        string
	Kind        string // read, write
	Cardinality string // one, many
	Action      string // the access action and row rules that judge it; defaults to update
	Event       RealtimeEvent
	Realtime    *Realtime    // nil: as the entity's
	Set         []Assignment // in declared order; nil: a handler does the work
	Pos         document.Pos
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
