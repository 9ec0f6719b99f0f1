package predicate

import (
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/schema"
)

// branch is the conditions and groups that one bracket path leads to. They are
// joined by and.
type branch struct {
	conditions []*sentCondition
	groups     []*bracketGroup
}

// sentCondition gathers what was sent for one operator of one field.
type sentCondition struct {
	field    *schema.Field
	operator operator
	texts    []string
	members  bool // sent one by one, as [in][]=
}

// bracketGroup is filter[and], filter[or] or filter[not]. The names of its
// branches only tell them apart; not has one branch.
type bracketGroup struct {
	kind     string
	names    []string
	branches []*branch
}

// brackets splits [a][b][] into its parts.
func brackets(s string) ([]string, bool) {
	var path []string
	for s != "" {
		end := strings.IndexByte(s, ']')
		if s[0] != '[' || end < 0 || strings.IndexByte(s[1:end], '[') >= 0 {
			return nil, false
		}
		path = append(path, s[1:end])
		s = s[end+1:]
	}
	// filter[] alone is the name of the JSON form with brackets, not a field.
	return path, len(path) > 1 || len(path) == 1 && path[0] != ""
}

// place follows a path from the root and notes its condition there.
func (q *queryReader) place(at *branch, path []string, text string) {
	for depth := 2; ; depth++ {
		kind, taken := path[0], 2
		switch kind {
		case "not":
			taken = 1
		case "and", "or":
		default:
			q.note(at, path, text)
			return
		}
		if len(path) <= taken {
			q.noGroup(kind)
			return
		}
		if !q.within(depth) {
			return
		}
		at = at.group(kind).branch(strings.Join(path[1:taken], ""))
		path = path[taken:]
	}
}

func (b *branch) group(kind string) *bracketGroup {
	for _, g := range b.groups {
		if g.kind == kind {
			return g
		}
	}
	g := &bracketGroup{kind: kind}
	b.groups = append(b.groups, g)
	return g
}

func (g *bracketGroup) branch(name string) *branch {
	for i, n := range g.names {
		if n == name {
			return g.branches[i]
		}
	}
	b := &branch{}
	g.names = append(g.names, name)
	g.branches = append(g.branches, b)
	return b
}

// note reads [FIELD][OPERATOR], and [] after an operator that takes a list.
func (q *queryReader) note(at *branch, path []string, text string) {
	f, ok := q.field(path[0])
	if !ok {
		return
	}
	if len(path) == 1 {
		q.noOperator(f)
		return
	}
	op, ok := operatorOf(path[1])
	if !ok {
		q.noOperator(f)
		return
	}
	members := op.list && len(path) == 3 && path[2] == ""
	if len(path) > 2 && !members {
		q.fail(f.Name, fault.InvalidValue, "takes nothing in brackets after %s", path[1])
		return
	}
	c := at.condition(f, path[1])
	switch {
	case c == nil:
		at.conditions = append(at.conditions, &sentCondition{field: f, operator: op, texts: split(op, members, text), members: members})
	case members && c.members:
		c.texts = append(c.texts, text)
	default:
		q.fail(f.Name, fault.InvalidValue, "takes %s once", path[1])
	}
}

func (b *branch) condition(f *schema.Field, operator string) *sentCondition {
	for _, c := range b.conditions {
		if c.field == f && c.operator.name == operator {
			return c
		}
	}
	return nil
}

// split cuts a comma-separated list. Nothing is trimmed, and an empty text is
// the empty list.
func split(op operator, members bool, text string) []string {
	switch {
	case !op.list || members:
		return []string{text}
	case text == "":
		return nil
	default:
		return strings.Split(text, ",")
	}
}

func (q *queryReader) noOperator(f *schema.Field) {
	q.fail(f.Name, fault.InvalidOperator, "takes one of the operators %s", operatorNames)
}

// branch reads the conditions of a branch, outer ones first. It nests no deeper
// than place allowed.
func (q *queryReader) branch(b *branch) []term {
	var terms []term
	for _, c := range b.conditions {
		if t := q.condition(c.field, c.operator, c.texts); t != nil {
			terms = append(terms, t)
		}
	}
	for _, g := range b.groups {
		branches := make([]term, len(g.branches))
		for i, inner := range g.branches {
			branches[i] = joined(true, q.branch(inner))
		}
		terms = append(terms, grouped(g.kind, branches))
	}
	return terms
}

// grouped joins the branches of a group; not has one.
func grouped(kind string, branches []term) term {
	if kind == "not" {
		return branches[0].not()
	}
	return joined(kind == "and", branches)
}
