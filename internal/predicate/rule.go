package predicate

import (
	"errors"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Limits of a rule. Databases bound the depth of an expression; the parser
// recurses by the length of the source.
const (
	maxRuleBytes = 64 << 10
	maxRuleDepth = 64
)

// ruleReader lowers the syntax tree of one rule, and goes on after a refusal so
// that all of them are reported together.
type ruleReader struct {
	entity   *schema.Entity
	script   schema.Script
	refusals document.Refusals
	depth    int
}

// ParseRule reads the row-rule subset of expr: what has one meaning in memory
// and in SQL. A comparison with null is unknown, and so does not pass; only
// the literal nil tests for null. The tree is nil when anything is refused.
func ParseRule(e *schema.Entity, s schema.Script) (*Tree, document.Refusals) {
	r := &ruleReader{entity: e, script: s}
	if len(s.Source) > maxRuleBytes {
		r.refuse(0, "a row rule may be %d bytes long, this one has %d; split it into several rules, which are joined by or", maxRuleBytes, len(s.Source))
		return nil, r.refusals
	}
	parsed, err := parser.Parse(s.Source)
	if err != nil {
		r.refuseSyntax(err)
		return nil, r.refusals
	}
	t := r.condition(parsed.Node)
	if height(t) > highest {
		r.refuse(0, "the row rule nests too many conditions for a database; split it into several rules, which are joined by or")
	}
	if len(r.refusals) > 0 {
		return nil, r.refusals
	}
	return &Tree{root: t}, nil
}

func (r *ruleReader) refuseSyntax(err error) {
	var at *file.Error
	if errors.As(err, &at) {
		r.refuse(at.From, "the row rule cannot be read: %s", at.Message)
		return
	}
	r.refuse(0, "the row rule cannot be read: %v", err)
}

// condition reads a node that is true, false or unknown of a row. It returns a
// term even after a refusal.
func (r *ruleReader) condition(n ast.Node) term {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxRuleDepth {
		if r.depth == maxRuleDepth+1 {
			r.refuse(offsetOf(n), "the row rule nests more than %d conditions; split it into several rules, which are joined by or", maxRuleDepth)
		}
		return refused()
	}
	switch n := n.(type) {
	case *ast.BoolNode:
		return ready(constant(truth(n.Value)))
	case *ast.UnaryNode:
		if n.Operator == "not" || n.Operator == "!" {
			return r.condition(n.Node).not()
		}
	case *ast.BinaryNode:
		return r.binary(n)
	case *ast.ConditionalNode:
		return r.conditional(n)
	case *ast.MemberNode, *ast.IdentifierNode:
		return r.bare(n)
	}
	r.refuse(offsetOf(n), "%s is no condition of a row rule; %s", describe(n), subset)
	return refused()
}

const subset = "a row rule has ==, !=, <, <=, >, >=, in, startsWith, endsWith, contains, and, or, not over row.FIELD, user.id, user.tenant, user.roles, user.claims.NAME and literals"

func refused() term { return ready(constant(False)) }

func offsetOf(n ast.Node) int {
	if c, ok := n.(*ast.ConditionalNode); ok { // its own place is its end
		return offsetOf(c.Cond)
	}
	return n.Location().From
}

func (r *ruleReader) binary(n *ast.BinaryNode) term {
	switch n.Operator {
	case "and", "&&", "or", "||":
		return r.chain(n)
	case "in":
		return r.in(n)
	case "startsWith":
		return r.has("prefix", n)
	case "endsWith":
		return r.has("suffix", n)
	case "contains":
		return r.has("infix", n)
	}
	if op, ok := relations[n.Operator]; ok {
		left, okLeft := r.operand(n.Left)
		right, okRight := r.operand(n.Right)
		if !okLeft || !okRight {
			return refused()
		}
		return r.compare(n, op, left, right)
	}
	way := subset
	if n.Operator == "matches" {
		way = "databases read regular expressions differently; use startsWith, endsWith or contains"
	}
	r.refuse(offsetOf(n), "the operator %s has no exact meaning in SQL; %s", n.Operator, way)
	return refused()
}

var relations = map[string]relation{
	"==": equal, "!=": unequal, "<": less, "<=": lessOrEqual, ">": greater, ">=": greaterOrEqual,
}

// chain reads a and b and c as one junction, so that a long chain is not deep.
func (r *ruleReader) chain(n *ast.BinaryNode) term {
	and := isAnd(n.Operator)
	var parts []ast.Node
	for rest := ast.Node(n); ; {
		b, ok := rest.(*ast.BinaryNode)
		if !ok || !isJunction(b.Operator) || isAnd(b.Operator) != and {
			parts = append(parts, rest)
			break
		}
		parts = append(parts, b.Right)
		rest = b.Left
	}
	terms := make([]term, len(parts))
	for i, part := range parts {
		terms[len(parts)-1-i] = r.condition(part)
	}
	return joined(and, terms)
}

func isAnd(op string) bool      { return op == "and" || op == "&&" }
func isJunction(op string) bool { return isAnd(op) || op == "or" || op == "||" }

// conditional reads c ? a : b, where c asks the caller alone.
func (r *ruleReader) conditional(n *ast.ConditionalNode) term {
	c := &choice{condition: r.condition(n.Cond), yes: r.condition(n.Exp1), no: r.condition(n.Exp2)}
	var fields []int
	c.condition.walk(func(l *leaf) { fields = append(fields, l.fields...) })
	if len(fields) > 0 {
		r.refuse(offsetOf(n.Cond), "the condition before ? may ask the user alone, not the row; write (c and a) or (not c and b)")
		return refused()
	}
	return c
}

// bare reads a field or a claim that is itself the condition.
func (r *ruleReader) bare(n ast.Node) term {
	o, ok := r.operand(n)
	switch {
	case !ok:
		return refused()
	case o.field != nil && o.field.Type == value.Boolean:
		return ready(newCompare(o.field, equal, value.OfBool(true)), o.field)
	case o.part != nil && o.part.name == "claims":
		claim := *o.part
		return asking(func(c *Caller) atom {
			return constant(compareParts(equal, claim.of(c), true))
		})
	}
	r.refuse(offsetOf(n), "%s is not a boolean; compare it with something", o)
	return refused()
}
