package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// world is a random schema of one entity, and what follows from it for each
// reader: an oracle that shares no code with the server.
type world struct {
	channelling
	fields     []field // as declared, traits and built-in fields last
	id         string  // type of id
	rules      []ruling
	soft       bool
	operations []string
	include    []string
	exclude    []string
	reads      map[string][]string // by role; nil: every field
	unmasks    bool                // whether r2 may
	trait      int                 // how many of the declared fields a trait brings
	common     bool
}

type field struct {
	name, kind string
	mask       int // code points kept; -1: none
}

// reader is a principal.
type reader struct {
	sub, role, team string
}

var readers = []reader{{"root", "root", ""}, {"ann", "r1", ""}, {"bob", "r2", "blue"}, {"cy", "", "red"}}

// state is a row as far as rules name it; nil is null.
type state map[string]any

// ruling is a row rule, and when it is true.
type ruling struct {
	expression string
	holds      func(s state, r reader) bool
}

var rulings = []ruling{
	{`row.owner == user.id`, func(s state, r reader) bool { return s["owner"] == r.sub }},
	{`row.owner != user.id`, func(s state, r reader) bool { return s["owner"] != nil && s["owner"] != r.sub }},
	{`row.owner == nil`, func(s state, _ reader) bool { return s["owner"] == nil }},
	{`row.owner startsWith "b"`, func(s state, _ reader) bool { o, _ := s["owner"].(string); return strings.HasPrefix(o, "b") }},
	{`row.team == user.claims.team`, func(s state, r reader) bool { return r.team != "" && s["team"] == r.team }},
	{`row.open`, func(s state, _ reader) bool { return s["open"] == true }},
	{`not row.open`, func(s state, _ reader) bool { return s["open"] == false }},
	{`row.n > 5`, func(s state, _ reader) bool { n, ok := s["n"].(int); return ok && n > 5 }},
	{`row.n in [1, 7] and row.owner != nil`, func(s state, _ reader) bool { return (s["n"] == 1 || s["n"] == 7) && s["owner"] != nil }},
	{`"r1" in user.roles`, func(_ state, r reader) bool { return r.role == "r1" }},
	{`"r2" in user.roles and row.team == nil`, func(s state, r reader) bool { return r.role == "r2" && s["team"] == nil }},
}

var worldGen = rapid.Custom(func(t *rapid.T) *world {
	w := &world{reads: map[string][]string{}}
	w.id = rapid.SampledFrom([]string{"ulid", "uuid", "int", "bigint", "string"}).Draw(t, "id")
	declared := []field{{"owner", "string", -1}, {"team", "string", -1}, {"open", "boolean", -1}, {"n", "int", -1}}
	for i := range rapid.IntRange(2, 8).Draw(t, "fields") {
		declared = append(declared, field{fmt.Sprintf("f%d", i), rapid.SampledFrom(kinds).Draw(t, "kind"), -1})
	}
	declared = rapid.Permutation(declared).Draw(t, "order")
	for i := range declared {
		if rapid.IntRange(0, 3).Draw(t, "masked") == 0 {
			declared[i].mask = rapid.IntRange(0, 4).Draw(t, "keeplast")
			if declared[i].kind != "string" {
				declared[i].mask = 0
			}
		}
	}
	w.trait = rapid.IntRange(0, 3).Draw(t, "fields of the trait")
	at := rapid.IntRange(0, len(declared)-w.trait).Draw(t, "place of id")
	w.fields = slices.Insert(declared, at, field{"id", w.id, -1})
	w.common, w.soft = rapid.Bool().Draw(t, "common"), rapid.Bool().Draw(t, "softdelete")
	if w.common {
		w.fields = append(w.fields, field{"createdby", "system", -1}, field{"createdon", "system", -1}, field{"updatedby", "system", -1}, field{"updatedon", "system", -1})
	}
	if w.soft {
		w.fields = append(w.fields, field{"deletedby", "system", -1}, field{"deletedon", "system", -1})
	}
	w.drawAccess(t)
	w.drawEvents(t)
	w.drawChannels(t)
	return w
})

func (w *world) drawAccess(t *rapid.T) {
	for _, role := range []string{"r1", "r2", ""} {
		if rapid.IntRange(0, 4).Draw(t, "reads all") == 0 {
			continue
		}
		w.reads[role] = w.some(t, "reads")
	}
	w.unmasks = rapid.Bool().Draw(t, "r2 unmasks")
	if rapid.IntRange(0, 4).Draw(t, "no rules") > 0 {
		w.rules = append(rapid.SliceOfNDistinct(rapid.SampledFrom(rulings), 1, 3, func(r ruling) string { return r.expression }).Draw(t, "rules"),
			ruling{`"root" in user.roles`, func(_ state, r reader) bool { return r.role == "root" }})
	}
}

func (w *world) drawEvents(t *rapid.T) {
	w.operations = []string{"create", "update", "delete"}
	if rapid.IntRange(0, 4).Draw(t, "deletes untold") == 0 {
		w.operations = w.operations[:2]
	}
	switch rapid.IntRange(0, 2).Draw(t, "selection") {
	case 0:
		w.include = w.some(t, "include")
	case 1:
		w.exclude = w.some(t, "exclude")
	}
}

// some draws at least one field.
func (w *world) some(t *rapid.T, label string) (names []string) {
	for _, f := range w.fields {
		if rapid.Bool().Draw(t, label+" "+f.name) {
			names = append(names, f.name)
		}
	}
	if names == nil {
		names = []string{"id"}
	}
	return names
}

