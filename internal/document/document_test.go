package document_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/document"
)

var anything = document.Shape{What: "the test", Keys: []string{"a", "b", "c", "events", "operations"}}

func TestParseRefusesByNameAndPlace(t *testing.T) {
	for _, c := range []struct {
		name, src string
		line, col int
		want      string
	}{
		{"key twice", "a: 1\nb: 2\na: 3\n", 3, 1, `key "a" given twice, first in line 1`},
		{"key twice in a flow mapping", "x: {é: 1, b: 2, é: 3}\n", 1, 17, "given twice"},
		{"key twice in another spelling", "a: 1\n'a': 2\n", 2, 1, "given twice"},
		{"anchor", "a: &x 1\n", 1, 4, "anchors"},
		{"alias", "a: *x\n", 1, 4, "aliases"},
		{"merge key", "a:\n  <<: {b: 1}\n", 2, 3, "merge keys"},
		{"tag", "a: !!binary AP8=\n", 1, 4, "tags"},
		{"directive", "%YAML 1.2\n---\na: 1\n", 1, 1, "directives"},
		{"explicit key", "? a\n: 1\n", 1, 1, "explicit keys"},
		{"second document", "a: 1\n---\nb: 2\n", 2, 1, "second document"},
		{"second document after two headers", "---\na: 1\n---\nb: 2\n", 3, 1, "second document"},
		{"empty key", "a: {~: 1}\n", 1, 5, "a key must be a name"},
		{"invalid UTF-8", "a: b\nc: é\xff\n", 2, 5, "not valid UTF-8"},
		{"control character", "a: b\x00\n", 1, 5, "U+0000"},
		{"deep flow", strings.Repeat("[", 10_000), 1, 65, "nested deeper"},
		{"deep block", strings.Repeat("- ", 10_000), 1, 129, "nested deeper"},
		{"deep mappings", deepMappings(100), 65, 66, "nested deeper"},
		{"closing without opening", "a: ]\n", 1, 4, "closing ]"},
		{"unclosed list", "a: [1\n", 1, 4, "opening [ without a closing one"},
		{"comma without a value", "a: [1,,2]\n", 1, 7, "a comma without a value"},
		{"comma first", "a: {, b: 1}\n", 1, 5, "a comma without a value"},
		{"many commas", "a: [" + strings.Repeat(",", 90_000) + "]", 1, 5, "a comma without a value"},
		{"many keys", strings.Repeat("a: 1\n", 30_000), 4001, 2, "more than 4000 keys"},
		{"unclosed quote", "a: 'x\n", 1, 4, "cannot be read as YAML"},
		{"tab as indentation", "a:\n\tb: 1\n", 2, 1, "cannot be read as YAML"},
		{"too large", strings.Repeat("# x\n", 1<<18+1), 1, 1, "split it"},
		{"too many tokens", "a: [" + strings.Repeat("x,", 60_000) + "]", 1, 1, "split it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			root, rs := document.Parse("f.yaml", []byte(c.src))
			if len(rs) == 0 {
				t.Fatalf("Parse accepts it as %v", root)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v to refuse", took)
			}
			want := fmt.Sprintf("f.yaml:%d:%d", c.line, c.col)
			if got := rs[0].Pos.String(); got != want || !strings.Contains(rs[0].Message, c.want) {
				t.Errorf("got  %s\nwant %s: … %s …", rs[0], want, c.want)
			}
		})
	}
}

