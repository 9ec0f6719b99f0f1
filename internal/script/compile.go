package script

import (
	"errors"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// CompileAccess compiles access.actions or access.read: only `user` is in
// scope. what says what the listed names are ("action", "field of order") and
// known which there are: a name that stands written in the result and is not
// one of them is refused. A name that is computed is judged when it runs.
func CompileAccess(s schema.Script, what string, known []string) (*Program, document.Refusals) {
	return compile(s, newScope(), func(v *vetter, root ast.Node) { v.result(root, what, known) })
}

// CompileCondition compiles an event's condition: payload, old, operation,
// user and tenant are in scope.
func CompileCondition(e *schema.Entity, s schema.Script) (*Program, document.Refusals) {
	sc := newScope()
	sc.addRow("payload", e, nil, func(f *frame) []value.Value { return f.payload })
	sc.addRow("old", e, nil, func(f *frame) []value.Value { return f.old })
	sc.value("old", types.Any, func(f *frame) any {
		if f.old == nil {
			return nil
		}
		return true
	})
	sc.value("operation", types.String, func(f *frame) any { return f.operation })
	sc.value("tenant", types.String, func(f *frame) any { return f.tenant })
	return compile(s, sc, nil)
}

// CompileFilter compiles a subscription's filter: payload, event and user are
// in scope. payload may only name fields that keeps allows (include/exclude of
// the publisher); nil allows all.
func CompileFilter(e *schema.Entity, s schema.Script, keeps func(field int) bool) (*Program, document.Refusals) {
	sc := newScope()
	sc.addRow("payload", e, keeps, func(f *frame) []value.Value { return f.payload })
	sc.addEvent()
	return compile(s, sc, nil)
}

// compile parses, vets and compiles a script. further, where given, judges the
// tree beyond what holds for every script.
func compile(s schema.Script, sc *scope, further func(*vetter, ast.Node)) (p *Program, refused document.Refusals) {
	defer func() { // the parser and compiler are not ours; what they cannot take is a refusal
		if r := recover(); r != nil {
			p, refused = nil, document.Refusals{s.Refusal(0, "the expression does not compile: %v", r)}
		}
	}()
	if len(s.Source) > maxSource {
		return nil, document.Refusals{s.Refusal(0, "the expression is longer than %d bytes", maxSource)}
	}
	config := conf.CreateNew()
	config.MaxNodes = maxNodes
	tree, err := parser.ParseWithConfig(s.Source, config)
	if err != nil {
		return nil, refuseError(s, err)
	}
	v := &vetter{script: s, scope: sc, used: map[string]slot{}, calls: map[int]string{}}
	v.node(tree.Node)
	if further != nil {
		further(v, tree.Node)
	}
	if len(v.refusals) > 0 {
		return nil, v.refusals
	}
	return build(v)
}

func build(v *vetter) (*Program, document.Refusals) {
	p := &Program{script: v.script, calls: v.calls}
	for _, path := range sortedKeys(v.used) {
		s := v.used[path]
		p.slots = append(p.slots, s)
		if s.field >= 0 && !slices.Contains(p.fields, s.field) {
			p.fields = append(p.fields, s.field)
		}
	}
	slices.Sort(p.fields)
	// First with the declared types, for what they refuse: 5 < payload.title.
	// Then, to run, with none: any cell may be nil, and code made for a type fails on it.
	typed, loose := types.Map{}, types.Map{}
	for path, s := range v.used {
		typed[path], loose[path] = s.kind, types.Any
	}
	checked, err := v.emit(typed, false)
	if err != nil {
		return nil, refuseError(v.script, err)
	}
	p.kind = checked.Node().Type()
	if p.plain, err = v.emit(loose, false); err != nil {
		return nil, refuseError(v.script, err)
	}
	if len(p.fields) > 0 {
		if p.guarded, err = v.emit(loose, true); err != nil {
			return nil, refuseError(v.script, err)
		}
	}
	return p, nil
}

// emit compiles the script over a flat environment. The optimizer stays off: it
// turns `x in ["", "a"]` into a look-up that finds nil.
func (v *vetter) emit(env types.Map, guard bool) (*vm.Program, error) {
	return expr.Compile(v.script.Source,
		expr.Env(env), expr.MaxNodes(maxNodes), expr.Optimize(false),
		expr.Patch(flattener{scope: v.scope, used: v.used, guard: guard}),
		expr.Function(atHand, func(args ...any) (any, error) {
			if args[0] == unknown {
				return nil, errUnknown
			}
			return args[0], nil
		}, new(func(any) any)))
}

func refuseError(s schema.Script, err error) document.Refusals {
	var fe *file.Error
	if errors.As(err, &fe) {
		return document.Refusals{s.Refusal(fe.From, "%s", fe.Message)}
	}
	return document.Refusals{s.Refusal(0, "the expression does not compile: %v", err)}
}
