package predicate

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowcast/rowcast/fault"
)

// deepestJSON is how deep the JSON reader goes; see deepest for the filter's own limit.
const deepestJSON = 10000

// document reads filter={…}: one object, each key once, nothing after it.
func (q *queryReader) document(text string) []term {
	if nesting(text) > deepestJSON {
		q.within(deepestJSON)
		return nil
	}
	raw := jsontext.Value(text)
	if !raw.IsValid() || raw.Kind() != '{' {
		q.fail("filter", fault.InvalidValue, "must be one JSON object, each key given once, or conditions as filter[FIELD][OPERATOR]=VALUE")
		return nil
	}
	terms, size := q.object(raw, 1)
	if size == 0 {
		q.fail("filter", fault.InvalidValue, "must hold a condition; leave filter out to ask for every row")
	}
	return terms
}

// nesting counts how deep brackets nest, without a stack: it is asked before
// anything that recurses.
func nesting(text string) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// jsonMember is a member of an object, or without name an element of an array.
type jsonMember struct {
	name string
	raw  jsontext.Value
}

// members reads an object or an array that is known to be valid.
func members(raw jsontext.Value) []jsonMember {
	var out []jsonMember
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	named := raw.Kind() == '{'
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for {
		m := jsonMember{}
		if named {
			name, err := d.ReadToken()
			if err != nil || name.Kind() != '"' {
				return out
			}
			m.name = name.String()
		}
		value, err := d.ReadValue()
		if err != nil {
			return out
		}
		m.raw = value.Clone()
		out = append(out, m)
	}
}

// object reads the conditions and groups of one object, which are joined by
// and, and says how many members it has.
func (q *queryReader) object(raw jsontext.Value, depth int) (terms []term, size int) {
	inside := members(raw)
	for _, m := range inside {
		switch m.name {
		case "and", "or":
			terms = q.jsonGroup(terms, m, elements(m.raw), depth+1)
		case "not":
			terms = q.jsonGroup(terms, m, []jsonMember{m}, depth+1)
		default:
			terms = append(terms, q.jsonField(m)...)
		}
	}
	return terms, len(inside)
}

// elements returns the elements of an array; nothing for what is none.
func elements(raw jsontext.Value) []jsonMember {
	if raw.Kind() != '[' {
		return nil
	}
	return members(raw)
}

func (q *queryReader) jsonGroup(terms []term, group jsonMember, branches []jsonMember, depth int) []term {
	if len(branches) == 0 {
		q.noGroup(group.name)
		return terms
	}
	joinedBranches := make([]term, 0, len(branches))
	for _, b := range branches {
		if b.raw.Kind() != '{' {
			q.noGroup(group.name)
			continue
		}
		if !q.within(depth) {
			return terms
		}
		inner, size := q.object(b.raw, depth)
		if size == 0 {
			q.noGroup(group.name)
		}
		joinedBranches = append(joinedBranches, joined(true, inner))
	}
	if len(joinedBranches) == 0 {
		return terms
	}
	return append(terms, grouped(group.name, joinedBranches))
}

// jsonField reads {"FIELD": {"OPERATOR": VALUE, …}}.
func (q *queryReader) jsonField(m jsonMember) []term {
	f, ok := q.field(m.name)
	if !ok {
		return nil
	}
	var conditions []jsonMember
	if m.raw.Kind() == '{' {
		conditions = members(m.raw)
	}
	if len(conditions) == 0 {
		q.noOperator(f)
	}
	var terms []term
	for _, c := range conditions {
		op, ok := operatorOf(c.name)
		if !ok {
			q.noOperator(f)
			continue
		}
		sent, ok := texts(op, c.raw)
		if !ok {
			q.fail(f.Name, fault.InvalidValue, "takes %s with a text, a number, true, false or null%s", c.name, listToo(op))
			continue
		}
		if t := q.condition(f, op, sent); t != nil {
			terms = append(terms, t)
		}
	}
	return terms
}

func listToo(op operator) string {
	if op.list {
		return ", or a list of them"
	}
	return ""
}

// texts returns the texts of a scalar, or of a list where the operator takes one.
func texts(op operator, raw jsontext.Value) ([]string, bool) {
	if !op.list || raw.Kind() != '[' {
		text, ok := scalarText(raw)
		return []string{text}, ok
	}
	var out []string
	for _, m := range members(raw) {
		text, ok := scalarText(m.raw)
		if !ok {
			return nil, false
		}
		out = append(out, text)
	}
	return out, true
}

// scalarText returns the text that a JSON scalar is judged as: what stands
// there, so that a number stays exact.
func scalarText(raw jsontext.Value) (string, bool) {
	switch raw.Kind() {
	case '{', '[':
		return "", false
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		return string(text), err == nil
	default:
		return strings.TrimSpace(string(raw)), true
	}
}