// schema writes the world down.
func (w *world) schema() string {
	var b strings.Builder
	b.WriteString("enums:\n  - name: colour\n    values: [{value: red}, {value: 'dark blue'}, {value: 'grün 🟢'}]\n")
	declared := slices.DeleteFunc(slices.Clone(w.fields), func(f field) bool { return strings.HasSuffix(f.name, "by") || strings.HasSuffix(f.name, "on") })
	own, inherits := declared, []string{}
	if w.trait > 0 {
		own = declared[:len(declared)-w.trait]
		b.WriteString("traits:\n  - name: borrowed\n    fields:\n")
		for _, f := range declared[len(own):] {
			b.WriteString("      - " + f.declare() + "\n")
		}
		inherits = append(inherits, "borrowed")
	}
	if w.common {
		inherits = append(inherits, "common")
	}
	if w.soft {
		inherits = append(inherits, "softdelete")
	}
	fmt.Fprintf(&b, "entities:\n  - name: thing\n    inherits: [%s]\n    fields:\n", strings.Join(inherits, ", "))
	for _, f := range own {
		b.WriteString("      - " + f.declare() + "\n")
	}
	unmask := ""
	if w.unmasks {
		unmask = `, "unmask"`
	}
	fmt.Fprintf(&b, `    access:
      actions: {language: expr, expression: '"root" in user.roles ? true : "r2" in user.roles ? ["create", "read", "update", "delete"%s] : ["create", "read", "update", "delete"]'}
      read: {language: expr, expression: '"root" in user.roles ? true : "r1" in user.roles ? %s : "r2" in user.roles ? %s : %s'}
`, unmask, list(w.reads["r1"]), list(w.reads["r2"]), list(w.reads[""]))
	if len(w.rules) > 0 {
		b.WriteString("    rowrules:\n")
	}
	for i, r := range w.rules {
		fmt.Fprintf(&b, "      - {name: rule%d, actions: [read], language: expr, expression: '%s'}\n", i, r.expression)
	}
	b.WriteString(w.realtime())
	fmt.Fprintf(&b, "    events:\n      - {name: changed, operations: [%s]", strings.Join(w.operations, ", "))
	if w.include != nil {
		fmt.Fprintf(&b, ", include: [%s]", strings.Join(w.include, ", "))
	}
	if w.exclude != nil {
		fmt.Fprintf(&b, ", exclude: [%s]", strings.Join(w.exclude, ", "))
	}
	b.WriteString("}\n    subscriptions:\n      - {name: rows, rls: true, eventtypes: [" + strings.Join(w.operations, ", ") + "]}\n")
	b.WriteString("  - name: mark # seen by everybody, on the same stream\n    fields: [{name: id, type: string}]\n    events: [{name: made, topic: entity.thing}]\n")
	return b.String()
}

func (f field) declare() string {
	mask := ""
	switch {
	case f.mask >= 0 && f.kind == "string":
		mask = fmt.Sprintf(", mask: {keeplast: %d}", f.mask)
	case f.mask >= 0:
		mask = ", mask: {}"
	}
	return fmt.Sprintf("{name: %s, type: %s%s}", f.name, f.kind, mask)
}

func list(names []string) string {
	if names == nil {
		return "true"
	}
	text, _ := json.Marshal(names)
	return string(text)
}

// sees reports whether the reader may read the row.
func (w *world) sees(r reader, s state) bool {
	if s == nil || s["deleted"] == true {
		return false
	}
	return len(w.rules) == 0 || slices.ContainsFunc(w.rules, func(rule ruling) bool { return rule.holds(s, r) })
}

// reading reports whether the reader reads the field, and whether unmasked.
func (w *world) reading(r reader, f field) (reads, plain bool) {
	names := w.reads[r.role]
	reads = r.role == "root" || names == nil || f.name == "id" || slices.Contains(names, f.name)
	return reads, reads && (f.mask < 0 || r.role == "root" || (r.role == "r2" && w.unmasks))
}

// shown is what the reader is shown of a row of which root is shown this.
func (w *world) shown(r reader, whole []member) []member {
	var out []member
	for i, f := range w.fields {
		reads, plain := w.reading(r, f)
		if !reads {
			continue
		}
		m := whole[i]
		if !plain {
			m.raw = maskOf(f, m.raw)
		}
		out = append(out, m)
	}
	return out
}

// maskOf is what a mask leaves of a value. The code points that are left stand
// as root is shown them, escapes included.
func maskOf(f field, raw string) string {
	if f.kind != "string" || raw == "null" {
		return "null"
	}
	var points []string
	for rest := raw[1 : len(raw)-1]; rest != ""; {
		var n int
		switch {
		case strings.HasPrefix(rest, `\u`):
			n = 6
		case rest[0] == '\\':
			n = 2
		default:
			_, n = utf8.DecodeRuneInString(rest)
		}
		points, rest = append(points, rest[:n]), rest[n:]
	}
	keep := f.mask
	if len(points) <= keep {
		keep = 0
	}
	hidden := len(points) - keep
	return `"` + strings.Repeat("*", hidden) + strings.Join(points[hidden:], "") + `"`
}

// kept is what a frame keeps of what a GET shows.
func (w *world) kept(ms []member) []member {
	return slices.DeleteFunc(slices.Clone(ms), func(m member) bool {
		if w.include != nil {
			return !slices.Contains(w.include, m.name)
		}
		return slices.Contains(w.exclude, m.name)
	})
}
