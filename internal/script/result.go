package script

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/rowcast/rowcast/internal/document"
)

// result judges what an access script yields, as far as it can be seen: a list
// of known names, true, false or nil.
func (v *vetter) result(n ast.Node, what string, known []string) {
	switch n := n.(type) {
	case *ast.ConditionalNode:
		v.result(n.Exp1, what, known)
		v.result(n.Exp2, what, known)
	case *ast.BinaryNode:
		if n.Operator == "??" {
			v.result(n.Left, what, known)
			v.result(n.Right, what, known)
		}
	case *ast.BuiltinNode:
		if n.Name == "concat" {
			for _, a := range n.Arguments {
				v.result(a, what, known)
			}
		}
	case *ast.ArrayNode:
		for _, e := range n.Nodes {
			v.listed(e, what, known)
		}
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.MapNode:
		v.refuse(n, "the result must be a list of names, true, false or nil, not %s", n)
	}
}

// listed judges one element of a visible list.
func (v *vetter) listed(n ast.Node, what string, known []string) {
	switch n := n.(type) {
	case *ast.StringNode:
		if !slices.Contains(known, n.Value) {
			v.refuse(n, "no %s is named %q; %s", what, n.Value, document.WayOut(n.Value, known))
		}
	case *ast.ConditionalNode:
		v.listed(n.Exp1, what, known)
		v.listed(n.Exp2, what, known)
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.ArrayNode, *ast.MapNode:
		v.refuse(n, "an element of the list must be a name, not %s", n)
	}
}
