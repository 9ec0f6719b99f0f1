package schema_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// operation returns a schema of one entity whose only operation stands in line
// 8, its text from column 7 on.
func operation(text string) string {
	return `enums: [{name: state, values: [{value: open}, {value: paid}]}]
entities:
- name: order
  inherits: [common]
  fields: [{name: id}, {name: total, type: int, validations: [{type: max, value: 9}]}, {name: title, type: string, validations: [{type: required}]},
    {name: state, type: state}, {name: paid_at, type: timestamp}, {name: meta, type: object}, {name: no, type: int, validations: [{type: final}]}]
  operations:
    - {` + text + "}\n"
}

// named returns an operation that is right but for what is added.
func named(more string) string {
	return operation("name: markOne, kind: write, cardinality: one, " + more)
}

func TestEveryRefusalOfRealtimeHasItsPlace(t *testing.T) {
	for _, c := range []struct{ name, text, at, want string }{
		{"true", entity("  realtime: true"), "4:13", "write {} for channels that tell of every event, or false for none"},
		{"a text", entity("  realtime: 'false'"), "4:13", "neither a mapping nor false"},
		{"a list", entity("  realtime: []"), "4:13", "neither a mapping nor false"},
		{"empty", entity("  realtime:"), "4:3", "neither a mapping nor false"},
		{"an unknown key", entity("  realtime: {event: {}}"), "4:14", `unknown key "event" in realtime; did you mean "events"?`},
		{"enabled", entity("  realtime: {enabled: false}"), "4:14", "write realtime: false to turn them off"},
		{"onpublisherror", entity("  realtime: {onpublisherror: 1}"), "4:14", "onpublisherror is a function and belongs to the Go API"},
		{"no events", entity("  realtime: {events: null}"), "4:22", "events: events of realtime must be a mapping"},
		{"events as a list", entity("  realtime: {events: [created]}"), "4:22", "events: events of realtime must be a mapping"},
		{"an event as text", entity("  realtime: {events: {created: 'yes'}}"), "4:32", "created: expected true or false"},
		{"an event as a number", entity("  realtime: {events: {created: 1}}"), "4:32", "created: expected true or false"},
		{"an event without a value", entity("  realtime: {events: {created: }}"), "4:23", "created: expected true or false"},
		{"an event of /subscribe", entity("  realtime: {events: {create: false}}"), "4:23", `did you mean "created"?`},
		{"left", entity("  realtime: {events: {left: true}}"), "4:23", "a subscriber asks for it with leave=true"},
		{"an operation's name as an event", entity("  realtime: {events: {markOne: true}}"), "4:23", "write one of created, updated, patched, deleted, restored"},

		{"no subscribable fields", entity("  realtime: {subscribablefields: }"), "4:14", "subscribablefields: expected a list"},
		{"an empty list of them", entity("  realtime: {subscribablefields: []}"), "4:34", "name at least one field"},
		{"one as a number", entity("  realtime: {subscribablefields: [1]}"), "4:35", "subscribablefields: expected text"},
		{"one that is not there", entity("  realtime: {subscribablefields: [titel]}"), "4:35", `no field "titel"; did you mean "title"?`},
		{"one twice", entity("  realtime: {subscribablefields: [id, title, id]}"), "4:46", "stands twice"},
		{"include", entity("  realtime: {subscribablefields: {include: [id], exclude: [title]}}"), "4:35", "subscribablefields: [a, b]"},
		{"neither list nor exclude", entity("  realtime: {subscribablefields: {}}"), "4:34", "exclude is missing"},
		{"exclude of nothing", entity("  realtime: {subscribablefields: {exclude: []}}"), "4:44", "leave subscribablefields out for all"},
		{"exclude of what is not there", entity("  realtime: {subscribablefields: {exclude: [nope]}}"), "4:45", `no field "nope"`},
		{"exclude of everything", entity("  realtime: {subscribablefields: {exclude: [id, total, title]}}"), "4:44", "exclude leaves no field"},

		{"filterable as text", entity("  realtime: {filterable: 'yes'}"), "4:26", "filterable: expected true or false"},
		{"nothing to filter by", entity("  filter: {fields: []}", "  realtime: {filterable: true}"), "5:26", "no field is both in filter.fields and in subscribablefields"},
		{"nothing subscribable to filter by", entity("  filter: {fields: [title]}", "  realtime: {filterable: true, subscribablefields: {exclude: [title]}}"), "5:26", "no field is both"},
		{"a broken filter is the one refusal", entity("  filter: {fields: [titel]}", "  realtime: {filterable: true}"), "4:21", `no field "titel"`},
		{"a broken list is the one refusal", entity("  filter: {fields: [title]}", "  realtime: {filterable: true, subscribablefields: [titel]}"), "5:53", `no field "titel"`},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.text, c.at, c.want) })
	}
}

