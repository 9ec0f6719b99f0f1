package predicate

import (
	"testing"

	"github.com/rowcast/rowcast/internal/value"
)

func TestConstants(t *testing.T) {
	e := hardEntity(t)
	tests := []struct {
		name, rule string
		caller     Caller
		want       Truth
		constant   bool
	}{
		{"a role held decides", `"staff" in user.roles`, alice, True, true},
		{"a role not held decides", `"staff" in user.roles`, anonymous, False, true},
		{"a role held decides an or", `"staff" in user.roles or row.on`, alice, True, true},
		{"a role not held leaves the rest", `"staff" in user.roles or row.on`, anonymous, Maybe, false},
		{"a comparison with null is unknown", `row.text == user.id`, anonymous, Maybe, true},
		{"unknown and false is false", `row.text == user.id and false`, anonymous, False, true},
		{"unknown and not false is true under not", `not (row.text == user.id and false)`, anonymous, True, true},
		{"unknown and a row's condition never passes", `row.text == user.id and row.on`, anonymous, Maybe, true},
		{"but its negation may", `not (row.text == user.id and row.on)`, anonymous, Maybe, false},
		{"unknown or true is true", `row.text == user.id or true`, anonymous, True, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := mustRule(t, e, test.rule).Bind(test.caller).Constant()
			if ok != test.constant || ok && got != test.want {
				t.Errorf("got %s %v, want %s %v", got, ok, test.want, test.constant)
			}
		})
	}
}

func TestAndAndOr(t *testing.T) {
	e := hardEntity(t)
	row := make([]value.Value, len(e.Fields))
	on := mustRule(t, e, "row.on").Bind(alice)
	unknown := mustRule(t, e, "row.text == user.id").Bind(anonymous)
	tests := []struct {
		name string
		got  *Predicate
		want Truth
	}{
		{"the and of nothing is always", And(), True},
		{"the or of nothing is never", Or(), False},
		{"always", Always(), True},
		{"never", Never(), False},
		{"nil lets nothing through an and", And(nil, Always()), False},
		{"nil lets nothing through an or", Or(nil, Never()), False},
		{"never in an and", And(on, unknown, Never()), False},
		{"always in an or", Or(on, unknown, Always()), True},
		{"unknown in an and", And(unknown, Always()), Maybe},
		{"unknown in an or", Or(unknown, Never()), Maybe},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.got.Eval(row); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Predicates that decide alike share a key; others never do.
func TestKey(t *testing.T) {
	e := hardEntity(t)
	key := func(rule string) string { return mustRule(t, e, rule).Bind(alice).Key() }
	same := [][2]string{
		{`row.n == 1 and row.m == 2`, `row.m == 2 and row.n == 1`},
		{`row.n == 1 and (row.m == 2 and row.on)`, `(row.on and row.n == 1) and row.m == 2`},
		{`row.n in [1, 2]`, `row.n in [2, 1, 2]`},
		{`row.n in [1]`, `row.n == 1`},
		{`row.text == user.id`, `row.text == "alice"`},
		{`not (row.n < 1)`, `row.n >= 1`},
		{`not (row.n < 1 or row.on)`, `row.n >= 1 and not row.on`},
		{`row.n < row.m`, `row.m > row.n`},
		{`row.n == 1 or row.n == 1`, `row.n == 1`},
		{`"staff" in user.roles ? row.on : row.off`, `row.on`},
		{`row.on`, `row.on == true`},
	}
	for _, pair := range same {
		if a, b := key(pair[0]), key(pair[1]); a != b {
			t.Errorf("%s and %s decide alike, keys %s and %s", pair[0], pair[1], a, b)
		}
	}
	different := []string{
		`row.text == "a"`, `row.text != "a"`, `row.other == "a"`, `row.text == "a]"`, `row.text == "a;t1:b"`, `row.text in ["a", "b"]`, `row.text in ["ab", "c"]`,
		`row.text not in ["a", "b"]`, `row.text startsWith "a"`, `row.text endsWith "a"`, `row.text contains "a"`, `row.text == nil`, `row.text != nil`,
		`row.n == 1`, `row.real == 1`, `row.on`, `not row.on`, `row.n == 1 and row.on`, `row.n == 1 or row.on`, `row.text == row.other`, `row.text < row.other`,
		`true`, `false`, `user.claims.nowhere == 1`,
	}
	seen := map[string]string{}
	for _, rule := range different {
		k := key(rule)
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s share the key %s", rule, other, k)
		}
		seen[k] = rule
	}
}

func TestEquality(t *testing.T) {
	e := hardEntity(t)
	tests := []struct {
		rule, field, text string
	}{
		{`row.text == user.id`, "text", "alice"},
		{`row.on and (row.n > 1 and row.text == user.id)`, "text", "alice"},
		{`row.text in [user.id]`, "text", "alice"},
		{`not (row.text != user.id)`, "text", "alice"},
		{`row.text == user.id or row.on`, "", ""},
		{`row.text != user.id`, "", ""},
		{`row.text in ["a", "b"]`, "", ""},
		{`"staff" in user.roles`, "", ""},
	}
	for _, test := range tests {
		field, v, ok := mustRule(t, e, test.rule).Bind(alice).Equality()
		if ok != (test.field != "") || ok && (e.Fields[field].Name != test.field || v.Text() != test.text) {
			t.Errorf("%s: got %d %v %v, want %s %s", test.rule, field, v, ok, test.field, test.text)
		}
	}
}

func TestEvalDoesNotAllocate(t *testing.T) {
	e := hardEntity(t)
	row := make([]value.Value, len(e.Fields))
	row[1] = value.OfText("alice")
	p := mustRule(t, e, `row.text == user.id and row.state != "gone" or row.n in [1, 2, 3]`).Bind(alice)
	if got := testing.AllocsPerRun(100, func() { p.Eval(row) }); got != 0 {
		t.Errorf("Eval allocates %v times, want 0", got)
	}
}

// Nothing a caller sends stands in the text of a statement.
func TestEveryValueIsBound(t *testing.T) {
	e := hardEntity(t)
	hostile := `x' OR '1'='1`
	tree := mustRule(t, e, `row.text == user.id or row.text in user.roles or row.text startsWith user.id`)
	text, args := tree.Bind(Caller{ID: hostile, Roles: []string{hostile, "b"}}).SQL(testDialect{}, []value.Value{value.OfInt(1)})
	want := `("text" = ?2 OR ("text" IN (?3, ?4) OR (substr("text", 1, length(?5)) = ?5)))`
	if text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if len(args) != 5 || args[1].Text() != hostile {
		t.Errorf("got %v bound", args)
	}
}
