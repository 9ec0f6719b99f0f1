package script

import (
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/schema"
)

// What a script may hold at most. A row's text may be as long as a body, and
// each + may copy what its left side has gathered.
const (
	maxSource   = 16 << 10 // bytes
	maxNodes    = 2000
	maxElements = 1000 // of one list or map
	maxAdds     = 32
	maxPattern  = 500 // instructions of a compiled pattern: each character of a text may visit them all
)

// functions are what a script may call: their cost and their result are at most
// linear in their arguments. Each has its least and largest number of arguments.
var functions = map[string][2]int{
	"len": {1, 1}, "abs": {1, 1}, "ceil": {1, 1}, "floor": {1, 1}, "round": {1, 1},
	"int": {1, 1}, "float": {1, 1}, "string": {1, 1}, "min": {1, 8}, "max": {1, 8},
	"lower": {1, 1}, "upper": {1, 1}, "trim": {1, 2}, "trimPrefix": {2, 2}, "trimSuffix": {2, 2},
	"hasPrefix": {2, 2}, "hasSuffix": {2, 2}, "indexOf": {2, 2}, "lastIndexOf": {2, 2},
	"now": {0, 0}, "date": {1, 2}, "duration": {1, 1}, "concat": {1, 8},
}

var binaries = []string{
	"==", "!=", "<", "<=", ">", ">=", "and", "&&", "or", "||", "in", "??",
	"+", "-", "*", "/", "%", "^", "**", "contains", "startsWith", "endsWith", "matches",
}

var unaries = []string{"not", "!", "-", "+"}

// vetter walks a parsed script, collects every refusal, and notes the names used.
type vetter struct {
	script   schema.Script
	scope    *scope
	used     map[string]slot
	calls    map[int]string
	adds     int
	visits   int
	refusals document.Refusals
}

// refuse notes a refusal once: a chained comparison holds its middle twice.
func (v *vetter) refuse(n ast.Node, format string, args ...any) {
	r := v.script.Refusal(n.Location().From, format, args...)
	if !slices.Contains(v.refusals, r) {
		v.refusals = append(v.refusals, r)
	}
}

func (v *vetter) all(nodes ...ast.Node) {
	for _, n := range nodes {
		v.node(n)
	}
}

