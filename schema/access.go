package schema

import (
	"strings"

	"github.com/rowcast/rowcast/internal/document"
)

// script reads {language, expression}; nil where the key is absent.
func (l *loader) script(n *document.Node) *Script {
	if n == nil {
		return nil
	}
	return l.expression(n.Map(&l.refusals, scriptShape))
}

// expression reads the two keys of a script out of a mapping. It returns nil
// where there is nothing to compile.
func (l *loader) expression(m document.Map) *Script {
	m.Need("language", "write language: expr").OneOf(&l.refusals, "expr")
	n := m.Need("expression", "write what is to be evaluated")
	text, ok := n.Text(&l.refusals)
	if !ok {
		return nil
	}
	if strings.TrimSpace(text) == "" {
		l.refusals.Add(n.Refusal("expression is empty; write one, or remove the script"))
		return nil
	}
	return &Script{Source: text, Pos: n.At(0), node: n}
}

func (l *loader) access(e *Entity, n *document.Node) {
	m := n.Map(&l.refusals, accessShape)
	e.Actions = l.script(m.Get("actions"))
	e.Read = l.script(m.Get("read"))
}

var ruleActions = []string{"create", "read", "update", "delete", "restore", "purge"}

func (l *loader) rowRules(e *Entity, list *document.Node) {
	names := map[string]bool{}
	for _, item := range list.List(&l.refusals) {
		m := item.Map(&l.refusals, rowRuleShape)
		rule := RowRule{Pos: item.Pos}
		n := m.Need("name", "give the rule a name")
		rule.Name = l.unique(n, names, "row rule")
		rule.Actions = l.words(m.Need("actions", "name the actions that the rule judges"), ruleActions)
		if s := l.expression(m); s != nil {
			rule.Script = *s
		}
		e.RowRules = append(e.RowRules, rule)
	}
}

// unique reads a name that stands once in its list.
func (l *loader) unique(n *document.Node, seen map[string]bool, what string) string {
	name := l.name(n, labelName)
	if name == "" {
		return ""
	}
	if seen[name] {
		l.refusals.Add(n.Refusal("%s %q stands twice in the entity; rename one", what, name))
	}
	seen[name] = true
	return name
}

// words reads a list of words out of the known ones, each once, at least one.
func (l *loader) words(n *document.Node, known []string) []string {
	items := n.List(&l.refusals)
	if n.Kind() == document.Sequence && len(items) == 0 {
		l.refusals.Add(n.Refusal("an empty list; name at least one of %s", strings.Join(known, ", ")))
	}
	var words []string
	for _, item := range items {
		word, ok := item.OneOf(&l.refusals, known...)
		if !ok {
			continue
		}
		for _, w := range words {
			if w == word {
				l.refusals.Add(item.Refusal("%s stands twice in the list; keep one", word))
			}
		}
		words = append(words, word)
	}
	return words
}

// The bounds of filter.limits: a depth that no stack minds, and what a database
// takes in one statement.
const (
	maxFilterDepth = 64
	maxFilterIn    = 10_000
	maxFilterLike  = 50_000
)

// filter reads what the entity may be filtered by, and reports whether that is
// known: nothing in it was refused.
func (l *loader) filter(e *Entity, n *document.Node) bool {
	before := len(l.refusals)
	m := n.Map(&l.refusals, filterShape)
	e.Filter = Filter{MaxDepth: 3, MaxInValues: 100, MaxLikePattern: 200}
	if list := m.Get("fields"); list != nil {
		e.Filter.Fields = l.positions(e, list)
	} else {
		for i, f := range e.Fields {
			if f.Type.Scalar() {
				e.Filter.Fields = append(e.Filter.Fields, i)
			}
		}
	}
	limits := m.Get("limits").Map(&l.refusals, limitsShape)
	l.limit(limits.Get("maxdepth"), maxFilterDepth, &e.Filter.MaxDepth)
	l.limit(limits.Get("maxinvalues"), maxFilterIn, &e.Filter.MaxInValues)
	l.limit(limits.Get("maxlikepatternlength"), maxFilterLike, &e.Filter.MaxLikePattern)
	return len(l.refusals) == before
}

func (l *loader) limit(n *document.Node, most int64, into *int) {
	if i, ok := n.Int(&l.refusals, 1, most); ok {
		*into = int(i)
	}
}
