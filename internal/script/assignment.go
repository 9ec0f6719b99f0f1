package script

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/types"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Operation is what an assignment may look at.
type Operation struct {
	Row    []value.Value // before the operation
	User   User
	Tenant string
	Now    time.Time // what now() is, in every assignment of one write
}

// clock is the name of now() where a run is given its time. No script can write it.
const clock = "now()"

// CompileAssignment compiles what an operation sets a field to. payload and old,
// both the row before the operation, user and tenant are in scope, and now() is
// the time of the write. A result that is seen to be no value of the field is
// refused; one that shows when it runs is an error of RunAssignment.
func CompileAssignment(e *schema.Entity, field int, s schema.Script) (*Program, document.Refusals) {
	sc := newScope()
	before := func(f *frame) []value.Value { return f.payload }
	sc.addRow("payload", e, nil, before)
	sc.addRow("old", e, nil, before)
	sc.value("tenant", types.String, func(f *frame) any { return f.tenant })
	sc.value(clock, types.TypeOf(time.Time{}), func(f *frame) any { return f.now })
	into := e.Fields[field]
	p, refused := compile(s, sc, func(v *vetter, root ast.Node) { v.assigned(root, into) })
	if len(refused) > 0 {
		return nil, refused
	}
	if !fits(into.Type, p.kind) {
		return nil, document.Refusals{s.Refusal(0, "the result is %s; field %q of type %s takes %s", naming(p.kind), into.Name, into.Type, wanted(into.Type))}
	}
	p.into = into
	return p, nil
}

// RunAssignment returns the value of the field. The error says where and why
// there is none, and holds no value of the row.
func (p *Program) RunAssignment(o Operation) (value.Value, error) {
	out, err := p.run(frame{payload: o.Row, user: o.User, tenant: o.Tenant, now: o.Now.UTC()})
	if err != nil {
		return value.Value{}, err
	}
	v, err := convert(p.into, out)
	if err != nil {
		return value.Value{}, fmt.Errorf("%s: the value of field %s %w", p.script.Pos, p.into.Name, err)
	}
	return v, nil
}

// assigned judges what an assignment yields where it stands written out.
func (v *vetter) assigned(n ast.Node, f *schema.Field) {
	switch n := n.(type) {
	case *ast.ConditionalNode:
		v.assigned(n.Exp1, f)
		v.assigned(n.Exp2, f)
	case *ast.BinaryNode:
		if n.Operator == "??" { // the left side counts only where it is not nil
			v.assigned(n.Right, f)
		}
	case *ast.NilNode:
		if f.Required {
			v.refuse(n, "field %q is required and cannot be nil", f.Name)
		}
	case *ast.StringNode:
		v.constant(n, f, n.Value)
	case *ast.IntegerNode:
		v.constant(n, f, n.Value)
	case *ast.FloatNode:
		v.constant(n, f, n.Value)
	case *ast.BoolNode:
		v.constant(n, f, n.Value)
	}
}

func (v *vetter) constant(n ast.Node, f *schema.Field, x any) {
	var refused *value.ParseError
	if _, err := convert(f, x); errors.As(err, &refused) {
		v.refuse(n, "a value of field %q %s", f.Name, refused.Detail)
	}
}

// fits reports whether a result of that static type can be a value of the
// field's; one that is not known before it runs can.
func fits(t value.Type, kind reflect.Type) bool {
	if kind == nil || kind.Kind() == reflect.Interface {
		return true
	}
	isTime := kind == reflect.TypeFor[time.Time]()
	switch t {
	case value.Integer, value.BigInt:
		return kind.Kind() == reflect.Int
	case value.Double:
		return kind.Kind() == reflect.Int || kind.Kind() == reflect.Float64
	case value.Boolean:
		return kind.Kind() == reflect.Bool
	case value.DateTime, value.Timestamp:
		return isTime || kind.Kind() == reflect.String
	case value.Object:
		return kind.Kind() == reflect.Map
	case value.Array:
		return kind.Kind() == reflect.Slice
	default:
		return kind.Kind() == reflect.String
	}
}

// wanted says what a script yields for a field of the type.
func wanted(t value.Type) string {
	switch t {
	case value.Integer, value.BigInt:
		return "a whole number, as of int()"
	case value.Double:
		return "a number"
	case value.Boolean:
		return "true or false"
	case value.DateTime, value.Timestamp:
		return "a time, as of now() or date()"
	case value.Object:
		return "a map"
	case value.Array:
		return "a list"
	default:
		return "a text"
	}
}

func naming(kind reflect.Type) string {
	switch {
	case kind == reflect.TypeFor[time.Time]():
		return "a time"
	case kind == reflect.TypeFor[time.Duration]():
		return "a duration"
	}
	switch kind.Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number with a fraction"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Map:
		return "a map"
	case reflect.Slice, reflect.Array:
		return "a list"
	default:
		return "of type " + kind.String()
	}
}
