package contract

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// subscriptions, the listening side: eventtypes says which operations reach a
// subscriber; source which topic.
func TestEventTypes(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	writes := ann.Open("/subscribe/product?name=writes")
	ann.Post("/data/product", `{"id":"p"}`).Is(201)
	ann.Delete("/data/product/p").Is(204)
	ann.Post("/data/product", `{"id":"q"}`).Is(201)
	if a, b := writes.Frame(), writes.Frame(); a.Subject() != "p" || b.Subject() != "q" {
		t.Errorf("got %s, %s: a delete reached a subscription that leaves it out", a.Data, b.Data)
	}
}

// subscriptions, the listening side: scope user narrows to the writes this
// caller made, and never takes two anonymous callers for one.
func TestScopeUser(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: shop + `
  - name: wall
    fields: [{name: id, type: string}]
    access:
      actions: {language: expr, expression: '["create", "read"]'}
    events: [{name: e}]
    subscriptions: [{name: own, scope: user}, {name: all}]
`, Auth: "  anonymous: {roles: [public]}\n"})
	ann, bob, nobody := s.User("ann"), s.User("bob"), s.As("")
	own := ann.Open("/subscribe/wall?name=own")
	unknown, all := nobody.Open("/subscribe/wall?name=own"), nobody.Open("/subscribe/wall?name=all")
	bob.Post("/data/wall", `{"id":"bobs"}`).Is(201)
	nobody.Post("/data/wall", `{"id":"nobodys"}`).Is(201)
	ann.Post("/data/wall", `{"id":"anns"}`).Is(201)
	if got := own.Frame().Subject(); got != "anns" {
		t.Errorf("ann is told of %s", got)
	}
	for range 3 {
		all.Frame()
	}
	unknown.Ping()
	unknown.Close()
	for _, b := range unknown.End() {
		t.Errorf("an anonymous caller's own writes: %q", b.Raw)
	}
}

// subscriptions, the listening side: a filter is truthy to deliver, and sees
// the row as the subscriber may.
func TestSubscriptionFilter(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	dear := ann.Open("/subscribe/product?name=dear")
	ann.Post("/data/product", `{"id":"cheap","price":5}`).Is(201)
	ann.Post("/data/product", `{"id":"dear","price":500}`).Is(201)
	ann.Patch("/data/product/cheap", `{"price":600}`).Is(200)
	if f := dear.Frame(); f.Subject() != "dear" || f.Event != "entity.create" {
		t.Errorf("first: %s", f.Data)
	}
	if f := dear.Frame(); f.Subject() != "cheap" || f.Event != "entity.update" {
		t.Errorf("a row that came to match: %s", f.Data)
	}
}

// A filter is a delivery filter: one that fails delivers nothing rather than
// everything; it is counted and hurts nobody.
func TestFailingFilterDeliversNothing(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	dear := ann.Open("/subscribe/product?name=dear")
	ann.Post("/data/product", `{"id":"unpriced"}`).Is(201)
	ann.Post("/data/product", `{"id":"dear","price":500}`).Is(201)
	if got := dear.Frame().Subject(); got != "dear" {
		t.Errorf("told of %s", got)
	}
	if got := s.Counters()[0]; got.Delivered != 1 || got.Dropped != 0 {
		t.Errorf("a rejected event is counted: %+v", got)
	}
	metrics := s.User("root", "admin").Get("/metrics").Is(200).Body
	if !strings.Contains(metrics, "rowcast_filter_failures_total{") || !strings.Contains(metrics, "} 1\n") {
		t.Error("the failed filter is not counted in /metrics")
	}
}

// A subscription may listen to another entity's topic: then its rows are
// guarded as that entity's are, and who may not read it may not listen.
func TestSourceOfAnotherEntity(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: `
entities:
  - name: order
    fields: [{name: id, type: string}, {name: owner_id, type: string, defaultvalue: user.id}]
    access:
      actions: {language: expr, expression: '"blind" in user.roles ? [] : ["create","read"]'}
    rowrules: [{name: own, actions: [read], language: expr, expression: row.owner_id == user.id}]
    events: [{name: e, topic: sales}]
  - name: desk
    fields: [{name: id, type: string}]
    events: [{name: e}]
    subscriptions: [{name: sales, source: sales, rls: true}]
`})
	ann, bob := s.User("ann"), s.User("bob")
	s.User("eve", "blind").Get("/subscribe/desk").Problem(403, "forbidden")
	stream := ann.Open("/subscribe/desk")
	bob.Post("/data/order", `{"id":"bobs"}`).Is(201)
	ann.Post("/data/order", `{"id":"anns"}`).Is(201)
	if f := stream.Frame(); f.Subject() != "anns" || f.JSON()["entity"] != "order" || f.Row() != `{"id":"anns","owner_id":"ann"}` {
		t.Errorf("got %s", f.Data)
	}
}
