package document

import (
	"fmt"
	"slices"
	"strings"
)

// Shape says which keys a mapping may have.
type Shape struct {
	What    string            // in messages: "an entity"
	Keys    []string          // known keys
	Refused map[string]string // keys with an explanation of their own: what is wrong, and the way out
}

// Map is a mapping whose keys are known. The zero Map has none.
type Map struct {
	node     *Node
	refusals *Refusals
	values   map[string]*Node
}

// Map reads a mapping of that shape and refuses every other key, with the
// nearest known one. What is no mapping is refused and read as an empty one.
func (n *Node) Map(rs *Refusals, shape Shape) Map {
	m := Map{node: n, refusals: rs, values: map[string]*Node{}}
	if n == nil {
		return m
	}
	if n.kind != Mapping {
		rs.Add(n.expected("%s must be a mapping, found %s; write key: value, indented below", shape.What, n.describe()))
		return m
	}
	for _, member := range n.members {
		key := member.Key.text
		if slices.Contains(shape.Keys, key) {
			m.values[key] = member.Value
			continue
		}
		if why, ok := shape.Refused[key]; ok {
			rs.Add(member.Key.Refusal("%s", why))
			continue
		}
		rs.Add(member.Key.Refusal("unknown key %s in %s; %s", member.Key.echo(), shape.What, WayOut(key, shape.Keys)))
	}
	return m
}

// Members reads a mapping whose keys are names of the file's own, in its order.
func (n *Node) Members(rs *Refusals) []Member {
	if n == nil {
		return nil
	}
	if n.kind != Mapping {
		rs.Add(n.expected("expected a mapping, found %s; write key: value, indented below", n.describe()))
		return nil
	}
	return n.members
}

// Has reports whether the key is given, be it empty.
func (m Map) Has(key string) bool { return m.values[key] != nil }

// Get returns the value of a key, nil where it is absent.
func (m Map) Get(key string) *Node { return m.values[key] }

// Need returns the value of a key and refuses the mapping where it is absent.
func (m Map) Need(key, wayOut string) *Node {
	value := m.values[key]
	if value == nil && m.node != nil && m.node.kind == Mapping {
		m.refusals.Add(m.node.Refusal("%s is missing; %s", key, wayOut))
	}
	return value
}

// Text returns the text of a key, or def where it is absent or no text.
func (m Map) Text(key, def string) string {
	if text, ok := m.values[key].Text(m.refusals); ok {
		return text
	}
	return def
}

// Bool returns the boolean of a key, or def where it is absent or none.
func (m Map) Bool(key string, def bool) bool {
	if b, ok := m.values[key].Bool(m.refusals); ok {
		return b
	}
	return def
}

// WayOut ends the message about a name that resolves to nothing: the nearest
// known name, or all there are.
func WayOut(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(known) == 0 {
		return "none is known"
	}
	return "write one of " + strings.Join(known, ", ")
}

// Nearest returns the known name that differs from name by a slip or two, or "".
func Nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, bound := "", 1+len(name)/4
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= bound {
			best, bound = k, d-1
		}
	}
	return best
}

// distance counts the letters to add, drop or change, a swap of neighbours as one.
func distance(a, b string) int {
	before, above, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, make([]int, len(b)+1)
	}
	return above[len(b)]
}
