package schema_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/schema"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// entity returns a schema of one entity with the given further lines; the first
// of them is line 4.
func entity(lines ...string) string {
	return "entities:\n- name: order\n  fields: [{name: id}, {name: total, type: int}, {name: title, type: string}]\n" + strings.Join(lines, "\n") + "\n"
}

// field returns a schema whose only field beside id stands in line 5.
func field(text string) string {
	return "entities:\n- name: order\n  fields:\n  - {name: id}\n  - " + text + "\n"
}

func TestEveryRefusalHasItsPlace(t *testing.T) {
	const (
		publishes = "  events: [{name: changed}]"
		rules     = "  rowrules: [{name: own, actions: [read], language: expr, expression: row.title == user.id}]"
	)
	for _, c := range []struct {
		name, text, at, want string
	}{
		// Files.
		{"nothing", "", "1:1", "no entity is declared"},
		{"a list at the top", "- a\n", "1:1", "a schema file must be a mapping"},
		{"subscriptions at the top", entity("subscriptions: []"), "4:1", "move the list into the entity"},
		{"events at the top", entity("events: []"), "4:1", "move the list into the entity"},
		{"unknown key at the top", entity("entitys: []"), "4:1", `did you mean "entities"?`},
		{"entities empty", "entities:\n", "1:1", "expected a list"},
		{"entity as text", "entities: [order]\n", "1:12", "an entity must be a mapping"},

		// Enums.
		{"enum without name", entity("enums: [{values: [{value: a}]}]"), "4:9", "name is missing"},
		{"enum without values", entity("enums: [{name: e}]"), "4:9", "values is missing"},
		{"enum with no value", entity("enums: [{name: e, values: []}]"), "4:27", "values is empty"},
		{"enum value as text", entity("enums: [{name: e, values: [a]}]"), "4:28", "a value of an enum must be a mapping"},
		{"enum value twice", entity("enums: [{name: e, values: [{value: a}, {value: a}]}]"), "4:48", `"a" stands twice`},
		{"empty enum value", entity(`enums: [{name: e, values: [{value: ""}]}]`), "4:36", "not empty"},
		{"enum value as number", entity("enums: [{name: e, values: [{value: 1}]}]"), "4:36", "in quotes"},
		{"enum named as a type", entity("enums: [{name: string, values: [{value: a}]}]"), "4:16", "built-in type"},
		{"enum twice", entity("enums: [{name: e, values: [{value: a}]}, {name: e, values: [{value: a}]}]"), "4:49", "first at f.yaml:4:9"},

		// Traits.
		{"trait without fields", entity("traits: [{name: t}]"), "4:10", "fields is missing"},
		{"trait named as a built-in one", entity("traits: [{name: common, fields: []}]"), "4:17", "is built in"},
		{"trait twice", entity("traits: [{name: t, fields: []}, {name: t, fields: []}]"), "4:40", "declared twice"},
		{"trait with an id", entity("traits: [{name: t, fields: [{name: id, type: ulid}]}]"), "4:36", "a trait brings no id"},
		{"trait with a field twice", entity("traits: [{name: t, fields: [{name: a, type: int}, {name: A, type: int}]}]"), "4:51", "stands twice in the trait"},
		{"inherits nothing known", entity("  inherits: [comon]"), "4:14", `no trait "comon"; did you mean "common"?`},
		{"inherits twice", entity("  inherits: [common, common]"), "4:22", "inherited twice"},
		{"trait clashes with a field", entity("  inherits: [t]", "traits: [{name: t, fields: [{name: Total, type: int}]}]"), "4:14", `brings a field "Total"`},
		{"built-in trait clashes with a field", field("{name: deletedon, type: timestamp}") + "  inherits: [softdelete]\n", "6:14", `brings a field "deletedon"`},

		// Entities.
		{"entity without name", "entities:\n- fields: [{name: id}]\n", "2:3", "name is missing"},
		{"entity without fields", "entities:\n- name: order\n", "2:3", "fields is missing"},
		{"entity without id", "entities:\n- name: order\n  fields: [{name: a, type: int}]\n", "3:11", "add {name: id, type: ulid}"},
		{"unknown key of an entity", entity("  evnts: []"), "4:3", `unknown key "evnts" in an entity; did you mean "events"?`},
		{"entity named transaction", "entities: [{name: transaction, fields: [{name: id}]}]\n", "1:19", "rename it"},
		{"name with a slash", "entities: [{name: a/b, fields: [{name: id}]}]\n", "1:19", "cannot name an entity"},
		{"name with a digit first", "entities: [{name: 1a, fields: [{name: id}]}]\n", "1:19", "cannot name an entity"},
		{"name as number", "entities: [{name: 12, fields: [{name: id}]}]\n", "1:19", "in quotes"},
		{"name too long", "entities: [{name: " + strings.Repeat("a", 64) + ", fields: [{name: id}]}]\n", "1:19", "at most 63"},
		{"name with a dash is fine, twice is not", "entities: [{name: a-b, fields: [{name: id}]}, {name: a-b, fields: [{name: id}]}]\n", "1:54", "declared twice"},
		{"table twice", "entities: [{name: a, table: T, fields: [{name: id}]}, {name: b, table: t, fields: [{name: id}]}]\n", "1:72", `belongs to entity "a"`},
		{"table of another's name", "entities: [{name: a, fields: [{name: id}]}, {name: b, table: A, fields: [{name: id}]}]\n", "1:62", `belongs to entity "a"`},
		{"table kept for rowcast", entity("  table: _rowcast_log"), "4:10", "kept for"},
		{"table kept for SQLite", entity("  table: SQLite_x"), "4:10", "kept for"},
		{"table kept for SQLite by name alone", "entities: [{name: sqlite_x, fields: [{name: id}]}]\n", "1:19", "set another table"},
		{"empty table", entity("  table: ''"), "4:10", "cannot name a table"},
		{"datastore with a space", entity("  datastore: a b"), "4:14", "cannot name"},

		// Fields.
		{"field without name", field("{type: int}"), "5:5", "name is missing"},
		{"field without type", field("{name: a}"), "5:5", "type is missing"},
		{"unknown type", field("{name: a, type: strin}"), "5:21", `no type "strin"; did you mean "string"?`},
		{"field name with a dash", field("{name: a-b, type: int}"), "5:12", "cannot name a field"},
		{"field twice", field("{name: ID, type: int}"), "5:5", "stands twice in the entity"},
		{"column kept for rowcast", field("{name: _ROWCAST_x, type: int}"), "5:12", "kept for"},
		{"required as a key", field("{name: a, type: int, required: true}"), "5:26", "validations: [{type: required}]"},
		{"default as a key", field("{name: a, type: int, default: 1}"), "5:26", `did you mean "defaultvalue"?`},
		{"id of another type", "entities: [{name: a, fields: [{name: id, type: double}]}]\n", "1:48", "use ulid, uuid, int, bigint or string"},
		{"id masked", "entities: [{name: a, fields: [{name: id, mask: {}}]}]\n", "1:48", "cannot be masked"},
		{"id with one value for all", "entities: [{name: a, fields: [{name: id, type: string, defaultvalue: x}]}]\n", "1:70", "one id for every row"},
		{"generated id with a default", "entities: [{name: a, fields: [{name: id, type: int, defaultvalue: 1}]}]\n", "1:67", "is generated"},
		{"mask as a word", field("{name: a, type: string, mask: true}"), "5:35", "a mask must be a mapping"},
		{"mask with another key", field("{name: a, type: string, mask: {keepfirst: 1}}"), "5:36", `unknown key "keepfirst" in a mask`},
		{"keeplast below zero", field("{name: a, type: string, mask: {keeplast: -1}}"), "5:46", "keeplast: expected a whole number from 0"},
		{"keeplast on a number", field("{name: a, type: int, mask: {keeplast: 2}}"), "5:43", "write mask: {}"},

		// Defaults.
		{"default of another type", field("{name: a, type: int, defaultvalue: x}"), "5:40", "must be a whole number"},
		{"number in quotes", field("{name: a, type: int, defaultvalue: '1'}"), "5:40", "without quotes"},
		{"int beyond 32 bits", field("{name: a, type: int, defaultvalue: 2147483648}"), "5:40", "2147483647"},
		{"text without quotes", field("{name: a, type: string, defaultvalue: 12}"), "5:43", "in quotes"},
		{"boolean as text", field("{name: a, type: boolean, defaultvalue: 'true'}"), "5:44", "expected true or false"},
		{"empty default", field("{name: a, type: string, defaultvalue: }"), "5:29", "leave the key out for null"},
		{"default that is no date", field("{name: a, type: date, defaultvalue: 2026-02-30}"), "5:41", "date of the calendar"},
		{"object as a list", field("{name: a, type: object, defaultvalue: [1]}"), "5:43", "must be a JSON object"},
		{"object with half a number", field("{name: a, type: object, defaultvalue: {b: 0x1f}}"), "5:47", "in quotes"},
		{"default outside the enum", field("{name: a, type: e, defaultvalue: c}") + "enums: [{name: e, values: [{value: b}]}]\n", "5:38", "must be one of b"},
		{"now() on a string", field("{name: a, type: string, defaultvalue: now()}"), "5:43", "it fits timestamp and datetime"},
		{"user.id on an int", field("{name: a, type: int, defaultvalue: user.id}"), "5:40", "it fits string"},
		{"uuid() on a ulid", field("{name: a, type: ulid, defaultvalue: uuid()}"), "5:41", "does not fit type ulid"},
		{"default against a validation", field("{name: a, type: int, defaultvalue: 1, validations: [{type: min, value: 2}]}"), "5:40", "fails the field's own validation min"},
		{"default against a pattern", field("{name: a, type: string, defaultvalue: x, validations: [{type: pattern, value: '^y'}]}"), "5:43", "validation pattern"},

		// Validations.
		{"unknown validation", field("{name: a, type: int, validations: [{type: minimum, value: 1}]}"), "5:47", `"minimum" is not accepted`},
		{"validation without type", field("{name: a, type: int, validations: [{value: 1}]}"), "5:40", "type is missing"},
		{"validation as text", field("{name: a, type: int, validations: [required]}"), "5:40", "must be a mapping"},
		{"validation twice", field("{name: a, type: int, validations: [{type: required}, {type: required}]}"), "5:65", "stands twice"},
		{"required with a value", field("{name: a, type: int, validations: [{type: required, value: true}]}"), "5:64", "takes no value"},
		{"min without a value", field("{name: a, type: int, validations: [{type: min}]}"), "5:40", "value is missing"},
		{"min of a string", field("{name: a, type: string, validations: [{type: min, value: 1}]}"), "5:50", "cannot judge type string"},
		{"min of another type", field("{name: a, type: date, validations: [{type: min, value: 1}]}"), "5:60", "in quotes"},
		{"min above max", field("{name: a, type: int, validations: [{type: min, value: 2}, {type: max, value: 1}]}"), "5:63", "min is above max"},
		{"minlength above maxlength", field("{name: a, type: string, validations: [{type: maxlength, value: 1}, {type: minlength, value: 2}]}"), "5:72", "minlength is above maxlength"},
		{"maxlength of an int", field("{name: a, type: int, validations: [{type: maxlength, value: 1}]}"), "5:47", "cannot judge type int"},
		{"maxlength below zero", field("{name: a, type: string, validations: [{type: maxlength, value: -1}]}"), "5:68", "whole number from 0"},
		{"pattern that does not compile", field("{name: a, type: string, validations: [{type: pattern, value: '(x'}]}"), "5:66", "RE2"},
		{"pattern beyond RE2", field("{name: a, type: string, validations: [{type: pattern, value: '(?=x)'}]}"), "5:66", "RE2"},
		{"oneof without values", field("{name: a, type: string, validations: [{type: oneof, value: []}]}"), "5:64", "oneof without values"},
		{"oneof with a value twice", field("{name: a, type: int, validations: [{type: oneof, value: [1, 1]}]}"), "5:65", "stands twice in oneof"},
		{"oneof outside the enum", field("{name: a, type: e, validations: [{type: oneof, value: [c]}]}") + "enums: [{name: e, values: [{value: b}]}]\n", "5:60", "must be one of b"},
		{"unique object", field("{name: a, type: object, validations: [{type: unique}]}"), "5:50", "cannot judge type object"},
		{"message as a number", field("{name: a, type: int, validations: [{type: required, message: 1}]}"), "5:66", "message: expected text"},

		// Indexes and filter.
		{"index of nothing known", entity("  indexes: [[totl]]"), "4:14", `no field "totl"; did you mean "total"?`},
		{"index as one name", entity("  indexes: [total]"), "4:13", "expected a list"},
		{"index without fields", entity("  indexes: [[]]"), "4:13", "an index without fields"},
		{"index with a field twice", entity("  indexes: [[total, total]]"), "4:21", "stands twice in the list"},
		{"index of an object", field("{name: o, type: object}") + "  indexes: [[o]]\n", "6:13", "cannot be indexed"},
		{"filter by nothing known", entity("  filter: {fields: [Title]}"), "4:21", `no field "Title"; did you mean "title"?`},
		{"filter by a path", entity("  filter: {fields: [author.name]}"), "4:21", `no field "author.name"`},
		{"unknown key of filter", entity("  filter: {field: [title]}"), "4:12", `did you mean "fields"?`},
		{"limit as text", entity("  filter: {limits: {maxinvalues: many}}"), "4:34", "maxinvalues: expected a whole number"},
		{"limit of zero", entity("  filter: {limits: {maxdepth: 0}}"), "4:31", "maxdepth: expected a whole number from 1"},
		{"limit with a fraction", entity("  filter: {limits: {maxdepth: 1.5}}"), "4:31", "maxdepth"},
		{"unknown limit", entity("  filter: {limits: {maxdeph: 1}}"), "4:21", `did you mean "maxdepth"?`},

		// Scripts, access and row rules.
		{"another language", entity("  access: {read: {language: lua, expression: x}}"), "4:29", `"lua" is not accepted`},
		{"no language", entity("  access: {read: {expression: x}}"), "4:18", "language is missing"},
		{"no expression", entity("  access: {read: {language: expr}}"), "4:18", "expression is missing"},
		{"empty expression", entity("  access: {read: {language: expr, expression: ' '}}"), "4:47", "expression is empty"},
		{"expression without quotes", entity("  access: {read: {language: expr, expression: true}}"), "4:47", `put it in quotes: "true"`},
		{"script as text", entity("  access: {read: 'true'}"), "4:18", "a script must be a mapping"},
		{"unknown key of access", entity("  access: {write: {}}"), "4:12", `unknown key "write" in access`},
		{"row rule without name", entity("  rowrules: [{actions: [read], language: expr, expression: x}]"), "4:14", "name is missing"},
		{"row rule without actions", entity("  rowrules: [{name: r, language: expr, expression: x}]"), "4:14", "actions is missing"},
		{"row rule with no action", entity("  rowrules: [{name: r, actions: [], language: expr, expression: x}]"), "4:33", "name at least one"},
		{"row rule with an unknown action", entity("  rowrules: [{name: r, actions: [unmask], language: expr, expression: x}]"), "4:34", `"unmask" is not accepted`},
		{"row rule with an action twice", entity("  rowrules: [{name: r, actions: [read, read], language: expr, expression: x}]"), "4:40", "stands twice"},
		{"row rule twice", entity("  rowrules:", "  - {name: r, actions: [read], language: expr, expression: x}", "  - {name: r, actions: [read], language: expr, expression: x}"), "6:12", `row rule "r" stands twice`},

		// Events.
		{"event on another operation", entity("  events: [{name: e, operations: [create, purge]}]"), "4:43", `"purge" is not accepted`},
		{"event on no operation", entity("  events: [{name: e, operations: []}]"), "4:34", "name at least one"},
		{"event in another format", entity("  events: [{name: e, format: avro}]"), "4:30", `"avro" is not accepted`},
		{"two events on one topic", entity("  events: [{name: e}, {name: f}]"), "4:23", `topic "entity.order" is published twice`},
		{"two events on one topic by name", entity("  events: [{name: e}, {name: f, topic: entity.order}]"), "4:40", "published twice"},
		{"two events of one name", entity("  events: [{name: e}, {name: e, topic: t}]"), "4:30", `event "e" stands twice`},
		{"topic with a space", entity("  events: [{name: e, topic: a b}]"), "4:29", "cannot name a topic"},
		{"include of nothing known", entity("  events: [{name: e, include: [totals]}]"), "4:32", `no field "totals"`},
		{"exclude of nothing known", entity("  events: [{name: e, exclude: [nope]}]"), "4:32", `no field "nope"`},
		{"exclude beside include is read too", entity("  events: [{name: e, include: [id], exclude: [nope]}]"), "4:47", `no field "nope"`},
		{"bulk as text", entity("  events: [{name: e, bulk: 'no'}]"), "4:28", "bulk: expected true or false"},
		{"unknown key of an event", entity("  events: [{name: e, operation: [create]}]"), "4:22", `did you mean "operations"?`},

		// Subscriptions.
		{"subscription without name", entity(publishes, "  subscriptions: [{rls: true}]"), "5:19", "name is missing"},
		{"subscription twice", entity(publishes, "  subscriptions: [{name: s}, {name: s}]"), "5:37", `subscription "s" stands twice`},
		{"fieldgroup", entity(publishes, "  subscriptions: [{name: s, fieldgroup: g}]"), "5:29", "choose fields with include or exclude"},
		{"another event type", entity(publishes, "  subscriptions: [{name: s, eventtypes: [created]}]"), "5:42", `"created" is not accepted`},
		{"another scope", entity(publishes, "  subscriptions: [{name: s, scope: all}]"), "5:36", `"all" is not accepted`},
		{"another transport", entity(publishes, "  subscriptions: [{name: s, transports: [websocket]}]"), "5:42", `"websocket" is not accepted`},
		{"another transport alone", entity(publishes, "  subscriptions: [{name: s, transports: websocket}]"), "5:41", `"websocket" is not accepted`},
		{"nobody publishes", entity("  subscriptions: [{name: s}]"), "4:19", `no events of datastore "main" publish to topic "entity.order"`},
		{"nobody publishes the source", entity(publishes, "  subscriptions: [{name: s, source: entity.ordr}]"), "5:37", `did you mean "entity.order"?`},
		{"the source is in another datastore", entity(publishes, "- {name: b, datastore: other, fields: [{name: id}], subscriptions: [{name: s, source: entity.order}]}"), "5:87", `no events of datastore "other"`},
		{"row rules without rls", entity(publishes, rules, "  subscriptions: [{name: s}]"), "6:19", "set rls: true"},
		{"row rules with rls: false", entity(publishes, rules, "  subscriptions: [{name: s, rls: false}]"), "6:19", "set rls: true"},
		{"row rules of the source's entity", entity(publishes, rules, "- {name: b, fields: [{name: id}], subscriptions: [{name: s, source: entity.order}]}"), "6:69", `entity "order" with row rules`},
		{"operations that nobody publishes", entity("  events: [{name: e, operations: [create]}]", "  subscriptions: [{name: s, eventtypes: [delete]}]"), "5:19", "published on create alone"},
		{"another language in a filter", entity(publishes, "  subscriptions: [{name: s, filter: {language: js, expression: x}}]"), "5:48", `"js" is not accepted`},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, c.text, c.at, c.want)
		})
	}
}

