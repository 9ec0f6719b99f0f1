package boot

import (
	"strings"
	"testing"
)

func environment(name string) (string, bool) {
	v, ok := map[string]string{"A": "1", "LONG_NAME_2": "two", "EMPTY": "", "NESTED": "${A}"}[name]
	return v, ok
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ text, want, refusal string }{
		{"", "", ""},
		{"plain $A $ $$ }", "plain $A $ $$ }", ""},
		{"${A}", "1", ""},
		{"a${A}b${LONG_NAME_2}c", "a1btwoc", ""},
		{"$${A}", "${A}", ""},
		{"$${A}${A}", "${A}1", ""},
		{"x$${", "x${", ""},
		{"$$${A}", "$${A}", ""},
		{"${NESTED}", "${A}", ""}, // what the environment says is not read again
		{"${B}", "", "the environment has no B"},
		{"${EMPTY}", "", "EMPTY is empty"},
		{"${}", "", "${ does not begin"},
		{"${1A}", "", "${ does not begin"},
		{"${A", "", "${ does not begin"},
		{"${A B}", "", "${ does not begin"},
		{"${A:-x}", "", "${ does not begin"},
	} {
		got, refusal := expand(c.text, environment)
		if got != c.want || !strings.HasPrefix(refusal, c.refusal) || (refusal == "") != (c.refusal == "") {
			t.Errorf("%q: got %q, %q", c.text, got, refusal)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("a${A}b$${A}c")
	f.Fuzz(func(t *testing.T, text string) {
		got, refusal := expand(text, environment)
		if refusal == "" && !strings.Contains(text, "${") && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
