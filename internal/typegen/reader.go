package typegen

import (
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"

	"github.com/rowcast/rowcast/schema"
)

// everyReader tells of each field whether whoever reads the entity reads it, as
// far as that can be seen from access.read without a caller. The id always is.
func everyReader(e *schema.Entity) []bool {
	reads := make([]bool, len(e.Fields))
	yielded := yield{all: true}
	if e.Read != nil {
		yielded = yield{}
		if tree, err := parser.Parse(e.Read.Source); err == nil {
			yielded = yieldOf(tree.Node)
		}
	}
	for i, f := range e.Fields {
		reads[i] = i == e.ID || yielded.has(f.Name)
	}
	return reads
}

// yield is what a script grants to every caller.
type yield struct {
	all    bool
	fields map[string]bool
}

func (y yield) has(field string) bool { return y.all || y.fields[field] }

// yieldOf looks at what is written out: lists, true, and both ways of a condition.
// Whatever is computed grants nothing to rely on.
func yieldOf(n ast.Node) yield {
	switch n := n.(type) {
	case *ast.BoolNode:
		return yield{all: n.Value}
	case *ast.ArrayNode:
		listed := yield{fields: map[string]bool{}}
		for _, item := range n.Nodes {
			if name, ok := item.(*ast.StringNode); ok {
				listed.fields[name.Value] = true
			}
		}
		return listed
	case *ast.ConditionalNode:
		return both(yieldOf(n.Exp1), yieldOf(n.Exp2))
	}
	return yield{}
}

func both(a, b yield) yield {
	switch {
	case a.all:
		return b
	case b.all:
		return a
	}
	shared := yield{fields: map[string]bool{}}
	for name := range a.fields {
		if b.fields[name] {
			shared.fields[name] = true
		}
	}
	return shared
}
