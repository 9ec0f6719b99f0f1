package predicate

import (
	"encoding/json"

	"github.com/expr-lang/expr/ast"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// compare reads a comparison of two operands.
func (r *ruleReader) compare(n ast.Node, op relation, left, right operand) term {
	switch {
	case left.isNil || right.isNil:
		return r.nilCheck(n, op, left, right)
	case !r.single(left) || !r.single(right):
		return refused()
	case left.field != nil && right.field != nil:
		return r.pair(n, op, left.field, right.field)
	case right.field != nil:
		return r.fieldWith(n, op.flip(), right.field, left)
	case left.field != nil:
		return r.fieldWith(n, op, left.field, right)
	}
	if kindOf(left) != kindOf(right) && kindOf(left) != "" && kindOf(right) != "" {
		r.refuse(offsetOf(n), "%s is a %s and %s is a %s, which are never equal", left, kindOf(left), right, kindOf(right))
		return refused()
	}
	return asking(func(c *Caller) atom { return constant(compareParts(op, left.of(c), right.of(c))) })
}

// kindOf is what the operand holds for every caller, or "" for a claim.
func kindOf(o operand) string {
	if o.part != nil {
		if o.part.textual() {
			return "text"
		}
		return ""
	}
	switch o.literal.(type) {
	case string:
		return "text"
	case json.Number:
		return "number"
	default:
		return "boolean"
	}
}

// single refuses what is a list or holds no scalar.
func (r *ruleReader) single(o operand) bool {
	switch {
	case o.isList || o.part != nil && o.part.name == "roles":
		r.refuse(offsetOf(o.node), "%s is a list and cannot be compared; write x in the list", o)
	case o.field != nil && !o.field.Type.Scalar():
		r.refuse(offsetOf(o.node), "row.%s holds %s values, which have no order and no equality in SQL; only == nil and != nil ask for it", o.field.Name, o.field.Type)
	default:
		return true
	}
	return false
}

func (r *ruleReader) nilCheck(n ast.Node, op relation, left, right operand) term {
	o := left
	if left.isNil {
		o = right
	}
	switch {
	case op != equal && op != unequal:
		r.refuse(offsetOf(n), "nil has no order; only == nil and != nil test for it")
		return refused()
	case o.isList || o.part != nil && o.part.name == "roles":
		r.refuse(offsetOf(n), "%s is never nil", o)
		return refused()
	case o.field != nil:
		return ready(&null{field: o.field, negated: op == unequal}, o.field)
	case o.part != nil:
		return asking(func(c *Caller) atom { return constant(truth((o.part.of(c) == nil) == (op == equal))) })
	}
	return ready(constant(truth(o.isNil == (op == equal))))
}

// pair reads a comparison of two fields, which must be stored alike.
func (r *ruleReader) pair(n ast.Node, op relation, left, right *schema.Field) term {
	a, b := family(left), family(right)
	enums := left.Type == value.Enum && right.Type == value.Enum && left.Enum != right.Enum
	if a != b || enums {
		r.refuse(offsetOf(n), "row.%s (%s) and row.%s (%s) are of different types and cannot be compared", left.Name, typeName(left), right.Name, typeName(right))
		return refused()
	}
	if !r.ordered(n, op, left) {
		return refused()
	}
	return ready(&pair{left: left, right: right, op: op}, left, right)
}

func typeName(f *schema.Field) string {
	if f.Type == value.Enum && f.Enum != nil {
		return f.Enum.Name
	}
	return f.Type.String()
}

// family groups the types that are stored and ordered alike.
func family(f *schema.Field) value.Type {
	switch f.Type {
	case value.ULID, value.UUID, value.Enum:
		return value.String
	case value.BigInt:
		return value.Integer
	case value.DateTime:
		return value.Timestamp
	default:
		return f.Type
	}
}

func (r *ruleReader) ordered(n ast.Node, op relation, f *schema.Field) bool {
	if f.Type == value.Boolean && op != equal && op != unequal {
		r.refuse(offsetOf(n), "row.%s is a boolean and has no order; use == or !=", f.Name)
		return false
	}
	return true
}

// fieldWith reads a comparison of a field with a literal or a part of the caller.
func (r *ruleReader) fieldWith(n ast.Node, op relation, f *schema.Field, other operand) term {
	if !r.ordered(n, op, f) {
		return refused()
	}
	if other.part == nil {
		v, ok := r.literalOf(f, other)
		if !ok {
			return refused()
		}
		return ready(newCompare(f, op, v), f).asEquality(op == equal)
	}
	if !r.couldBe(f, other) {
		return refused()
	}
	asked := *other.part
	return asking(func(c *Caller) atom { return newCompare(f, op, cellOf(f, asked.of(c))) }, f).asEquality(op == equal)
}

// couldBe refuses a comparison that would be unknown for every caller.
func (r *ruleReader) couldBe(f *schema.Field, o operand) bool {
	if kindOf(o) == "text" && f.Type.Class() != value.Text {
		r.refuse(offsetOf(o.node), "row.%s is of type %s and %s is text, which are never equal", f.Name, f.Type, o)
		return false
	}
	return true
}

// in reads x in list.
func (r *ruleReader) in(n *ast.BinaryNode) term {
	left, okLeft := r.operand(n.Left)
	right, okRight := r.operand(n.Right)
	switch {
	case !okLeft || !okRight:
		return refused()
	case left.isNil:
		r.refuse(offsetOf(n.Left), "nil is in no list; only == nil and != nil test for it")
		return refused()
	case !r.single(left):
		return refused()
	case right.isList:
		return r.inLiteral(n, left, right.list)
	case right.part != nil && !right.part.textual():
		return r.inPart(left, *right.part)
	}
	r.refuse(offsetOf(n.Right), "%s is no list; in takes a list such as [\"a\", \"b\"], user.roles, or a claim that is a list", right)
	return refused()
}

// inLiteral reads x in [a, b]: the values as one list, anything else as a
// comparison of its own, which is what in means.
func (r *ruleReader) inLiteral(n ast.Node, left operand, list []operand) term {
	var values []value.Value
	var terms []term
	for _, o := range list {
		if left.field == nil || o.part != nil || o.field != nil {
			terms = append(terms, r.compare(n, equal, left, o))
		} else if v, ok := r.literalOf(left.field, o); ok {
			values = append(values, v)
		}
	}
	if len(values) > 0 {
		terms = append(terms, ready(newMember(left.field, values), left.field).asEquality(true))
	}
	if len(terms) == 0 {
		r.refuse(offsetOf(n), "nothing is in an empty list; write false, or name the members")
		return refused()
	}
	return joined(false, terms)
}

// inPart reads x in user.roles and x in user.claims.NAME.
func (r *ruleReader) inPart(left operand, list part) term {
	if left.field == nil {
		return asking(func(c *Caller) atom { return constant(listHolds(c, list, left.of(c))) })
	}
	f := left.field
	if list.name == "roles" && f.Type.Class() != value.Text {
		r.refuse(offsetOf(left.node), "row.%s is of type %s and user.roles holds texts", f.Name, f.Type)
		return refused()
	}
	return asking(func(c *Caller) atom {
		items, ok := list.list(c)
		if !ok {
			return constant(Maybe)
		}
		cells := make([]value.Value, len(items))
		for i, item := range items {
			cells[i] = cellOf(f, item)
		}
		return newMember(f, cells)
	}, f).asEquality(true)
}

// listHolds is in, as SQL means it, over decoded JSON.
func listHolds(c *Caller, list part, x any) Truth {
	items, ok := list.list(c)
	if !ok {
		return Maybe
	}
	t := False
	for _, item := range items {
		t = max(t, compareParts(equal, x, item))
	}
	return t
}

// has reads startsWith, endsWith and contains.
func (r *ruleReader) has(kind string, n *ast.BinaryNode) term {
	left, okLeft := r.operand(n.Left)
	right, okRight := r.operand(n.Right)
	if !okLeft || !okRight || !r.textual(n.Operator, left) || !r.textual(n.Operator, right) {
		return refused()
	}
	if right.field != nil {
		r.refuse(offsetOf(n.Right), "the text to look for must come from a literal or the user, not from the row")
		return refused()
	}
	if left.field == nil {
		return asking(func(c *Caller) atom {
			text, okText := left.of(c).(string)
			part, okPart := right.of(c).(string)
			if !okText || !okPart {
				return constant(Maybe)
			}
			return constant(truth(holds(kind, text, part)))
		})
	}
	f := left.field
	return asking(func(c *Caller) atom {
		text, ok := right.of(c).(string)
		if _, err := value.ParseText(value.String, text); !ok || err != nil {
			return constant(Maybe)
		}
		return &has{field: f, kind: kind, text: text}
	}, f)
}

// textual refuses an operand that is never a text.
func (r *ruleReader) textual(operator string, o operand) bool {
	switch {
	case o.isNil, o.isList, o.part != nil && o.part.name == "roles":
	case o.field != nil && family(o.field) == value.String:
		return true
	case o.field == nil && (kindOf(o) == "" || kindOf(o) == "text"):
		return true
	}
	way := ""
	if operator == "contains" {
		way = "; to look in a list write x in the list"
	}
	r.refuse(offsetOf(o.node), "%s takes texts and %s is none%s", operator, o, way)
	return false
}
