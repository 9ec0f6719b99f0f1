package schema

import "github.com/rowcast/rowcast/internal/document"

// RealtimeEvent is what a channel calls a change: finer than an Op, and closed
// (channels contract, section 1).
type RealtimeEvent string

// The events of a channel. Custom operations publish as one of them.
const (
	RealtimeCreated  RealtimeEvent = "created"
	RealtimeUpdated  RealtimeEvent = "updated"
	RealtimePatched  RealtimeEvent = "patched"
	RealtimeDeleted  RealtimeEvent = "deleted"
	RealtimeRestored RealtimeEvent = "restored"
)

// Realtime is a realtime key as it is written: the boot document's, an entity's or
// an operation's. A nil one is absent.
type Realtime struct {
	Off    bool                   // written as false
	Events map[RealtimeEvent]bool // what it names; for the rest the scope around it speaks
	// Of an entity alone.
	Subscribable []int // the fields that may leave on a channel, ascending; nil: all
	Filterable   bool
	Pos          document.Pos
}

// HasChannel reports whether the entity has channels, given the boot document's
// defaults: absent, it is as they say, and off where they are absent too.
func (e *Entity) HasChannel(defaults *Realtime) bool {
	if e.Realtime != nil {
		return !e.Realtime.Off
	}
	return defaults != nil && !defaults.Off
}

// Publishes reports whether a channel tells of the event: what the nearest scope
// that names it says, operation before entity before defaults (settings precedence).
// op is nil for the standard operations.
func (e *Entity) Publishes(event RealtimeEvent, op *Operation, defaults *Realtime) bool {
	if event == "" || !e.HasChannel(defaults) {
		return false
	}
	scopes := []*Realtime{e.Realtime, defaults}
	if op != nil {
		scopes = []*Realtime{op.Realtime, e.Realtime, defaults}
	}
	for i, scope := range scopes {
		if scope == nil {
			continue
		}
		if scope.Off && op != nil && i == 0 {
			return false
		}
		if told, named := scope.Events[event]; named {
			return told
		}
	}
	return true
}

// Subscribes reports whether field i may leave on a channel.
func (r *Realtime) Subscribes(i int) bool {
	return r == nil || r.Subscribable == nil || contains(r.Subscribable, i)
}
