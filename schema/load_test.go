package schema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

const shop = `
enums:
  - name: order_status
    values: [{value: draft}, {value: open}, {value: paid}]
traits:
  - name: priced
    fields: [{name: price, type: int}]
entities:
  - name: order
    table: orders
    inherits: [priced, common, softdelete]
    fields:
      - {name: id}
      - {name: title, type: string, validations: [{type: required}, {type: maxlength, value: 80, message: too long}]}
      - {name: status, type: order_status, defaultvalue: draft, validations: [{type: oneof, value: [draft, open]}]}
      - {name: owner_id, type: string, defaultvalue: user.id, validations: [{type: final}, {type: unique}]}
      - {name: total, type: double, defaultvalue: 1.5, validations: [{type: min, value: 0}, {type: max, value: 1e6}]}
      - {name: card, type: string, mask: {keeplast: 2}}
      - {name: secret, type: bytes, mask: {}}
      - {name: paid_at, type: timestamp, defaultvalue: now()}
      - {name: meta, type: object, defaultvalue: {b: [1, "x", true, null], a: {}}}
    indexes: [[owner_id, status], [total]]
    access:
      actions: {language: expr, expression: '["read"]'}
      read: {language: expr, expression: "true"}
    rowrules:
      - {name: own, actions: [read, update], language: expr, expression: row.owner_id == user.id}
    filter: {fields: [status, meta], limits: {maxdepth: 2}}
    events:
      - {name: changed, operations: [create, update], exclude: [secret, price], condition: {language: expr, expression: payload.status != "draft"}}
      - {name: all, topic: audit.orders, include: [id], bulk: false, format: json}
    subscriptions:
      - {name: mine, rls: true, eventtypes: [create], scope: user, transports: sse}
      - {name: audit, rls: true, source: audit.orders, transports: [sse], filter: {language: expr, expression: payload.id != ""}}
  - name: note
    fields: [{name: id, type: bigint}, {name: text, type: string}]
    events: [{topic: audit.orders}]
`

func parse(t *testing.T, text string) *schema.Model {
	t.Helper()
	model, rs := schema.Parse([]schema.Source{{Name: "shop.yaml", Data: []byte(text)}})
	if len(rs) > 0 {
		t.Fatalf("refused:\n%v", rs)
	}
	return model
}

