package script

import (
	"github.com/expr-lang/expr/ast"
)

// atHand is a function that no script can name: the dot is no part of a name.
const atHand = "at.hand"

// flattener replaces payload.total by the name "payload.total" of the flat
// environment, now() by "now()" where the run is given its time, and a list of literals by one constant list.
type flattener struct {
	scope *scope
	used  map[string]slot
	guard bool // wrap each cell in atHand
}

// Visit is called for a node after its children.
func (f flattener) Visit(n *ast.Node) {
	switch m := (*n).(type) {
	case *ast.MemberNode:
		f.member(n, m)
	case *ast.BuiltinNode:
		if s, ok := f.used[m.Name+"()"]; ok {
			ast.Patch(n, &ast.IdentifierNode{Value: s.path})
		}
	case *ast.ArrayNode:
		if list, ok := literals(m); ok {
			ast.Patch(n, &ast.ConstantNode{Value: list})
		}
	}
}

func (f flattener) member(n *ast.Node, m *ast.MemberNode) {
	prop, ok := m.Property.(*ast.StringNode)
	if !ok {
		return
	}
	outer, ok := m.Node.(*ast.IdentifierNode)
	if !ok {
		return
	}
	if _, ok := f.scope.spaces[outer.Value]; !ok {
		return
	}
	path := outer.Value + "." + prop.Value
	var flat ast.Node = &ast.IdentifierNode{Value: path}
	if f.guard && f.used[path].field >= 0 {
		flat.SetLocation(m.Location())
		flat = &ast.CallNode{Callee: &ast.IdentifierNode{Value: atHand}, Arguments: []ast.Node{flat}}
	}
	ast.Patch(n, flat)
}

// literals returns the values of a list that holds nothing but literals.
func literals(a *ast.ArrayNode) ([]any, bool) {
	list := make([]any, len(a.Nodes))
	for i, n := range a.Nodes {
		switch n := n.(type) {
		case *ast.StringNode:
			list[i] = n.Value
		case *ast.IntegerNode:
			list[i] = n.Value
		case *ast.FloatNode:
			list[i] = n.Value
		case *ast.BoolNode:
			list[i] = n.Value
		case *ast.NilNode:
		default:
			return nil, false
		}
	}
	return list, true
}
