package predicate

import (
	"slices"
	"sort"

	"github.com/rowcast/rowcast/internal/value"
)

// node is a condition on a row with nothing left to ask of the caller.
// Negation stands in the leaves alone, which is exact in three-valued logic (De
// Morgan holds) and makes every group monotone: see allOf.
type node interface {
	eval(row []value.Value) Truth
	// key appends the canonical text. No key is the beginning of another.
	key(dst []byte) []byte
	sql(w *writer)
}

// atom is a node that is no group.
type atom interface {
	node
	not() atom
}

// constant is a truth that no row changes.
type constant Truth

func (c constant) eval([]value.Value) Truth { return Truth(c) }
func (c constant) not() atom                { return -c }

// group is the and, or the or, of two nodes or more, none of them constant and
// none a group of the same kind.
type group struct {
	and   bool
	nodes []node
}

func (g *group) eval(row []value.Value) Truth {
	if g.and {
		return evalAll(g.nodes, row)
	}
	return evalAny(g.nodes, row)
}

func evalAll(nodes []node, row []value.Value) Truth {
	t := True
	for _, n := range nodes {
		if t = min(t, n.eval(row)); t == False {
			break
		}
	}
	return t
}

func evalAny(nodes []node, row []value.Value) Truth {
	t := False
	for _, n := range nodes {
		if t = max(t, n.eval(row)); t == True {
			break
		}
	}
	return t
}

// allOf is the and of nodes. As negation stands in leaves alone, a group can
// only grow truer with its parts: where one part is never true, neither is an
// and that holds it, so an unknown part settles the whole as unknown. (It
// might be False for some rows; both mean that the row does not pass.)
func allOf(nodes []node) node {
	kept, sum := flatten(true, nodes)
	switch {
	case sum != True:
		return constant(sum)
	case len(kept) == 1:
		return kept[0]
	case len(kept) == 0:
		return constant(True)
	}
	return &group{and: true, nodes: kept}
}

// anyOf is the or of nodes. By the same reasoning an unknown part adds nothing
// to an or that has others.
func anyOf(nodes []node) node {
	kept, sum := flatten(false, nodes)
	switch {
	case sum == True, len(kept) == 0:
		return constant(sum)
	case len(kept) == 1:
		return kept[0]
	}
	return &group{nodes: kept}
}

// flatten takes the parts of inner groups of the same kind as its own and joins
// all constants into one.
func flatten(and bool, nodes []node) (kept []node, sum Truth) {
	sum = False
	if and {
		sum = True
	}
	for _, n := range nodes {
		switch n := n.(type) {
		case constant:
			if and {
				sum = min(sum, Truth(n))
			} else {
				sum = max(sum, Truth(n))
			}
		case *group:
			if n.and == and {
				kept = append(kept, n.nodes...)
			} else {
				kept = append(kept, n)
			}
		default:
			kept = append(kept, n)
		}
	}
	return kept, sum
}

func (c constant) key(dst []byte) []byte {
	return append(dst, '#', "fut"[c+1])
}

// key sorts the parts and drops repeated ones, since neither changes an answer.
func (g *group) key(dst []byte) []byte {
	keys := make([]string, len(g.nodes))
	for i, n := range g.nodes {
		keys[i] = string(n.key(nil))
	}
	sort.Strings(keys)
	keys = slices.Compact(keys)
	if len(keys) == 1 {
		return append(dst, keys[0]...)
	}
	if g.and {
		dst = append(dst, "&("...)
	} else {
		dst = append(dst, "|("...)
	}
	for _, k := range keys {
		dst = append(dst, k...)
	}
	return append(dst, ')')
}
