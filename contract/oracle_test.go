package contract

import (
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// What a subscriber gets: the row as it may read it, and no frame of a row it
// may not. A transaction that writes a row twice shows no state in between, and
// its last state only to who may read that.
func TestTransactionShowsItsLastStateOnlyToItsReaders(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: guarded})
	ann, sue := s.User("ann"), s.User("sue", "staff")
	hers, all := ann.Open("/subscribe/note"), sue.Open("/subscribe/note")
	sue.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"note","data":{"id":"n","title":"hers","owner_id":"ann"}},
		{"op":"update","entity":"note","id":"n","data":{"title":"his alone","owner_id":"bob"}}]}`).Is(200)
	ann.Get("/data/note/n").Problem(404, "not_found")
	ann.Post("/data/note", `{"id":"next"}`).Is(201)
	if f := hers.Frame(); f.Subject() != "next" {
		t.Errorf("ann is shown a row that a GET hides: %s", f.Data)
	}
	for _, want := range []string{"entity.create", "entity.update"} {
		if f := all.Frame(); f.Event != want || f.Row() != sue.Get("/data/note/n").Body {
			t.Errorf("staff: %s %s", f.Event, f.Data)
		}
	}
}

// The same where the step that takes the row away is published to nobody: what
// was there between two steps was never committed, and nobody is shown it.
func TestTransactionNeverShowsAStateBetweenSteps(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: `
entities:
  - name: note
    fields: [{name: id, type: string}, {name: title, type: string}, {name: owner_id, type: string}]
    rowrules:
      - {name: own, actions: [read], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read], language: expr, expression: '"staff" in user.roles'}
    events: [{name: arrived, operations: [create]}]
    subscriptions: [{name: arrivals, rls: true}]
`})
	ann, sue := s.User("ann"), s.User("sue", "staff")
	hers, all := ann.Open("/subscribe/note"), sue.Open("/subscribe/note")
	sue.Post("/data/transaction", `{"writes":[
		{"op":"create","entity":"note","data":{"id":"kept","title":"draft","owner_id":"ann"}},
		{"op":"update","entity":"note","id":"kept","data":{"title":"fair copy"}},
		{"op":"create","entity":"note","data":{"id":"moved","title":"draft","owner_id":"ann"}},
		{"op":"update","entity":"note","id":"moved","data":{"owner_id":"bob"}},
		{"op":"create","entity":"note","data":{"id":"gone","title":"draft","owner_id":"ann"}},
		{"op":"delete","entity":"note","id":"gone"}]}`).Is(200)
	ann.Post("/data/note", `{"id":"next","owner_id":"ann"}`).Is(201)
	for name, c := range map[string]struct {
		stream *servertest.Stream
		want   []string
	}{
		"ann": {hers, []string{`{"id":"kept","title":"fair copy","owner_id":"ann"}`, `{"id":"next","title":null,"owner_id":"ann"}`}},
		"staff": {all, []string{`{"id":"kept","title":"fair copy","owner_id":"ann"}`, `{"id":"moved","title":"draft","owner_id":"bob"}`,
			`{"id":"next","title":null,"owner_id":"ann"}`}},
	} {
		for _, want := range c.want {
			if f := c.stream.Frame(); f.Row() != want {
				t.Errorf("%s is shown %s, want %s", name, f.Data, want)
			}
		}
	}
}