// node judges a node and what is below it. The parser puts the middle of 1 < x < 2
// in the tree twice, so nested ones double with each level: visits bounds that.
func (v *vetter) node(n ast.Node) {
	if v.visits++; v.visits > maxNodes {
		if v.visits == maxNodes+1 {
			v.refuse(n, "the expression is too large: chained comparisons (a < b < c) inside one another multiply")
		}
		return
	}
	switch n := n.(type) {
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
	case *ast.IdentifierNode:
		v.identifier(n)
	case *ast.MemberNode:
		v.member(n)
	case *ast.ChainNode:
		v.node(n.Node)
	case *ast.UnaryNode:
		if !slices.Contains(unaries, n.Operator) {
			v.refuse(n, "operator %s is not served in a script", n.Operator)
		}
		v.node(n.Node)
	case *ast.BinaryNode:
		v.binary(n)
	case *ast.ConditionalNode:
		v.all(n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		v.elements(n, n.Nodes)
	case *ast.MapNode:
		v.elements(n, n.Pairs)
	case *ast.PairNode:
		v.all(n.Key, n.Value)
	case *ast.BuiltinNode:
		v.call(n, n.Name, n.Arguments)
	case *ast.CallNode:
		v.call(n, n.Callee.String(), n.Arguments)
	default:
		v.refuse(n, "%s is not served in a script, because its cost has no bound; write it with operators, ?: and lists", describe(n))
	}
}

func describe(n ast.Node) string {
	switch n.(type) {
	case *ast.PredicateNode, *ast.PointerNode:
		return "a closure"
	case *ast.VariableDeclaratorNode:
		return "let"
	case *ast.SequenceNode:
		return "a sequence (;)"
	case *ast.SliceNode:
		return "a slice"
	case *ast.BytesNode:
		return "a bytes literal"
	}
	return "this expression"
}

func (v *vetter) elements(n ast.Node, list []ast.Node) {
	if len(list) > maxElements {
		v.refuse(n, "a list or map has %d elements; at most %d are served", len(list), maxElements)
		return
	}
	v.all(list...)
}

func (v *vetter) binary(n *ast.BinaryNode) {
	switch {
	case n.Operator == "..":
		v.refuse(n, "a range (..) is not served in a script, because its size has no bound; compare with < and > instead")
		return
	case !slices.Contains(binaries, n.Operator):
		v.refuse(n, "operator %s is not served in a script", n.Operator)
	case n.Operator == "matches":
		v.pattern(n)
	case n.Operator == "+":
		if v.adds++; v.adds == maxAdds+1 {
			v.refuse(n, "more than %d + in one script; texts put together could grow without bound", maxAdds)
		}
	case n.Operator == "==" || n.Operator == "!=":
		if v.asksForRow(n.Left, n.Right) || v.asksForRow(n.Right, n.Left) {
			return
		}
	}
	v.all(n.Left, n.Right)
}

// asksForRow recognises `old == nil`, the one use of old as a whole.
func (v *vetter) asksForRow(a, b ast.Node) bool {
	id, ok := a.(*ast.IdentifierNode)
	if !ok {
		return false
	}
	_, isNil := b.(*ast.NilNode)
	s, whole := v.scope.values[id.Value]
	if !isNil || !whole {
		return false
	}
	v.used[s.path] = s
	return true
}

func (v *vetter) pattern(n *ast.BinaryNode) {
	s, ok := n.Right.(*ast.StringNode)
	if !ok {
		v.refuse(n.Right, "the pattern of matches must be written out as a text, so that it is checked before anything runs")
		return
	}
	parsed, err := syntax.Parse(s.Value, syntax.Perl)
	if err != nil {
		v.refuse(s, "the pattern of matches is no RE2 regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	code, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(code.Inst) > maxPattern {
		v.refuse(s, "the pattern of matches is too costly; at most %d steps of a compiled pattern are served, and each {n} repeats its part n times", maxPattern)
	}
}

func (v *vetter) call(n ast.Node, name string, args []ast.Node) {
	arity, ok := functions[name]
	if !ok {
		v.refuse(n, "%s() is not served in a script; %s", name, document.WayOut(name, sortedKeys(functions)))
		return
	}
	if len(args) < arity[0] || len(args) > arity[1] {
		v.refuse(n, "%s() takes %s, not %d", name, arguments(arity), len(args))
		return
	}
	if s, ok := v.scope.values[name+"()"]; ok { // now(), where the run is given its time
		v.used[s.path] = s
	}
	v.calls[n.Location().From] = name
	v.all(args...)
}

func arguments(arity [2]int) string {
	switch {
	case arity[1] == 0:
		return "no arguments"
	case arity[1] == 1:
		return "1 argument"
	case arity[0] == arity[1]:
		return fmt.Sprintf("%d arguments", arity[0])
	}
	return fmt.Sprintf("%d to %d arguments", arity[0], arity[1])
}

func (v *vetter) identifier(n *ast.IdentifierNode) {
	if sp, ok := v.scope.spaces[n.Value]; ok {
		v.refuse(n, "%s as a whole is not served in a script; name a %s, as in %s.%s", n.Value, sp.what, n.Value, sp.names[0])
		return
	}
	if s, ok := v.scope.values[n.Value]; ok {
		v.used[s.path] = s
		return
	}
	v.refuse(n, "unknown name %q; %s", n.Value, document.WayOut(n.Value, v.scope.roots()))
}

// member takes what stands before the dot apart: a member of a space is a name
// that must exist, a member of a value is read when the script runs.
func (v *vetter) member(n *ast.MemberNode) {
	prop, static := n.Property.(*ast.StringNode)
	if !static && !isIndex(n.Property) {
		v.refuse(n.Property, "a member must be written out as a name or a whole number")
		return
	}
	if static {
		if path, ok := v.scope.path(n.Node); ok {
			v.name(path, prop)
			return
		}
	}
	v.node(n.Node)
	if s, ok := v.scope.resolve(n.Node); ok && !s.deep() {
		v.refuse(n.Property, "%s is a %s and has no members", s.path, s.kind)
	}
}

func isIndex(n ast.Node) bool {
	if u, ok := n.(*ast.UnaryNode); ok && u.Operator == "-" {
		n = u.Node
	}
	_, ok := n.(*ast.IntegerNode)
	return ok
}

func (v *vetter) name(path string, prop *ast.StringNode) {
	sp := v.scope.spaces[path]
	s, ok := sp.slot(prop.Value)
	if !ok {
		v.refuse(prop, "%s.%s: no %s is named %q here; %s", path, prop.Value, sp.what, prop.Value, document.WayOut(prop.Value, sp.names))
		return
	}
	v.used[s.path] = s
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