// refused reads a schema with one fault, and expects one refusal at its place.
func refused(t *testing.T, text, at, want string) {
	t.Helper()
	m, rs := schema.Parse([]schema.Source{{Name: "f.yaml", Data: []byte(text)}})
	if m != nil || len(rs) != 1 {
		t.Fatalf("got %d refusals, want one:\n%v\n%s", len(rs), rs, text)
	}
	if got, place := rs[0].Pos.String(), "f.yaml:"+at; got != place || !strings.Contains(rs[0].Message, want) {
		t.Errorf("got  %s\nwant %s: … %s …\n%s", rs[0], place, want, rs[0].Snippet)
	}
	if rs[0].Snippet == "" && text != "" {
		t.Error("no snippet")
	}
}

func TestWhatIsAllowedIsAccepted(t *testing.T) {
	for name, text := range map[string]string{
		"include and exclude, of which include counts": entity("  events: [{name: e, include: [id], exclude: [total]}]"),
		"fields of traits in exclude":                  entity("  inherits: [common]", "  events: [{name: e, exclude: [createdby]}]"),
		"one table name in two datastores":             "entities: [{name: a, fields: [{name: id}]}, {name: b, table: a, datastore: other, fields: [{name: id}]}]",
		"a column named like a keyword":                field("{name: select, type: int}"),
		"a string id from uuid()":                      "entities: [{name: a, fields: [{name: id, type: string, defaultvalue: uuid()}]}]",
		"a ulid id that says its default":              "entities: [{name: a, fields: [{name: id, defaultvalue: ulid()}]}]",
		"row rules with rls":                           entity("  events: [{}]", "  rowrules: [{name: r, actions: [read], language: expr, expression: x}]", "  subscriptions: [{name: s, rls: true}]"),
		"unused enums and traits":                      entity("enums: [{name: e, values: [{value: a}]}]", "traits: [{name: t, fields: []}]"),
	} {
		t.Run(name, func(t *testing.T) { parse(t, text) })
	}
}

// One file that cannot be read as YAML hides what it declares: nothing is said
// about names that it may hold.
func TestABrokenFileDoesNotAccuseTheOthers(t *testing.T) {
	_, rs := schema.Parse([]schema.Source{
		{Name: "a.yaml", Data: []byte("enums: [{name: state\n")},
		{Name: "b.yaml", Data: []byte("entities: [{name: b, fields: [{name: id}, {name: s, type: state}], subscriptions: [{name: s, source: c}], bogus: 1}]")},
	})
	var places []string
	for _, r := range rs {
		places = append(places, fmt.Sprintf("%s:%d", r.Pos.File, r.Pos.Line))
	}
	if diff := cmp.Diff([]string{"a.yaml:1", "b.yaml:1"}, places); diff != "" || !strings.Contains(rs.Error(), "bogus") {
		t.Errorf("refusals (-want +got):\n%s\n%v", diff, rs)
	}
}

// testdata/faults.yaml has many faults; testdata/faults.golden is what a person
// reads about them, in one go.
func TestAllFaultsAreReportedTogether(t *testing.T) {
	_, rs := schema.Load("testdata/faults.yaml")
	var b strings.Builder
	if err := rs.Print(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/faults.golden", []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/faults.golden")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