func deepMappings(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestALongListIsRead(t *testing.T) {
	src := "a:\n" + strings.Repeat("- b: 1\n", 10_000) + "c: 1\n"
	if _, rs := document.Parse("f.yaml", []byte(src)); len(rs) > 0 {
		t.Errorf("refused: %v", rs)
	}
}

func TestAnEmptyFileIsAnEmptyMapping(t *testing.T) {
	for _, src := range []string{"", "\n\n", "# only a comment\n", "---\n", "\uFEFF", "--- # c\n# d\n"} {
		root, rs := document.Parse("f.yaml", []byte(src))
		if len(rs) > 0 || root.Kind() != document.Mapping {
			t.Errorf("%q: kind %v, refusals %v; want an empty mapping", src, root.Kind(), rs)
		}
	}
}

// value parses src and returns the value of its key a.
func value(t *testing.T, src string) *document.Node {
	t.Helper()
	root, rs := document.Parse("f.yaml", []byte(src))
	if len(rs) > 0 {
		t.Fatalf("%q: %v", src, rs)
	}
	var refused document.Refusals
	return root.Map(&refused, document.Shape{What: "the test", Keys: []string{"a"}}).Get("a")
}

func TestScalarsAreReadAsWhatTheyAre(t *testing.T) {
	text := func(n *document.Node, rs *document.Refusals) any { s, _ := n.Text(rs); return s }
	boolean := func(n *document.Node, rs *document.Refusals) any { b, _ := n.Bool(rs); return b }
	whole := func(n *document.Node, rs *document.Refusals) any { i, _ := n.Int(rs, 0, math.MaxInt64); return i }
	span := func(n *document.Node, rs *document.Refusals) any {
		d, _ := n.Duration(rs, time.Second, time.Hour)
		return d
	}
	size := func(n *document.Node, rs *document.Refusals) any { i, _ := n.Size(rs, 1, 1<<30); return i }
	choice := func(n *document.Node, rs *document.Refusals) any { s, _ := n.OneOf(rs, "tenant", "user"); return s }
	for _, c := range []struct {
		src  string
		read func(*document.Node, *document.Refusals) any
		want any
		says string // part of a refusal
	}{
		{"x y", text, "x y", ""},
		{"'12'", text, "12", ""},
		{`"tr\u0075e"`, text, "true", ""},
		{"2026-01-01", text, "2026-01-01", ""},
		{"|\n  one\n   two\n", text, "one\n two\n", ""},
		{">-\n  one\n  two\n", text, "one two", ""},
		{"12", text, "", `put it in quotes: "12"`},
		{"1e3", text, "", "in quotes"},
		{"0x1f", text, "", "in quotes"},
		{"true", text, "", "in quotes"},
		{"~", text, "", "an empty value"},
		{"", text, "", "an empty value"},
		{"[x]", text, "", "a list"},
		{"{x: y}", text, "", "a mapping"},
		{"true", boolean, true, ""},
		{"false", boolean, false, ""},
		{"'true'", boolean, false, "without quotes"},
		{"yes", boolean, false, `found "yes"`},
		{"True", boolean, false, "lower case"},
		{"12", whole, int64(12), ""},
		{"'12'", whole, int64(0), "without quotes"},
		{"012", whole, int64(0), "in digits"},
		{"0x1f", whole, int64(0), "in digits"},
		{"1_000", whole, int64(0), "in digits"},
		{"-1", whole, int64(0), "from 0 up"},
		{"9223372036854775808", whole, int64(0), "whole number"},
		{"1.0", whole, int64(0), "whole number"},
		{"1m30s", span, 90 * time.Second, ""},
		{"10", span, time.Duration(0), "with its unit"},
		{"500ms", span, time.Duration(0), "from 1s to 1h0m0s"},
		{"1MiB", size, int64(1 << 20), ""},
		{"4096", size, int64(4096), ""},
		{"1MB", size, int64(0), "KiB"},
		{"99999999999GiB", size, int64(0), "size"},
		{"user", choice, "user", ""},
		{"usr", choice, "", `did you mean "user"?`},
		{"7", choice, "", "tenant, user"},
	} {
		t.Run(c.src, func(t *testing.T) {
			var rs document.Refusals
			got := c.read(value(t, "a: "+c.src+"\n"), &rs)
			if got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if (c.says != "") != (len(rs) > 0) || !strings.Contains(rs.Error(), c.says) {
				t.Errorf("refusals %q, want %q", rs.Error(), c.says)
			}
		})
	}
}

func TestAnAbsentKeyIsReadAsNothingAndRefusesNothing(t *testing.T) {
	var rs document.Refusals
	var n *document.Node
	m := n.Map(&rs, anything)
	m.Need("a", "add it")
	m.Text("a", "")
	m.Bool("a", false)
	n.List(&rs)
	n.Members(&rs)
	n.Duration(&rs, 0, 0)
	if len(rs) > 0 {
		t.Errorf("refused: %v", rs)
	}
}

func TestUnknownKeysAreRefusedWithTheNearestKnownOne(t *testing.T) {
	root, _ := document.Parse("f.yaml", []byte("a: 1\nevnts: []\nzzzzz: 1\nold: 2\n"))
	var rs document.Refusals
	shape := anything
	shape.Refused = map[string]string{"old": "old went away; use a"}
	root.Map(&rs, shape)
	rs.Sort()
	want := `f.yaml:2:1: unknown key "evnts" in the test; did you mean "events"?
f.yaml:3:1: unknown key "zzzzz" in the test; write one of a, b, c, events, operations
f.yaml:4:1: old went away; use a`
	if got := rs.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEveryCharacterOfAScalarHasItsPlace(t *testing.T) {
	for _, c := range []struct {
		name, src string
		text      string // to find in the scalar
		want      string
	}{
		{"plain", "a: row.x == user.id\n", "user", "1:13"},
		{"first", "a: row.x\n", "row", "1:4"},
		{"after characters of several bytes", "a: é😀 == x\n", "x", "1:10"},
		{"single quotes", "a: 'row.x == ''y'' and z'\n", "z", "1:24"},
		{"double quotes", `a: "\"staff\" in \u0075ser.roles and z"` + "\n", "z", "1:38"},
		{"flow", "{a: 'x == y'}\n", "y", "1:11"},
		{"block, first line", "a: |\n    row.a\n      == 1\n", "a", "2:9"},
		{"block, second line", "a: |\n    row.a\n      == 1\n", "1", "3:10"},
		{"block with an empty line", "a: |\n\n  x\n\n  y\n", "y", "5:3"},
		{"folded", "a: >-\n  one\n  two\n\n  three\n", "three", "5:3"},
		{"plain over lines", "a: one\n  two\n  three\n", "hree", "3:4"},
		{"line after a comment", "# é\na: >\n  one two\n", "two", "3:7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := value(t, c.src)
			at := strings.Index(n.Raw(), c.text)
			if at < 0 {
				t.Fatalf("%q is not in %q", c.text, n.Raw())
			}
			pos := n.At(len([]rune(n.Raw()[:at])))
			if got := fmt.Sprintf("%d:%d", pos.Line, pos.Col); got != c.want {
				t.Errorf("%q of %q stands at %s, want %s", c.text, n.Raw(), got, c.want)
			}
		})
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	const secret = "hunter2hunter2"
	show := func(src string) string {
		root, rs := document.Parse("f.yaml", []byte(src), "secret")
		if root != nil {
			for _, m := range root.Members(&rs) {
				m.Value.Text(&rs)
				m.Value.Int(&rs, 0, 1)
				m.Value.OneOf(&rs, "x")
				for _, inner := range m.Value.Members(&rs) {
					inner.Value.Bool(&rs)
					inner.Value.Duration(&rs, 0, 0)
					for _, item := range inner.Value.List(&rs) {
						item.Size(&rs, 0, 0)
					}
				}
			}
		}
		var b strings.Builder
		if err := rs.Print(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, src := range []string{
		"x: {secret: " + secret + "}\n",
		"x: {secret: " + secret + ", b: 1, b: 2}\n",
		"x: {b: 1, b: 2, secret: " + secret + "}\n",
		"x:\n  secret: [" + secret + "]\n",
		"x:\n  secret: |\n    y\n    " + secret + "\n  b: 1\n  b: 2\n",
		"secret: " + secret + "\ny: [\n",
		"secret: &x " + secret + "\n",
		"secret: '" + secret + "\n",
		"secret:\n  \"a\\\n  " + secret + "\"\n",
	} {
		out := show(src)
		if strings.Contains(out, secret) {
			t.Errorf("%q shows the secret:\n%s", src, out)
		}
		if out == "" {
			t.Errorf("%q is not refused; want a refusal to look at", src)
		}
	}
	if out := show("secret: ${NAME}\n"); !strings.Contains(out, "secret: ${NAME}") {
		t.Errorf("a reference to the environment is hidden:\n%s", out)
	}
}

func TestWithPutsAnotherTextInTheSamePlace(t *testing.T) {
	var rs document.Refusals
	n := value(t, "a: ${N}\n").With("12")
	text, ok := n.Text(&rs)
	number, fine := n.Int(&rs, 0, 100)
	if text != "12" || number != 12 || !ok || !fine {
		t.Errorf("read as %q and %d, refusals %v; want 12 both ways", text, number, rs)
	}
	n.Bool(&rs)
	if got := rs.Error(); !strings.HasPrefix(got, "f.yaml:1:4: ") || strings.Contains(got, "12") {
		t.Errorf("refusal %q; want it at f.yaml:1:4 without the value", got)
	}
}

func TestRefusalsPrintLineAndSnippet(t *testing.T) {
	_, rs := document.Parse("f.yaml", []byte("c: [é, 12]\na: \x1b[31m\n"))
	if len(rs) != 1 || strings.Contains(rs.Error(), "\x1b") {
		t.Errorf("refusals %v for a control character", rs)
	}
	root, rs := document.Parse("f.yaml", []byte("c: [é, 12]\n"))
	if len(rs) > 0 {
		t.Fatal(rs)
	}
	root.Map(&rs, anything).Get("c").Texts(&rs)
	rs.Add(rs[0]) // a repetition is told once
	rs.Sort()
	var b strings.Builder
	if err := rs.Print(&b); err != nil {
		t.Fatal(err)
	}
	want := "f.yaml:1:8: c: expected text, found 12; put it in quotes: \"12\"\n    c: [é, 12]\n           ^\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if document.Refusals(nil).Err() != nil {
		t.Error("no refusals are an error; want nil")
	}
}

func TestALongLineIsShownAroundItsFault(t *testing.T) {
	src := "a: [" + strings.Repeat("x, ", 1000) + "12]\n"
	var rs document.Refusals
	value(t, src).Texts(&rs)
	if len(rs) != 1 {
		t.Fatal(rs)
	}
	shown, caret, _ := strings.Cut(rs[0].Snippet, "\n")
	if len(shown) > 200 || shown[len(caret)-1:len(caret)+1] != "12" {
		t.Errorf("snippet\n%s\nwant the caret below 12", rs[0].Snippet)
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range []string{
		"a: 1\nb: [x, {y: 'z'}]\n", "- |\n  x\n", "a: >-\n  x\n\n  y\n", "&a [*a]", "? x\n: y", "a: \"\\u00e9\"",
		"---\na\n...\n", "{a: b, c}", "[[[[", "a:\n\t- b", "\uFEFFa: 1\r\nb: 2\r\n", "a: 'x\n\n  y'\n",
	} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		root, rs := document.Parse("f.yaml", src)
		if (root == nil) != (len(rs) > 0) {
			t.Fatalf("root %v and refusals %v", root, rs)
		}
		visit(t, root, &rs)
		for _, r := range rs {
			if r.Pos.Line < 1 || r.Pos.Col < 1 || r.Message == "" {
				t.Fatalf("refusal %+v has no place or message", r)
			}
		}
	})
}

func visit(t *testing.T, n *document.Node, rs *document.Refusals) {
	switch n.Kind() {
	case document.Mapping:
		n.Map(rs, anything)
		for _, m := range n.Members(rs) {
			visit(t, m.Key, rs)
			visit(t, m.Value, rs)
		}
	case document.Sequence:
		for _, item := range n.List(rs) {
			visit(t, item, rs)
		}
	case document.Scalar:
		n.Text(rs)
		n.Int(rs, 0, 9)
		for i := range min(len(n.Raw()), 100) + 2 {
			if pos := n.At(i); pos.Line < n.Pos.Line || pos.Col < 1 {
				t.Fatalf("At(%d) of %q at %v is %v", i, n.Raw(), n.Pos, pos)
			}
		}
	case document.Null: // it has nothing to read
	}
}
