// Package access decides who may do what: a Principal and an entity's Policy
// make a Grant, and the Grant guards every read and write of rowcast: REST,
// streams and deliveries alike.
//
// What it guarantees:
//   - What is not granted is denied. A script that fails denies, a name it yields
//     that is no action or field grants nothing, and without access.actions an
//     anonymous caller may do nothing.
//   - No cell leaves without a Grant: Show is the only way from a cell to what a
//     principal sees of it.
//
// Which row rules judge an action:
//
//	action   rules that judge it, in this order of preference
//	read     those that name read
//	create   those that name create, read (the row as written, after any write)
//	update   those that name update, read
//	delete   those that name delete, read
//	restore  those that name restore, update, read
//	purge    those that name purge, delete, read
//
// Rules for one action OR together. An action with no rule anywhere in its line
// is not restricted. That update and delete fall back on read takes nothing
// away: a row that the read rules hide is 404 to every write. It only means
// that no action ever reaches further than a read, whatever its caller forgets.
//
// Policies and Grants are immutable and safe for concurrent use. The package may
// import value, document, schema, predicate and script.
package access

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

var actionNames = [actionCount]string{"create", "read", "update", "delete", "restore", "purge", "unmask"}

// String returns the action's name in a schema.
func (a Action) String() string {
	if a < actionCount {
		return actionNames[a]
	}
	return "unknown action"
}

// ParseAction returns the action of that name, or false.
func ParseAction(name string) (Action, bool) {
	for a, n := range actionNames {
		if n == name {
			return Action(a), true
		}
	}
	return 0, false
}

// ActionNames returns the names of all actions, in the order of the constants.
func ActionNames() []string { return append([]string(nil), actionNames[:]...) }

// actionSet is a set of actions, a bit each.
type actionSet uint16

const allActions = actionSet(1<<actionCount - 1)

// usual is what an authenticated caller may do where access.actions is absent.
const usual = actionSet(1<<Create | 1<<Read | 1<<Update | 1<<Delete | 1<<Restore)

func (s actionSet) has(a Action) bool { return a < actionCount && s&(1<<a) != 0 }