func TestEveryRefusalOfAnOperationHasItsPlace(t *testing.T) {
	const set = "set: {total: 1}, "
	for _, c := range []struct{ name, text, at, want string }{
		{"without a name", operation("kind: write, cardinality: one, set: {total: 1}"), "8:7", "name is missing"},
		{"a name with a dot", operation("name: mark.one, kind: write, cardinality: one"), "8:14", "cannot name an operation"},
		{"a standard name", operation("name: updateOne, kind: write, cardinality: one"), "8:14", `"updateOne" has the name of a standard operation`},
		{"a standard name in lower case", operation("name: deleteone, kind: write, cardinality: one"), "8:14", `"deleteone" has the name of a standard operation`},
		{"a standard name in upper case", operation("name: FINDMANY, kind: write, cardinality: one"), "8:14", "standard operation"},
		{"a route below a row", operation("name: restore, kind: write, cardinality: one"), "8:14", "route below an entity, /data/{entity}/…/restore"},
		{"the other route, in capitals", operation("name: Purge, kind: write, cardinality: one"), "8:14", "/data/{entity}/…/purge"},
		{"a route below an entity", operation("name: bulk, kind: write, cardinality: one"), "8:14", "/data/{entity}/…/bulk"},
		{"one name twice", named("set: {total: 1}}\n    - {name: markOne, kind: write, cardinality: one, set: {total: 1}"), "9:14", `"markOne" stands twice`},
		{"one name in two cases", named("set: {total: 1}}\n    - {name: markone, kind: write, cardinality: one, set: {total: 1}"), "9:14", `"markone" stands twice`},

		{"without kind", operation("name: a, cardinality: one, set: {total: 1}"), "8:7", "kind is missing; write kind: write"},
		{"without cardinality", operation("name: a, kind: write, set: {total: 1}"), "8:7", "cardinality is missing; write cardinality: one"},
		{"another kind", operation("name: a, kind: patch, cardinality: one"), "8:23", `kind: "patch" is not accepted`},
		{"another cardinality", operation("name: a, kind: write, cardinality: all"), "8:43", `cardinality: "all" is not accepted`},
		{"a read that sets", operation("name: a, kind: read, cardinality: one, set: {total: 1}"), "8:23", "set on an operation that reads"},
		{"set on many rows", operation("name: a, kind: write, cardinality: many, set: {total: 1}"), "8:43", "PATCH /data/{entity} with a filter"},
		{"a row that set would make", named(set + "action: create"), "8:79", `action: "create" is not accepted; write one of update, delete`},
		{"a write judged as a read", named("action: read"), "8:62", `action: "read" is not accepted; write one of update, delete, create`},
		{"a read judged as a create", operation("name: a, kind: read, cardinality: many, action: create"), "8:56", `action: "create" is not accepted; write one of read, update, delete`},
		{"judged as deleted rows are", named("action: purge"), "8:62", `action: "purge" is not accepted`},
		{"a handler", named("handler: x"), "8:54", "handler is a function and belongs to the Go API"},
		{"an unknown key", named("realtimeEvent: updated"), "8:54", `did you mean "realtimeevent"?`},

		{"another event", named(set + "realtimeevent: update"), "8:86", `did you mean "updated"?`},
		{"left", named(set + "realtimeevent: left"), "8:86", "no write is published as left"},
		{"its own name as an event", named(set + "realtimeevent: markOne"), "8:86", "write one of created, updated"},
		{"realtime without an event", named(set + "realtime: {}"), "8:81", "add realtimeevent, or remove realtime"},
		{"realtime: true", named(set + "realtimeevent: updated, realtime: true"), "8:105", "neither a mapping nor false"},
		{"fields of an operation", named(set + "realtimeevent: updated, realtime: {subscribablefields: [id]}"), "8:106", "move it to the entity's realtime"},
		{"a filter of an operation", named(set + "realtimeevent: updated, realtime: {filterable: true}"), "8:106", "move it to the entity's realtime"},
		{"an unknown event of an operation", named(set + "realtimeevent: updated, realtime: {events: {changed: true}}"), "8:115", `unknown key "changed" in events of realtime`},

		{"set without a value", named("set: "), "8:54", "set: expected a mapping"},
		{"set as a list", named("set: [total]"), "8:59", "set: expected a mapping"},
		{"set of nothing", named("set: {}"), "8:59", "set is empty; name at least one field"},
		{"set of what is not there", named("set: {titel: x}"), "8:60", `no field "titel"; did you mean "title"?`},
		{"set of the id", named("set: {id: x}"), "8:60", "the id of a row never changes"},
		{"set of a field of the server's", named("set: {updatedon: '2026-01-01'}"), "8:60", "it is set by rowcast alone"},
		{"set of a final field", named("set: {no: 1}"), "8:60", "it is final"},
		{"a text for a number", named("set: {total: many}"), "8:67", "must be a whole number"},
		{"a number for a text", named("set: {title: 1}"), "8:67", "put it in quotes"},
		{"no member of the enum", named("set: {state: lost}"), "8:67", "must be one of open, paid"},
		{"no time", named("set: {paid_at: soon}"), "8:69", "must be a time"},
		{"a function without a script", named("set: {paid_at: now()}"), "8:69", "must be a time"},
		{"against a validation", named("set: {total: 10}"), "8:67", "the field's own validation max"},
		{"null for what is required", named("set: {title: null}"), "8:67", "cannot be null"},
		{"a forgotten value", named("set: {total: }"), "8:60", "write one, or null to clear the field"},
		{"another language", named("set: {total: {language: lua, expression: '1'}}"), "8:78", `"lua" is not accepted`},
		{"a script without an expression", named("set: {total: {language: expr}}"), "8:67", "expression is missing"},
		{"a script with an unknown key", named("set: {total: {language: expr, expression: '1', type: int}}"), "8:101", `unknown key "type" in a script`},
		{"a script without a language", named("set: {meta: {expression: '{}'}}"), "8:66", "language is missing"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, c.text, c.at, c.want) })
	}
}