func TestAWholeEntityIsRead(t *testing.T) {
	m := parse(t, shop)
	e, ok := m.Entity("order")
	if !ok || e.Table != "orders" || e.Datastore != "main" || !e.Common || !e.SoftDelete || e.ID != 0 {
		t.Fatalf("entity %+v", e)
	}
	want := []string{
		"id", "title", "status", "owner_id", "total", "card", "secret", "paid_at", "meta", "price",
		"createdby", "createdon", "updatedby", "updatedon", "deletedby", "deletedon",
	}
	if diff := cmp.Diff(want, e.Names()); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	for i, f := range e.Fields {
		if at, ok := e.Field(f.Name); !ok || at != i || f.Index != i || f.System != (i >= 10) {
			t.Errorf("field %s at %d: index %d, system %v", f.Name, i, f.Index, f.System)
		}
	}
	field := func(name string) *schema.Field { i, _ := e.Field(name); return e.Fields[i] }
	if f := field("id"); f.Type != value.ULID || !f.Required || f.Default.Kind != schema.DefaultULID {
		t.Errorf("id %+v; want a required, generated ulid", f)
	}
	if f := field("title"); !f.Required || f.Validations[1].Length != 80 || f.Validations[1].Message != "too long" {
		t.Errorf("title %+v", f)
	}
	if f := field("status"); f.Enum.Name != "order_status" || f.Default.Value != value.OfText("draft") {
		t.Errorf("status %+v", f)
	}
	if f := field("owner_id"); !f.Final || !f.Unique || f.Default.Kind != schema.DefaultUserID {
		t.Errorf("owner_id %+v", f)
	}
	if f := field("total"); f.Validations[1].Value != value.OfFloat(1e6) || f.Default.Value != value.OfFloat(1.5) {
		t.Errorf("total %+v", f)
	}
	if field("card").Mask.KeepLast != 2 || field("secret").Mask.KeepLast != 0 || field("title").Mask != nil {
		t.Error("masks are not as declared")
	}
	if got := field("meta").Default.Value.Text(); got != `{"b":[1,"x",true,null],"a":{}}` {
		t.Errorf("default of meta %s", got)
	}
	if diff := cmp.Diff([][]int{{3, 2}, {4}}, e.Indexes); diff != "" {
		t.Errorf("indexes (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(schema.Filter{Fields: []int{2, 8}, MaxDepth: 2, MaxInValues: 100, MaxLikePattern: 200}, e.Filter); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
}

func TestEventsAndSubscriptionsAreRead(t *testing.T) {
	m := parse(t, shop)
	e, _ := m.Entity("order")
	changed, all := e.Events[0], e.Events[1]
	if changed.Topic != "entity.order" || changed.Operations.String() != "create,update" || !changed.Bulk {
		t.Errorf("event %+v", changed)
	}
	if i, _ := e.Field("price"); changed.Keeps(i) || all.Keeps(i) || !all.Keeps(e.ID) {
		t.Error("include and exclude do not select")
	}
	if all.Bulk || all.Operations != schema.AllOps {
		t.Errorf("event %+v", all)
	}
	mine, _ := e.Subscription("mine")
	if !mine.RLS || !mine.ScopeUser || mine.Source != "entity.order" || mine.Operations != schema.OpSet(schema.Create) {
		t.Errorf("subscription %+v", mine)
	}
	audit, _ := e.Subscription("audit")
	var from []string
	for _, p := range m.Source(e, audit) {
		from = append(from, p.Entity.Name+"/"+p.Publisher.Name)
	}
	if diff := cmp.Diff([]string{"order/all", "note/audit.orders"}, from); diff != "" {
		t.Errorf("publishers of audit.orders (-want +got):\n%s", diff)
	}
	if len(m.Topics()) != 2 {
		t.Errorf("%d topics, want 2", len(m.Topics()))
	}
}

func TestAFilterWithoutFieldsTakesAllScalars(t *testing.T) {
	e, _ := parse(t, "entities: [{name: a, fields: [{name: id}, {name: o, type: object}, {name: b, type: bytes}, {name: s, type: string}]}]").Entity("a")
	if diff := cmp.Diff([]int{0, 3}, e.Filter.Fields); diff != "" {
		t.Errorf("filter fields (-want +got):\n%s", diff)
	}
}

func TestCellsKnowTheMembersOfTheirEnum(t *testing.T) {
	e, _ := parse(t, shop).Entity("order")
	i, _ := e.Field("status")
	f := e.Fields[i]
	if v, err := f.DecodeJSON([]byte(`"open"`)); err != nil || v != value.OfText("open") {
		t.Errorf("DecodeJSON: %v, %v", v, err)
	}
	if v, err := f.DecodeJSON([]byte(`null`)); err != nil || !v.IsNull() {
		t.Errorf("DecodeJSON of null: %v, %v", v, err)
	}
	for _, err := range []error{
		func() error { _, err := f.DecodeJSON([]byte(`"Open"`)); return err }(),
		func() error { _, err := f.ParseText("opened"); return err }(),
	} {
		if err == nil || err.Error() != "must be one of draft, open, paid" {
			t.Errorf("error %v", err)
		}
	}
	if v, err := e.ParseID("01M2P1R18HT8575N8GVM2H5WPN"); err != nil || v.Text() != "01M2P1R18HT8575N8GVM2H5WPN" {
		t.Errorf("ParseID: %v, %v", v, err)
	}
	if _, err := e.ParseID("x"); err == nil {
		t.Error("ParseID takes x for a ULID")
	}
	if _, err := parseID(t, "string", ""); err == nil {
		t.Error("ParseID takes an empty text")
	}
}

func parseID(t *testing.T, typ, text string) (value.Value, error) {
	e, _ := parse(t, "entities: [{name: a, fields: [{name: id, type: "+typ+"}]}]").Entity("a")
	return e.ParseID(text)
}

func TestScriptsKnowThePlaceOfEveryCharacter(t *testing.T) {
	const text = "entities:\n- name: a\n  fields: [{name: id}]\n" +
		"  access:\n    actions: {language: expr, expression: '[\"é\", oops]'}\n" +
		"    read:\n      language: expr\n      expression: |\n        true\n          or oops\n"
	e, _ := parse(t, text).Entity("a")
	for _, c := range []struct {
		script *schema.Script
		pos    string
		oops   string
	}{
		{e.Actions, "shop.yaml:5:44", "shop.yaml:5:50"},
		{e.Read, "shop.yaml:9:9", "shop.yaml:10:14"},
	} {
		before, _, _ := strings.Cut(c.script.Source, "oops")
		at := utf8.RuneCountInString(before)
		if got := c.script.Pos.String(); got != c.pos {
			t.Errorf("%q stands at %s, want %s", c.script.Source, got, c.pos)
		}
		r := c.script.Refusal(at, "unknown name %s", "oops")
		if got := r.Pos.String(); got != c.oops {
			t.Errorf("oops of %q stands at %s, want %s", c.script.Source, got, c.oops)
		}
		if line, caret, _ := strings.Cut(r.Snippet, "\n"); string([]rune(line)[len(caret)-1:][:4]) != "oops" {
			t.Errorf("snippet\n%s\nwant the caret below oops", r.Snippet)
		}
	}
	loose := schema.Script{Source: "a\nbc", Pos: e.Actions.Pos}
	if got := loose.At(3).String(); got != "shop.yaml:6:2" {
		t.Errorf("At(3) of a script without a file is %s", got)
	}
}

func TestLoadReadsAFolderInNameOrder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("b.yml", "entities: [{name: second, fields: [{name: id}, {name: s, type: state}]}]")
	write("a.yaml", "entities: [{name: first, inherits: [late], fields: [{name: id}]}]")
	write("c.yaml", "enums: [{name: state, values: [{value: on}]}]\ntraits: [{name: late, fields: [{name: x, type: int}]}]")
	write("notes.txt", "not: [a schema")
	if err := os.Mkdir(filepath.Join(dir, "d.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	m, rs := schema.Load(dir)
	if len(rs) > 0 {
		t.Fatal(rs)
	}
	if len(m.Entities) != 2 || m.Entities[0].Name != "first" || m.Entities[1].Name != "second" {
		t.Errorf("entities %v", m.Entities)
	}
	if _, rs := schema.Load(filepath.Join(dir, "a.yaml")); len(rs) != 1 || !strings.Contains(rs.Error(), `no trait "late"`) {
		t.Errorf("one file alone: %v", rs)
	}
}

func TestLoadNamesWhatItCannotRead(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none.yaml"), "no such file or folder"},
		{dir, "no *.yaml file"},
	} {
		m, rs := schema.Load(c.path)
		if m != nil || len(rs) != 1 || !strings.HasPrefix(rs.Error(), c.path+":1:1: "+c.want) {
			t.Errorf("Load(%s): %v", c.path, rs)
		}
	}
}

// The fixtures of the shared cases are entities as JSON, which is YAML.
func TestTheFixturesOfTheCasesAreAccepted(t *testing.T) {
	data, err := os.ReadFile("../testdata/cases/filter.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(data)) {
		var fixture struct {
			Fixture string
			Enums   []json.RawMessage
			Entity  map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &fixture); err != nil {
			t.Fatal(err)
		}
		if fixture.Entity == nil {
			continue
		}
		if fixture.Enums == nil {
			fixture.Enums = []json.RawMessage{}
		}
		text, err := json.Marshal(map[string]any{"enums": fixture.Enums, "entities": []any{fixture.Entity}})
		if err != nil {
			t.Fatal(err)
		}
		parse(t, string(text))
		count++
	}
	if count == 0 {
		t.Error("no fixture found")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(shop))
	faults, err := os.ReadFile("testdata/faults.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(faults)
	f.Add([]byte("entities: [{name: a, fields: [{name: id, type: string, defaultvalue: {a: [1]}}]}]"))
	f.Add([]byte(operation("name: markOne, kind: write, cardinality: one, realtimeevent: updated, realtime: {events: {updated: true}}, " +
		"set: {total: 1, title: x, state: paid, meta: {a: [null]}, paid_at: {language: expr, expression: now()}}")))
	f.Add([]byte(entity("  filter: {fields: [title]}", "  realtime: {events: {left: true, created: false}, subscribablefields: {exclude: [title]}, filterable: true}")))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, rs := schema.Parse([]schema.Source{{Name: "f.yaml", Data: text}})
		if (m == nil) != (len(rs) > 0) {
			t.Fatalf("model %v and refusals %v", m, rs)
		}
		for _, r := range rs {
			if r.Pos.File != "f.yaml" || r.Pos.Line < 1 || r.Pos.Col < 1 || r.Message == "" {
				t.Fatalf("refusal %+v has no place or message", r)
			}
		}
		if m == nil {
			return
		}
		for _, e := range m.Entities {
			soundChannel(t, e)
			for i := range e.Subscriptions {
				if s := &e.Subscriptions[i]; len(m.Source(e, s)) == 0 || (len(e.RowRules) > 0 && !s.RLS) {
					t.Fatalf("subscription %+v of %s is silent or unguarded", s, e.Name)
				}
			}
		}
	})
}

// soundChannel fails on channels that show nothing or are filtered by nothing, and
// on operations that set what no operation may.
func soundChannel(t *testing.T, e *schema.Entity) {
	t.Helper()
	r := e.Realtime
	if r != nil && r.Subscribable != nil && (len(r.Subscribable) == 0 || !slices.IsSorted(r.Subscribable)) {
		t.Fatalf("subscribable fields %v of %s", r.Subscribable, e.Name)
	}
	if r != nil && r.Filterable && !slices.ContainsFunc(e.Filter.Fields, r.Subscribes) {
		t.Fatalf("%s is filterable by nothing", e.Name)
	}
	for i := range e.Operations {
		op := &e.Operations[i]
		if (op.Kind == "read" || op.Cardinality == "many") && (op.Event != "" || op.Set != nil) || op.Set != nil && len(op.Set) == 0 {
			t.Fatalf("operation %+v", op)
		}
		for _, a := range op.Set {
			if f := e.Fields[a.Field]; f.System || f.Final || a.Field == e.ID || a.Script == nil && f.Required && a.Value.IsNull() {
				t.Fatalf("operation %s sets %s", op.Name, f.Name)
			}
		}
	}
}
