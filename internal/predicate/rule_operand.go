package predicate

import (
	"encoding/json"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// operand is one side of a condition: a field, a part of the caller, a literal
// as decoded JSON, the literal nil, or a list of operands.
type operand struct {
	node    ast.Node
	field   *schema.Field
	part    *part
	literal any
	isNil   bool
	list    []operand
	isList  bool
}

// String returns the operand as a refusal names it.
func (o operand) String() string {
	switch {
	case o.field != nil:
		return "row." + o.field.Name
	case o.part != nil:
		return o.part.String()
	case o.isNil:
		return "nil"
	case o.isList:
		return "a list"
	}
	return o.node.String()
}

// of returns what the operand is for a caller, as decoded JSON; not for a field.
func (o operand) of(c *Caller) any {
	if o.part != nil {
		return o.part.of(c)
	}
	return o.literal
}

// operand reads one side of a condition, or refuses it.
func (r *ruleReader) operand(n ast.Node) (operand, bool) {
	o := operand{node: n}
	switch n := n.(type) {
	case *ast.NilNode:
		o.isNil = true
	case *ast.BoolNode:
		o.literal = n.Value
	case *ast.StringNode:
		o.literal = n.Value
	case *ast.IntegerNode:
		o.literal = json.Number(strconv.Itoa(n.Value))
	case *ast.FloatNode:
		o.literal = json.Number(strconv.FormatFloat(n.Value, 'g', -1, 64))
	case *ast.UnaryNode:
		return r.signed(n)
	case *ast.ArrayNode:
		return r.list(n)
	case *ast.MemberNode:
		return r.member(n)
	case *ast.IdentifierNode:
		r.refuse(offsetOf(n), "%q stands for nothing here; the names are row and user, as in row.FIELD and user.id", n.Value)
		return o, false
	default:
		r.refuse(offsetOf(n), "%s cannot be compared; %s", describe(n), subset)
		return o, false
	}
	return o, true
}

// signed reads a number with a sign; the parser keeps the two apart.
func (r *ruleReader) signed(n *ast.UnaryNode) (operand, bool) {
	if n.Operator == "-" || n.Operator == "+" {
		if o, ok := n.Node.(*ast.IntegerNode); ok && n.Operator == "-" {
			return operand{node: n, literal: json.Number(strconv.Itoa(-o.Value))}, true
		}
		if o, ok := n.Node.(*ast.FloatNode); ok && n.Operator == "-" {
			return operand{node: n, literal: json.Number(strconv.FormatFloat(-o.Value, 'g', -1, 64))}, true
		}
	}
	r.refuse(offsetOf(n), "a condition or a computed value cannot be compared; compare row.FIELD, user.… and literals")
	return operand{}, false
}

func (r *ruleReader) list(n *ast.ArrayNode) (operand, bool) {
	o := operand{node: n, isList: true}
	good := true
	for _, item := range n.Nodes {
		member, ok := r.operand(item)
		switch {
		case !ok:
			good = false
		case member.isNil:
			r.refuse(offsetOf(item), "nil in a list would make every other answer unknown; take it out and add `or … == nil`")
			good = false
		case member.isList:
			r.refuse(offsetOf(item), "a list in a list cannot be compared; write its members side by side")
			good = false
		}
		o.list = append(o.list, member)
	}
	return o, good
}

// member reads row.FIELD, user.PART and user.claims.NAME.
func (r *ruleReader) member(n *ast.MemberNode) (operand, bool) {
	path, ok := pathOf(n)
	switch {
	case !ok:
		r.refuse(offsetOf(n), "only row.FIELD, user.id, user.tenant, user.roles and user.claims.NAME can be asked, without ?. and without an index (what is absent is null already)")
		return operand{}, false
	case path[0] == "row" && len(path) == 2:
		return r.field(n, path[1])
	case path[0] == "row":
		r.refuse(offsetOf(n), "a row rule cannot look inside a field; compare row.%s itself, or give the entity a field of its own for it", path[1])
		return operand{}, false
	case path[0] == "user":
		return r.user(n, path[1:])
	}
	r.refuse(offsetOf(n), "%q stands for nothing here; the names are row and user", path[0])
	return operand{}, false
}

func pathOf(n ast.Node) ([]string, bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return []string{n.Value}, true
	case *ast.MemberNode:
		name, isName := n.Property.(*ast.StringNode)
		above, ok := pathOf(n.Node)
		if !isName || !ok || n.Optional {
			return nil, false
		}
		return append(above, name.Value), true
	}
	return nil, false
}

func (r *ruleReader) field(n ast.Node, name string) (operand, bool) {
	i, ok := r.entity.Field(name)
	if !ok {
		r.refuse(offsetOf(n), "entity %s has no field %q%s", r.entity.Name, name, nearest(r.entity, name))
		return operand{}, false
	}
	return operand{node: n, field: r.entity.Fields[i]}, true
}

func (r *ruleReader) user(n ast.Node, path []string) (operand, bool) {
	switch {
	case len(path) == 1 && (path[0] == "id" || path[0] == "tenant" || path[0] == "roles"):
		return operand{node: n, part: &part{name: path[0]}}, true
	case len(path) == 2 && path[0] == "claims":
		return operand{node: n, part: &part{name: "claims", claim: path[1]}}, true
	case path[0] == "claims":
		r.refuse(offsetOf(n), "name one claim, as in user.claims.team; a row rule cannot look further into it")
	default:
		r.refuse(offsetOf(n), "the user has no %q; there are user.id, user.tenant, user.roles, and user.claims.%s for a claim of that name", path[0], path[0])
	}
	return operand{}, false
}

// describe names a kind of node that a rule may not hold.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BuiltinNode:
		return "the function " + n.Name
	case *ast.CallNode:
		return "a function call"
	case *ast.BinaryNode:
		return "a condition or a computed value (" + n.Operator + ")"
	case *ast.MapNode:
		return "a map"
	case *ast.ArrayNode:
		return "a list"
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BytesNode, *ast.NilNode:
		return "a literal"
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		return "let or a sequence"
	case *ast.ChainNode:
		return "?."
	default:
		return "this"
	}
}

// literalOf reads a literal as a value of the field, which must compare as the
// literal's own type.
func (r *ruleReader) literalOf(f *schema.Field, o operand) (value.Value, bool) {
	text, fits := "", false
	switch x := o.literal.(type) {
	case string:
		text, fits = x, f.Type.Class() == value.Text || family(f) == value.Timestamp
	case bool:
		text, fits = strconv.FormatBool(x), f.Type == value.Boolean
	case json.Number:
		text, fits = x.String(), family(f) == value.Integer || f.Type == value.Double
	}
	if !fits {
		r.refuse(offsetOf(o.node), "row.%s is of type %s, and %s is a %s; compare it with a value of its type", f.Name, typeName(f), o, kindOf(o))
		return value.Value{}, false
	}
	v, err := f.ParseText(text)
	if err != nil {
		r.refuse(offsetOf(o.node), "row.%s %v; %s is no value of it", f.Name, err, o)
	}
	return v, err == nil
}