// What an event cannot describe is told beside what cannot be served.
func TestOnlyAWriteOfOneRowIsPublished(t *testing.T) {
	for _, text := range []string{
		operation("name: findPendingMany, kind: read, cardinality: many, realtimeevent: updated"),
		operation("name: touchMany, kind: write, cardinality: many, realtimeevent: updated, set: {total: 1}"),
		operation("name: peekOne, kind: read, cardinality: one, realtimeevent: updated"),
	} {
		_, rs := schema.Parse([]schema.Source{{Name: "f.yaml", Data: []byte(text)}})
		if !strings.Contains(rs.Error(), "realtimeevent on an operation of kind") {
			t.Errorf("%s\n%v", text, rs)
		}
	}
}

func TestChannelsAndOperationsAreRead(t *testing.T) {
	e := parse(t, operation(`name: markOne, kind: write, cardinality: one, action: delete, realtimeevent: updated, realtime: {events: {updated: true}},
      set: {title: paid, total: null, state: paid, meta: {language: expr}, paid_at: {language: expr, expression: now()}}}
    - {name: touch-One, kind: write, cardinality: one, realtime: false}
    - {name: peekMany, kind: read, cardinality: many`)+
		"  realtime: {events: {updated: false, deleted: true}, subscribablefields: [title, id], filterable: true}\n").Entities[0]
	if len(e.Operations) != 3 || e.Realtime == nil || !e.Realtime.Filterable || e.Realtime.Off {
		t.Fatalf("operations %+v, realtime %+v", e.Operations, e.Realtime)
	}
	if diff := cmp.Diff([]int{0, 2}, e.Realtime.Subscribable); diff != "" {
		t.Errorf("subscribable fields (-want +got):\n%s", diff)
	}
	op, _ := e.Operation("markOne")
	if op.Kind != "write" || op.Cardinality != "one" || op.Action != "delete" || op.Event != schema.RealtimeUpdated || !op.Realtime.Events["updated"] {
		t.Errorf("operation %+v", op)
	}
	var set []string
	for _, a := range op.Set {
		text := e.Fields[a.Field].Name + "=" + string(value.AppendJSON(nil, e.Fields[a.Field].Type, a.Value))
		if a.Script != nil {
			text = e.Fields[a.Field].Name + "=" + a.Script.Source
		}
		set = append(set, text)
	}
	if diff := cmp.Diff([]string{`title="paid"`, "total=null", `state="paid"`, `meta={"language":"expr"}`, "paid_at=now()"}, set); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	peek, _ := e.Operation("peekMany")
	if peek.Action != "read" || peek.Kind != "read" || peek.Cardinality != "many" {
		t.Errorf("operation %+v", peek)
	}
	touch, _ := e.Operation("touch-One")
	if touch.Action != "update" || touch.Event != "" || touch.Set != nil || !touch.Realtime.Off {
		t.Errorf("operation %+v", touch)
	}
	if e.Publishes(schema.RealtimeUpdated, nil, nil) || !e.Publishes(schema.RealtimeUpdated, op, nil) || e.Publishes(schema.RealtimeUpdated, touch, nil) {
		t.Error("an operation's own word does not stand before the entity's")
	}
}

