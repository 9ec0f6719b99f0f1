package schema

import "strings"

// Op is one of the three operations that events and subscriptions speak of.
type Op uint8

// Operations, a bit each, so that a set of them is an OpSet.
const (
	Create Op = 1 << iota
	Update
	Delete
)

var opNames = []string{"create", "update", "delete"}

// ParseOp returns the operation of that name.
func ParseOp(name string) (Op, bool) {
	for i, n := range opNames {
		if n == name {
			return Op(1 << i), true
		}
	}
	return 0, false
}

// String returns create, update or delete.
func (o Op) String() string { return OpSet(o).String() }

// OpSet is a set of operations.
type OpSet uint8

// AllOps is every operation.
const AllOps = OpSet(Create | Update | Delete)

// Has reports whether op is in the set.
func (s OpSet) Has(op Op) bool { return s&OpSet(op) != 0 }

// Names returns the names of the set's operations: create, update, delete.
func (s OpSet) Names() []string {
	var names []string
	for i, n := range opNames {
		if s&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// String returns the names, separated by commas.
func (s OpSet) String() string { return strings.Join(s.Names(), ",") }
