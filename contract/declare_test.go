package contract

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

const fields = `
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
      - {name: owner_id, type: string}`

// Declaring a stream: what could never work, or would be ignored, is refused at
// boot with its place and the way out.
func TestBootRefusals(t *testing.T) {
	for _, c := range []struct{ name, section, rest, mentions string }{
		{"a source nobody publishes to", "Change streams", `
    subscriptions: [{name: s, source: entity.other}]`, "entity.other"},
		{"a subscription without any events", "There is no replay, the silent paths", `
    subscriptions: [{name: s}]`, "entity.note"},
		{"row rules and no rls", "What a subscriber gets", `
    rowrules: [{name: own, actions: [read], language: expr, expression: row.owner_id == user.id}]
    events: [{name: e}]
    subscriptions: [{name: s}]`, "rls"},
		{"an operation there is not", "events", `
    events: [{name: e, operations: [create, read]}]`, "read"},
		{"two events on one topic", "events", `
    events: [{name: a}, {name: b}]`, "entity.note"},
		{"another format", "events", `
    events: [{name: e, format: xml}]`, "xml"},
		{"include naming no field", "events", `
    events: [{name: e, include: [id, txt]}]`, "txt"},
		{"exclude naming no field", "events", `
    events: [{name: e, exclude: [txt]}]`, "txt"},
		{"a condition that misspells a field", "events", `
    events: [{name: e, condition: {language: expr, expression: payload.txt != ""}}]`, "txt"},
		{"a condition in another language", "events", `
    events: [{name: e, condition: {language: lua, expression: "true"}}]`, "lua"},
		{"an event type there is not", "subscriptions", `
    events: [{name: e}]
    subscriptions: [{name: s, eventtypes: [restore]}]`, "restore"},
		{"two subscriptions of one name", "subscriptions", `
    events: [{name: e}]
    subscriptions: [{name: s}, {name: s}]`, "s"},
		{"another scope", "subscriptions", `
    events: [{name: e}]
    subscriptions: [{name: s, scope: team}]`, "team"},
		{"another transport", "subscriptions", `
    events: [{name: e}]
    subscriptions: [{name: s, transports: [websocket]}]`, "websocket"},
		{"fieldgroup", "subscriptions", `
    events: [{name: e}]
    subscriptions: [{name: s, fieldgroup: small}]`, "fieldgroup"},
		{"a filter that misspells a field", "subscriptions", `
    events: [{name: e}]
    subscriptions: [{name: s, filter: {language: expr, expression: payload.txt == "a"}}]`, "txt"},
		{"a filter by a field that the publisher leaves out", "subscriptions", `
    events: [{name: e, exclude: [text]}]
    subscriptions: [{name: s, filter: {language: expr, expression: payload.text == "a"}}]`, "text"},
		{"a misspelt key", "Declaring a stream", `
    events: [{name: e, exlude: [text]}]`, "exlude"},
		{"subscriptions at the top of the file", "subscriptions", `
subscriptions: [{name: s}]`, "subscriptions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := servertest.Refusal(t, servertest.Options{Schema: "entities:\n  - name: note" + fields + c.rest + "\n"})
			line := err.Error()
			if !strings.Contains(line, "schema.yaml:") || !strings.Contains(line, c.mentions) {
				t.Errorf("section %q: refusal does not name its place and %q:\n%s", c.section, c.mentions, line)
			}
		})
	}
}

// events, the publishing side: operations default to every write, the topic to
// entity.<name>; an entry with operations publishes those alone.
func TestPublisherDefaults(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	arrivals := ann.Open("/subscribe/product?name=arrivals")
	changes := ann.Open("/subscribe/product?name=changes")
	ann.Post("/data/product", `{"id":"p"}`).Is(201)
	ann.Patch("/data/product/p", `{"price":1}`).Is(200)
	ann.Post("/data/product", `{"id":"q"}`).Is(201)
	first, update := changes.Frame(), changes.Frame()
	if first.Event != "entity.create" || update.Event != "entity.update" {
		t.Errorf("changes: %s, %s", first.Event, update.Event)
	}
	one, two := arrivals.Frame(), arrivals.Frame()
	if one.Subject() != "p" || two.Subject() != "q" {
		t.Errorf("arrivals: %s, %s; an update was published there", one.Data, two.Data)
	}
	if one.ID == first.ID {
		t.Error("events of two topics share an id")
	}
}

// events, the publishing side: include and exclude are the selection for the
// stream, and hold on rows that are read again; exclude is ignored beside include.
func TestIncludeHoldsOnRows(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	live := ann.Open("/subscribe/product?name=rows")
	id := live.LastID()
	ann.Post("/data/product", `{"id":"p","name":"pen","price":3,"secret":"s"}`).Is(201)
	want := `{"id":"p","name":"pen","price":3}`
	f := live.Frame()
	if f.Row() != want {
		t.Errorf("live: %s, want %s", f.Row(), want)
	}
	_ = id
	ann.Patch("/data/product/p", `{"price":4}`).Is(200)
	want = `{"id":"p","name":"pen","price":4}`
	if got := ann.Resume("/subscribe/product?name=rows", f.ID).Frame().Row(); got != want {
		t.Errorf("replayed: %s, want %s", got, want)
	}
}

// events, the publishing side: a falsy condition skips the event and not the write.
func TestFalsyConditionSkipsTheEvent(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	stream := ann.Open("/subscribe/order")
	draft := ann.Post("/data/order", `{"title":"d","status":"draft"}`).Is(201).ID()
	open := ann.Post("/data/order", `{"title":"o"}`).Is(201).ID()
	if got := stream.Frame().Subject(); got != open {
		t.Errorf("told of %s, want only %s", got, open)
	}
	ann.Get("/data/order/" + draft).Is(200)
}

// events, the publishing side: a condition that cannot be evaluated aborts the
// write, which leaves nothing behind.
func TestFailingConditionAbortsTheWrite(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: `
entities:
  - name: note
    fields: [{name: id, type: string}, {name: n, type: int}]
    events: [{name: e, condition: {language: expr, expression: payload.n > 5}}]
    subscriptions: [{name: s}]
`})
	ann := s.User("ann")
	stream := ann.Open("/subscribe/note")
	ann.Post("/data/note", `{"id":"a"}`).Problem(500, "event_condition_failed")
	ann.Get("/data/note/a").Problem(404, "not_found")
	ann.Post("/data/note", `{"id":"b","n":6}`).Is(201)
	ann.Patch("/data/note/b", `{"n":null}`).Problem(500, "event_condition_failed")
	if got := ann.Get("/data/note/b").Is(200).Body; got != `{"id":"b","n":6}` {
		t.Errorf("after an aborted PATCH the row is %s", got)
	}
	if got := stream.Frame().Subject(); got != "b" {
		t.Errorf("told of %s", got)
	}
}

// The event fires before commit — not here: only what committed is published. A
// transaction that is rolled back tells nobody.
func TestRolledBackTransactionPublishesNothing(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	stream := ann.Open("/subscribe/bell")
	ann.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"bell","data":{"id":"a"}},
		{"op":"create","entity":"bell","data":{"id":"a"}}]}`).Problem(409, "conflict")
	ann.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"bell","data":{"id":"b"}},
		{"op":"update","entity":"bell","id":"b","data":{"text":"x"}}]}`).Is(200)
	for _, want := range []string{"entity.create", "entity.update"} {
		if f := stream.Frame(); f.Event != want || f.Subject() != "b" {
			t.Errorf("told %s of %s, want %s of b", f.Event, f.Subject(), want)
		}
	}
	ann.Get("/data/bell/a").Problem(404, "not_found")
}