// A dot in an entity's name is fine: a channel's name is split at the longest one.
func TestAnEntityMayHaveADotInItsName(t *testing.T) {
	parse(t, "entities: [{name: note, fields: [{name: id}]}, {name: note.tag, fields: [{name: id}]}]")
}

// Settings precedence: who is nearest to the write and names the event decides;
// naming one says nothing of the others.
func TestPublishes(t *testing.T) {
	says := func(events ...schema.RealtimeEvent) *schema.Realtime {
		r := &schema.Realtime{Events: map[schema.RealtimeEvent]bool{}}
		for _, event := range events {
			name, off := strings.CutPrefix(string(event), "no ")
			r.Events[schema.RealtimeEvent(name)] = !off
		}
		return r
	}
	off, on := &schema.Realtime{Off: true}, &schema.Realtime{}
	const updated = schema.RealtimeUpdated
	for _, c := range []struct {
		name                        string
		operation, entity, defaults *schema.Realtime
		want                        bool
	}{
		{"nobody says anything", nil, nil, nil, false},
		{"the defaults turn channels on", nil, nil, on, true},
		{"the entity does", nil, on, nil, true},
		{"the entity turns them off", nil, off, on, false},
		{"an operation cannot turn them on", says("updated"), off, on, false},
		{"an operation turns its own off", off, on, on, false},
		{"the defaults mute", nil, on, says("no updated"), false},
		{"the entity over the defaults", nil, says("updated"), says("no updated"), true},
		{"the entity mutes", nil, says("no updated"), says("updated"), false},
		{"the operation over both", says("updated"), says("no updated"), says("no updated"), true},
		{"the operation mutes", says("no updated"), says("updated"), on, false},
		{"another event muted", says("no created"), says("no patched"), says("no deleted"), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, op := &schema.Entity{Realtime: c.entity}, &schema.Operation{Realtime: c.operation}
			if got := e.Publishes(updated, op, c.defaults); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
	if e := (&schema.Entity{Realtime: on}); e.Publishes("", nil, nil) {
		t.Error("an operation without an event publishes")
	}
}

// What may leave is never more than what is listed.
func TestSubscribes(t *testing.T) {
	for _, c := range []struct {
		r    *schema.Realtime
		want []int
	}{
		{nil, []int{0, 1, 2}},
		{&schema.Realtime{}, []int{0, 1, 2}},
		{&schema.Realtime{Subscribable: []int{1}}, []int{1}},
		{&schema.Realtime{Subscribable: []int{}}, nil},
	} {
		got := slices.DeleteFunc([]int{0, 1, 2}, func(i int) bool { return !c.r.Subscribes(i) })
		if diff := cmp.Diff(c.want, append([]int(nil), got...)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.r, diff)
		}
	}
}
