package script

import (
	"slices"
	"strings"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// frame is what one run may look at.
type frame struct {
	payload, old []value.Value
	event        map[string]any
	operation    string
	user         User
	tenant       string
	now          time.Time
}

// slot is one name that a script uses, spelled as its path ("payload.total").
// The compiled program loads it by that path from a flat map, so a run
// converts the cells that the script names and no other.
type slot struct {
	path  string
	kind  types.Type // of a value that is not nil
	field int        // the position where the path is a cell, else -1
	load  func(*frame) any
}

// deep reports whether the value may have members of its own.
func (s slot) deep() bool {
	return s.kind == types.Any || s.path == "user.roles" || s.path == "user.claims"
}

// space is a name with members: payload, old, event, user, user.claims.
type space struct {
	what  string   // of a member, for refusals: "field of order"
	names []string // the members, or nil where any name will do
	slot  func(name string) (slot, bool)
}

// scope is every name a kind of script may use.
type scope struct {
	spaces map[string]space
	values map[string]slot // names without members
}

// roots returns the names a script may begin with, in alphabetical order.
func (s *scope) roots() []string {
	var names []string
	for n := range s.spaces {
		if !strings.Contains(n, ".") {
			names = append(names, n)
		}
	}
	for n := range s.values {
		if _, both := s.spaces[n]; !both {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// path returns the path of a node that names a space.
func (s *scope) path(n ast.Node) (string, bool) {
	path := ""
	switch n := n.(type) {
	case *ast.IdentifierNode:
		path = n.Value
	case *ast.MemberNode:
		prop, static := n.Property.(*ast.StringNode)
		outer, ok := s.path(n.Node)
		if !static || !ok {
			return "", false
		}
		path = outer + "." + prop.Value
	}
	_, ok := s.spaces[path]
	return path, ok
}

// resolve returns the slot of a node that names a member of a space.
func (s *scope) resolve(n ast.Node) (slot, bool) {
	if c, ok := n.(*ast.ChainNode); ok {
		n = c.Node
	}
	m, ok := n.(*ast.MemberNode)
	if !ok {
		return slot{}, false
	}
	prop, static := m.Property.(*ast.StringNode)
	path, ok := s.path(m.Node)
	if !static || !ok {
		return slot{}, false
	}
	return s.spaces[path].slot(prop.Value)
}

func newScope() *scope {
	s := &scope{spaces: map[string]space{}, values: map[string]slot{}}
	s.addUser()
	return s
}

func (s *scope) value(path string, kind types.Type, load func(*frame) any) {
	s.values[path] = slot{path: path, kind: kind, field: -1, load: load}
}

// addUser adds user.id, user.roles, user.tenant and user.claims, whose members
// are any name: an absent claim is nil.
func (s *scope) addUser() {
	members := map[string]slot{}
	var names []string
	add := func(name string, kind types.Type, load func(*frame) any) {
		names = append(names, name)
		members[name] = slot{path: "user." + name, kind: kind, field: -1, load: load}
	}
	add("id", types.String, func(f *frame) any {
		if f.user.Anonymous {
			return nil
		}
		return f.user.ID
	})
	add("roles", types.TypeOf([]string{}), func(f *frame) any { return f.user.Roles })
	add("tenant", types.String, func(f *frame) any { return f.user.Tenant })
	add("claims", types.TypeOf(map[string]any{}), func(f *frame) any { return plain(f.user.Claims) })
	s.spaces["user"] = space{what: "part of user", names: names, slot: func(name string) (slot, bool) {
		m, ok := members[name]
		return m, ok
	}}
	s.spaces["user.claims"] = space{what: "claim", slot: func(name string) (slot, bool) {
		return slot{path: "user.claims." + name, kind: types.Any, field: -1, load: func(f *frame) any {
			return plain(f.user.Claims[name])
		}}, true
	}}
}

// addRow adds the fields of an entity under a name. keeps, where it is given,
// says which of them there are.
func (s *scope) addRow(root string, e *schema.Entity, keeps func(int) bool, row func(*frame) []value.Value) {
	var names []string
	position := map[string]int{}
	for i, f := range e.Fields {
		if keeps == nil || keeps(i) {
			names = append(names, f.Name)
			position[f.Name] = i
		}
	}
	s.spaces[root] = space{what: "field of " + e.Name, names: names, slot: func(name string) (slot, bool) {
		i, ok := position[name]
		if !ok {
			return slot{}, false
		}
		t := e.Fields[i].Type
		return slot{path: root + "." + name, kind: kindOf(t), field: i, load: func(f *frame) any {
			cells := row(f)
			if i >= len(cells) { // no old row
				return nil
			}
			return cell(t, cells[i])
		}}, true
	}}
}

var eventNames = []string{"id", "type", "entity", "operation", "subject", "time", "tenant", "topic"}

func (s *scope) addEvent() {
	s.spaces["event"] = space{what: "part of event", names: eventNames, slot: func(name string) (slot, bool) {
		for _, n := range eventNames {
			if n == name {
				return slot{path: "event." + name, kind: types.Any, field: -1, load: func(f *frame) any {
					return f.event[name]
				}}, true
			}
		}
		return slot{}, false
	}}
}

// kindOf returns the Go type that cell yields for a value of the type.
func kindOf(t value.Type) types.Type {
	switch t {
	case value.Integer, value.BigInt:
		return types.Int
	case value.Double:
		return types.Float64
	case value.Boolean:
		return types.Bool
	case value.DateTime, value.Timestamp:
		return types.TypeOf(time.Time{})
	case value.Object, value.Array:
		return types.Any
	default:
		return types.String
	}
}
