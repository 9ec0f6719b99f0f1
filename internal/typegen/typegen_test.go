package typegen

import (
	"flag"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func everything(t *testing.T) *schema.Model {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "schema.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Model(t, string(text))
}

func written(t testing.TB, m *schema.Model, o Options) (ts, golang string) {
	t.Helper()
	text, err := Go(m, o)
	if err != nil {
		t.Fatalf("Go: %v", err)
	}
	return string(TypeScript(m, o)), string(text)
}

func TestTypesAreTheGoldenOnes(t *testing.T) {
	ts, golang := written(t, everything(t), Options{})
	for name, got := range map[string]string{"types.ts": ts, "types.go.txt": golang} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got; -update rewrites it):\n%s", name, diff)
		}
	}
	sound(t, ts, golang)
}

func TestTheSameSchemaGivesTheSameBytes(t *testing.T) {
	ts, golang := written(t, everything(t), Options{})
	for range 20 {
		again, alike := written(t, everything(t), Options{})
		if again != ts || alike != golang {
			t.Fatal("written otherwise the second time")
		}
	}
}

// Without entities that need them there are no imports and no shared types left over.
func TestASmallSchemaStandsForItself(t *testing.T) {
	ts, golang := written(t, schematest.Model(t, "entities: [{name: note, fields: [{name: id, type: int}]}]"), Options{Package: "notes"})
	sound(t, ts, golang)
	if !strings.Contains(golang, "\npackage notes\n") || strings.Contains(golang, "import") || strings.Contains(golang, "Optional") {
		t.Errorf("got\n%s", golang)
	}
}

// Channels are there where the boot document says so and the entity does not say otherwise.
func TestTheBootDocumentTurnsChannelsOn(t *testing.T) {
	const text = "entities: [{name: note, fields: [{name: id}]}, {name: quiet, fields: [{name: id}], realtime: false}]"
	ts, golang := written(t, schematest.Model(t, text), Options{Realtime: &schema.Realtime{}})
	sound(t, ts, golang)
	for _, text := range []string{ts, golang} {
		if !strings.Contains(text, "NoteChannelEvent") || strings.Contains(text, "QuietChannelEvent") {
			t.Errorf("got\n%s", text)
		}
	}
	if strings.Contains(ts, `"restored"`) || !strings.Contains(ts, `event: "deleted" | "left"`) {
		t.Errorf("nothing restores a row that is not kept; got\n%s", ts)
	}
}

// What every caller reads is there for certain, and nothing else is.
func TestOnlyWhatEveryoneReadsIsPromised(t *testing.T) {
	for read, want := range map[string]string{
		`true`:                             "id a b c",
		`["a", "b"]`:                       "id a b",
		`false`:                            "id",
		`nil`:                              "id",
		`user.roles`:                       "id",
		`["a"] ?? nil`:                     "id",
		`"x" in user.roles ? true : ["a"]`: "id a",
		`"x" in user.roles ? ["c", "a"] : "y" in user.roles ? ["a", "b"] : true`: "id a",
		`"x" in user.roles ? ["a"] : ["b"]`:                                      "id",
		`["a", user.id]`:                                                         "id a",
	} {
		e := schematest.Entity(t, `entities: [{name: note, fields: [{name: id}, {name: a, type: int}, {name: b, type: int}, {name: c, type: int}],
  access: {read: {language: expr, expression: '`+read+`'}}}]`)
		var got []string
		for i, reads := range everyReader(e) {
			if reads {
				got = append(got, e.Fields[i].Name)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %q, want %q", read, text, want)
		}
	}
}

// sound checks that both texts are well formed, and that no name is declared
// twice or used without being declared.
func sound(t testing.TB, ts, golang string) {
	t.Helper()
	checkGo(t, golang)
	checkTypeScript(t, ts)
}

// standardLibrary reads encoding/json and time from source, once.
var standardLibrary = sync.OnceValue(func() types.Importer { return importer.ForCompiler(token.NewFileSet(), "source", nil) })

func checkGo(t testing.TB, text string) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "types.go", text, parser.ParseComments)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !ast.IsGenerated(file) {
		t.Error("Go's tools do not know that the file is generated")
	}
	config := types.Config{Importer: standardLibrary()}
	if _, err := config.Check("types", files, []*ast.File{file}, nil); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

var (
	tsComment  = regexp.MustCompile(`//.*|/\*\*.*\*/`)
	tsString   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	tsDeclared = regexp.MustCompile(`(?m)^export (?:interface|type) (\w+)(?:<(.*)>)?(?: =| \{)`)
	tsMember   = regexp.MustCompile(`(?m)(\w+)\??:`)
	tsName     = regexp.MustCompile(`\w+`)
)

// tsWords are what the language itself brings.
const tsWords = " export interface type extends keyof string number bigint boolean null unknown never "

// checkTypeScript is no compiler: it holds the text to the few forms that are
// written, each of which a compiler has seen.
func checkTypeScript(t testing.TB, text string) {
	t.Helper()
	bare := tsComment.ReplaceAllString(tsString.ReplaceAllString(text, `""`), "")
	known := map[string]bool{}
	for _, m := range tsDeclared.FindAllStringSubmatch(bare, -1) {
		if known[m[1]] {
			t.Errorf("%s is declared twice", m[1])
		}
		known[m[1]] = true
		for parameter := range strings.SplitSeq(m[2], ",") {
			known[strings.TrimSuffix(strings.TrimSpace(parameter), " extends string")] = true
		}
	}
	for block := range strings.SplitSeq(bare, "\n}\n") {
		members := map[string]bool{}
		for line := range strings.Lines(block) {
			name := tsMember.FindString(line)
			if strings.HasPrefix(line, "  "+name) && name != "" && members[strings.TrimRight(name, "?:")] {
				t.Errorf("%s stands twice in\n%s", name, block)
			}
			members[strings.TrimRight(name, "?:")] = true
		}
	}
	for _, name := range tsName.FindAllString(tsMember.ReplaceAllString(bare, ""), -1) {
		if !known[name] && !strings.Contains(tsWords, " "+name+" ") {
			t.Errorf("%q is not declared", name)
		}
	}
	for _, pair := range []string{"{}", "[]", "()", "<>"} {
		if open, shut := strings.Count(bare, pair[:1]), strings.Count(bare, pair[1:]); open != shut {
			t.Errorf("%d %q and %d %q", open, pair[:1], shut, pair[1:])
		}
	}
}
