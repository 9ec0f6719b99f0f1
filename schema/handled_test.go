package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/schema"
)

// An operation that sets nothing waits for a handler in Go; where there is none,
// it is refused with what would do instead.
func TestUnhandled(t *testing.T) {
	m := parse(t, operation(`name: markOne, kind: write, cardinality: one}
    - {name: setOne, kind: write, cardinality: one, set: {total: 1}}
    - {name: peekMany, kind: read, cardinality: many}
    - {name: touchMany, kind: write, cardinality: many}
    - {name: cloneOne, kind: write, cardinality: one, action: create`))
	rs := m.Unhandled(nil)
	want := []string{
		`shop.yaml:8:7: operation "markOne" sets nothing, and no handler in Go does its work; give one under Operations of rowcast.Config, or add set`,
		`shop.yaml:10:7: operation "peekMany" reads, and no handler in Go does its work; give one under Operations of rowcast.Config, or remove it: GET /data/{entity} and its filters read`,
		`shop.yaml:11:7: operation "touchMany" works on many rows, and no handler in Go does its work; give one under Operations of rowcast.Config, or remove it: PATCH /data/{entity} with a filter writes many`,
		`shop.yaml:12:7: operation "cloneOne" makes a row, and no handler in Go does its work; give one under Operations of rowcast.Config, or remove it: POST /data/{entity} makes one`,
	}
	if diff := cmp.Diff(want, strings.Split(rs.Error(), "\n")); diff != "" || rs[0].Snippet == "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if rs := m.Unhandled(func(entity, name string) bool { return entity == "order" && name != "peekMany" }); len(rs) != 1 || rs[0].Pos.Line != 10 {
		t.Errorf("with all handlers but one: %v", rs)
	}
}

// An operation that Go gives is held to what a schema may declare.
func TestHandled(t *testing.T) {
	e := parse(t, operation(`name: markOne, kind: write, cardinality: one, action: delete, realtimeevent: patched}
    - {name: setOne, kind: write, cardinality: one, set: {total: 1}`)).Entities[0]
	given := func(name, kind, cardinality, action string, event schema.RealtimeEvent) schema.Operation {
		return schema.Operation{Name: name, Kind: kind, Cardinality: cardinality, Action: action, Event: event}
	}
	for _, c := range []struct {
		name   string
		given  schema.Operation
		action string // of what comes of it
		err    string
	}{
		{"on one row", given("a", "write", "one", "", "updated"), "update", ""},
		{"that makes a row", given("a", "write", "one", "create", "created"), "create", ""},
		{"on many rows", given("a-b", "write", "many", "delete", ""), "delete", ""},
		{"that reads", given("a", "read", "many", "", ""), "read", ""},
		{"declared, by its name", given("markOne", "", "", "", ""), "delete", ""},
		{"declared, in full", given("markOne", "write", "one", "delete", "patched"), "delete", ""},
		{"declared otherwise", given("markOne", "write", "one", "update", "patched"), "", `action is "update", and "delete" in the schema at shop.yaml:8:7; leave it out`},
		{"declared with another event", given("markOne", "", "", "", "updated"), "", `realtimeevent is "updated", and "patched" in the schema`},
		{"declared with its own settings", schema.Operation{Name: "markOne", Realtime: &schema.Realtime{}}, "", "the schema's to say"},
		{"declared with what it sets", given("setOne", "", "", "", ""), "", "remove set there, or the handler"},
		{"declared in another case", given("markone", "write", "one", "", ""), "", `the schema declares "markOne" at shop.yaml:8:7`},
		{"without a name", given("", "write", "one", "", ""), "", "the name is no part of a URL"},
		{"a name with a slash", given("a/b", "write", "one", "", ""), "", "the name is no part of a URL"},
		{"a standard name", given("PatchOne", "write", "one", "", ""), "", "has the name of a standard operation"},
		{"a route", given("purge", "write", "one", "", ""), "", "has the name of a route"},
		{"no kind", given("a", "", "one", "", ""), "", "give one of read, write"},
		{"no cardinality", given("a", "write", "", "", ""), "", "give one of one, many"},
		{"another action", given("a", "write", "one", "read", ""), "", "give one of update, delete, create"},
		{"left", given("a", "write", "one", "", "left"), "", `realtimeevent is "left"; give one of created`},
		{"an event of a read", given("a", "read", "one", "", "updated"), "", "an event describes one row that was written; leave it out"},
		{"an event of many rows", given("a", "write", "many", "", "updated"), "", "an event describes one row that was written; leave it out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			op, err := e.Handled(c.given)
			if c.err == "" && (err != nil || op.Action != c.action || op.Name != c.given.Name) {
				t.Errorf("got %+v, %v", op, err)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v, want %s", err, c.err)
			}
		})
	}
}
