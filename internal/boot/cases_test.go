package boot_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/document"
)

// channelCase is a line of the shared cases: a fixture or a case, of which only
// what a boot judges is read.
type channelCase struct {
	ID, Group, Fixture string
	Enums              []json.RawMessage
	Entity             json.RawMessage
	Schema             json.RawMessage // of a case of its own
	Realtime           json.RawMessage // of the boot document
	Expect             struct {
		Boot     string
		Mentions []string
	}
}

func channelCases(t *testing.T) []channelCase {
	t.Helper()
	data, err := os.ReadFile("../../testdata/cases/channel.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var cases []channelCase
	for line := range strings.Lines(string(data)) {
		var whole map[string]json.RawMessage
		var c channelCase
		if err := json.Unmarshal([]byte(line), &whole); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(whole["expect"]), "{") && !strings.Contains(string(whole["expect"]), `"boot"`) {
			delete(whole, "expect") // of streams
		}
		text, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// bootJSON loads a schema and the boot document's realtime; JSON is YAML.
func bootJSON(t *testing.T, schema, realtime json.RawMessage) (*boot.Document, document.Refusals) {
	t.Helper()
	text := valid
	if realtime != nil {
		text = with("realtime: " + string(realtime))
	}
	return load(folder(t, map[string]string{"rowcast.yaml": text, "schema.yaml": string(schema)}), nil)
}

// A boot takes and refuses just what the shared cases say, and the refusal has a
// place and names what is wrong.
func TestBootJudgesAsTheCasesSay(t *testing.T) {
	count := 0
	for _, c := range channelCases(t) {
		if c.Schema == nil {
			continue
		}
		count++
		t.Run(c.ID+" "+c.Group, func(t *testing.T) {
			doc, refusals := bootJSON(t, c.Schema, c.Realtime)
			if c.Expect.Boot != "refused" { // ok, or a case of streams, which begins with a boot
				if doc == nil {
					t.Fatalf("refused: %v", refusals)
				}
				return
			}
			if doc != nil {
				t.Fatal("accepted")
			}
			for _, want := range c.Expect.Mentions {
				if !mentioned(refusals, want) {
					t.Errorf("nothing is said of %s:\n%v", want, refusals)
				}
			}
		})
	}
	if count < 35 {
		t.Errorf("%d cases with a schema; are they written otherwise now?", count)
	}
}

func mentioned(refusals document.Refusals, want string) bool {
	for _, r := range refusals {
		if r.Pos.File != "" && r.Pos.Line > 0 && r.Pos.Col > 0 && strings.Contains(r.Message, want) {
			return true
		}
	}
	return false
}

// The fixtures of the cases are one schema, and a server can serve it.
func TestTheFixturesOfTheCasesAreOneSchema(t *testing.T) {
	var schema struct {
		Enums    []json.RawMessage `json:"enums"`
		Entities []json.RawMessage `json:"entities"`
	}
	for _, c := range channelCases(t) {
		if c.Entity != nil {
			schema.Enums = append(schema.Enums, c.Enums...)
			schema.Entities = append(schema.Entities, c.Entity)
		}
	}
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	doc, refusals := bootJSON(t, text, nil)
	if doc == nil {
		t.Fatal(refusals)
	}
	model := doc.Tenants[0].Model
	if len(model.Entities) < 14 || doc.Realtime != nil {
		t.Fatalf("%d entities, realtime %v", len(model.Entities), doc.Realtime)
	}
	for name, want := range map[string]bool{"book": true, "plain": true, "silent": false, "dark": false, "note.tag": true} {
		e, ok := model.Entity(name)
		if !ok || e.HasChannel(doc.Realtime) != want {
			t.Errorf("%s: channels %t, want %t", name, !want, want)
		}
	}
}

const operationSchema = `entities:
  - name: note
    fields: [{name: id}, {name: seen, type: timestamp}, {name: count, type: int}, {name: title, type: string}]
    operations:
      - {name: markSeen, kind: write, cardinality: one}
`

// An operation that sets nothing is for a handler in Go: it is refused only
// where none is given.
func TestAnOperationNeedsWhatItSetsOrAHandler(t *testing.T) {
	dir := folder(t, map[string]string{"rowcast.yaml": valid, "schema.yaml": operationSchema})
	path := filepath.Join(dir, "rowcast.yaml")
	none := func(string) (string, bool) { return "", false }
	for _, c := range []struct {
		name    string
		handled func(entity, operation string) bool
		refused bool
	}{
		{"no handlers", nil, true},
		{"a handler of another operation", func(entity, operation string) bool { return operation == "archive" }, true},
		{"its handler", func(entity, operation string) bool { return entity == "note" && operation == "markSeen" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			doc, refusals := boot.LoadWith(path, none, c.handled)
			switch {
			case !c.refused && doc == nil:
				t.Error(refusals)
			case c.refused:
				if got := lines(t, dir, refusals); !strings.HasPrefix(got, `schema.yaml:5:9: operation "markSeen" sets nothing, and no handler in Go does its work`) {
					t.Errorf("got %s", got)
				}
			}
		})
	}
}

// What an operation computes is checked against the fields it reads and sets,
// and refused where it stands.
func TestWhatAnOperationComputesIsChecked(t *testing.T) {
	for _, c := range []struct{ set, at, want string }{
		{`seen: {language: expr, expression: now()}, count: {language: expr, expression: (old.count ?? 0) + 1}`, "", ""},
		{`count: {language: expr, expression: old.conut + 1}`, "5:103", `did you mean "count"?`},
		{`count: {language: expr, expression: user.id}`, "5:99", `the result is a text; field "count" of type int takes a whole number`},
		{`seen: {language: expr, expression: nowww()}`, "5:98", `nowww() is not served in a script; did you mean "now"?`},
	} {
		t.Run(c.set, func(t *testing.T) {
			schema := strings.Replace(operationSchema, "cardinality: one", "cardinality: one, set: {"+c.set+"}", 1)
			dir := folder(t, map[string]string{"rowcast.yaml": valid, "schema.yaml": schema})
			_, refusals := load(dir, nil)
			got := lines(t, dir, refusals)
			if c.want == "" && got != "" || c.want != "" && (!strings.HasPrefix(got, "schema.yaml:"+c.at+": ") || !strings.Contains(got, c.want)) {
				t.Errorf("got %s want %s: %s", got, c.at, c.want)
			}
		})
	}
}

// realtime of the boot document holds for every entity that says nothing itself.
func TestRealtimeDefaults(t *testing.T) {
	doc := mustLoad(t, with("realtime: {events: {created: false}}"), nil)
	note := doc.Tenants[0].Model.Entities[0]
	if !note.HasChannel(doc.Realtime) || note.Publishes("created", nil, doc.Realtime) || !note.Publishes("patched", nil, doc.Realtime) {
		t.Errorf("realtime %+v", doc.Realtime)
	}
	if doc := mustLoad(t, valid, nil); doc.Realtime != nil || note.HasChannel(doc.Realtime) {
		t.Errorf("without the key: %+v", doc.Realtime)
	}
}
