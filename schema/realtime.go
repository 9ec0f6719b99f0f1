package schema

import (
	"slices"

	"github.com/rowcast/rowcast/internal/document"
)

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

// realtimeEvents are all of them, as a schema writes them.
var realtimeEvents = []string{
	string(RealtimeCreated), string(RealtimeUpdated), string(RealtimePatched), string(RealtimeDeleted), string(RealtimeRestored),
}

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

// ReadRealtime reads a realtime key: false, or a mapping of that shape, of which
// it reads events. It returns nil where the key is absent or is neither; then it
// is refused.
func ReadRealtime(n *document.Node, shape document.Shape, rs *document.Refusals) *Realtime {
	r, _ := readRealtime(n, shape, rs)
	return r
}

// readRealtime also returns the mapping, for what else the shape holds.
func readRealtime(n *document.Node, shape document.Shape, rs *document.Refusals) (*Realtime, document.Map) {
	switch {
	case n == nil:
		return nil, document.Map{}
	case n.Kind() == document.Mapping:
		m := n.Map(rs, shape)
		return &Realtime{Pos: n.Pos, Events: readEvents(m.Get("events"), rs)}, m
	case n.Kind() == document.Scalar && !n.Quoted() && n.Raw() == "false":
		return &Realtime{Pos: n.Pos, Off: true}, document.Map{}
	}
	rs.Add(n.Refusal("realtime is neither a mapping nor false; write {} for channels that tell of every event, or false for none"))
	return nil, document.Map{}
}

// readEvents reads which events are told. What is not named is left to the scope around.
func readEvents(n *document.Node, rs *document.Refusals) map[RealtimeEvent]bool {
	m := n.Map(rs, realtimeEventsShape)
	var events map[RealtimeEvent]bool
	for _, name := range realtimeEvents {
		told, ok := m.Get(name).Bool(rs)
		if !ok {
			continue
		}
		if events == nil {
			events = map[RealtimeEvent]bool{}
		}
		events[RealtimeEvent(name)] = told
	}
	return events
}

// realtime reads the entity's channels. known reports whether its filter is: what
// was refused there is no reason to refuse filterable here.
func (l *loader) realtime(e *Entity, n *document.Node, known bool) {
	before := len(l.refusals)
	r, m := readRealtime(n, realtimeShape, &l.refusals)
	if r == nil {
		return
	}
	e.Realtime = r
	if list := m.Get("subscribablefields"); list != nil {
		r.Subscribable = l.subscribable(e, list)
	}
	r.Filterable = m.Bool("filterable", false)
	known = known && len(l.refusals) == before
	if known && r.Filterable && !slices.ContainsFunc(e.Filter.Fields, r.Subscribes) {
		l.refusals.Add(m.Get("filterable").Refusal(
			"filterable: true, and no field is both in filter.fields and in subscribablefields; add one to both, or remove filterable"))
	}
}

// subscribable reads the fields that may leave on a channel: those of a list, or
// all but those of exclude. nil, which would mean all, is never what comes of a
// key that is given.
func (l *loader) subscribable(e *Entity, n *document.Node) []int {
	named, excluded := n, n.Kind() == document.Mapping
	if excluded {
		named = n.Map(&l.refusals, subscribableShape).Need("exclude", "write exclude: [a, b], or a plain list of the fields that may leave")
	}
	before := len(l.refusals)
	positions := l.positions(e, named)
	slices.Sort(positions)
	if len(l.refusals) > before || named == nil {
		return []int{}
	}
	if len(positions) == 0 {
		l.refusals.Add(named.Refusal("an empty list; name at least one field, or leave subscribablefields out for all"))
	}
	if !excluded {
		return positions
	}
	left := []int{}
	for i := range e.Fields {
		if !slices.Contains(positions, i) {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		l.refusals.Add(named.Refusal("exclude leaves no field; keep at least one, such as id"))
	}
	return left
}
