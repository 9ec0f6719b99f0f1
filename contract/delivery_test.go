package contract

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Delivery contract: a consumer that does not read never slows the write, and
// blocks nobody else. Beyond the contract it loses nothing: what its buffer had
// no room for is counted as dropped and comes from the log on the same
// connection, in order, counted as replayed.
func TestSlowConsumerLosesNothing(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	slow := ann.Stall("/subscribe/bell")
	quick := ann.Open("/subscribe/bell")
	const rounds, n = 3, 400
	text := strings.Repeat("x", 1000)
	rows := make([]string, n) // with large ids, so that frames are large
	for round := range rounds {
		for i := range n {
			rows[i] = fmt.Sprintf(`{"id":"%d-%04d-%s"}`, round, i, text)
		}
		ann.Post("/data/bell/bulk", "["+strings.Join(rows, ",")+"]").Is(201)
		for i := range n {
			want := fmt.Sprintf("%d-%04d-%s", round, i, text)
			if got := quick.Frame().Subject(); got != want {
				t.Fatalf("the quick one, round %d, frame %d: got row %.12s", round, i, got)
			}
		}
	}
	frames := slow.Resume()
	for round := range rounds {
		for i := range n {
			want := fmt.Sprintf("%d-%04d-%s", round, i, text)
			if got := frames.Frame().Subject(); got != want {
				t.Fatalf("the slow one, round %d, frame %d: got row %.12s", round, i, got)
			}
		}
	}
	for _, sub := range s.Subscribers() {
		if sum := sub.Delivered + sub.Replayed; sum != rounds*n {
			t.Errorf("delivered %d and replayed %d are not the %d frames there were", sub.Delivered, sub.Replayed, rounds*n)
		}
		if sub.Dropped != sub.Replayed {
			t.Errorf("dropped %d, replayed %d: what was dropped is what is replayed", sub.Dropped, sub.Replayed)
		}
	}
	if c := s.Counters()[0]; c.Published != rounds*n || c.Delivered+c.Replayed != 2*rounds*n || c.Dropped == 0 {
		t.Errorf("counters: %+v", c)
	}
}

// There is no replay and no gap detection — here there is: a client that
// reconnects with the last id it saw is sent what it missed, in order and once,
// across a restart of the server, and then goes on live.
func TestResume(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	stream := ann.Open("/subscribe/bell")
	ann.Post("/data/bell", `{"id":"a"}`).Is(201)
	last := stream.Frame().ID
	stream.Close()
	ann.Post("/data/bell", `{"id":"b"}`).Is(201)
	s.Restart()
	ann.Post("/data/bell", `{"id":"c"}`).Is(201)
	want := []string{"b", "c"}
	for _, c := range []struct {
		name  string
		again *servertest.Stream
	}{
		{"header", ann.Resume("/subscribe/bell", last)},
		{"parameter", ann.Open("/subscribe/bell?lastEventId=" + last)},
		{"header beats parameter", ann.Resume("/subscribe/bell?lastEventId=rubbish", last)},
	} {
		ann.Post("/data/bell", `{"id":"live `+c.name+`"}`).Is(201)
		want = append(want, "live "+c.name)
		for _, row := range want {
			if got := c.again.Frame().Subject(); got != row {
				t.Errorf("%s: got %s, want %s", c.name, got, row)
			}
		}
	}
}

// Beyond the contract: a stream can be resumed from the moment it is open, also
// one that was never told anything.
func TestResumeOfAStreamThatWasToldNothing(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	stream := ann.Open("/subscribe/bell")
	last := stream.Ping().ID
	stream.Close()
	ann.Post("/data/bell", `{"id":"missed"}`).Is(201)
	s.Restart()
	again := ann.Resume("/subscribe/bell", last)
	if got := again.Frame().Subject(); got != "missed" {
		t.Errorf("resumed with row %s, want the one that was written meanwhile", got)
	}
}

// manyPages is more rows than two pages of the log hold.
const manyPages = 1700

// missManyPages returns the last id of a client that has hung up before many
// pages were written.
func missManyPages(ann *servertest.Caller) (last string) {
	stream := ann.Open("/subscribe/bell")
	ann.Post("/data/bell", `{"id":"first"}`).Is(201)
	last = stream.Frame().ID
	stream.Close()
	rows := make([]string, manyPages)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":"b%04d"}`, i)
	}
	ann.Post("/data/bell/bulk", "["+strings.Join(rows, ",")+"]").Is(201)
	return last
}

// replaysManyPages reads what missManyPages missed, each row once, in order.
func replaysManyPages(t *testing.T, again *servertest.Stream) {
	t.Helper()
	for i := range manyPages {
		if got, want := again.Frame().Subject(), fmt.Sprintf("b%04d", i); got != want {
			t.Fatalf("frame %d is of row %s, want %s", i, got, want)
		}
	}
}

// A replay of many pages ends in the live stream without a hole, also when
// nothing is written meanwhile.
func TestResumeOverManyPages(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	again := ann.Resume("/subscribe/bell", missManyPages(ann))
	replaysManyPages(t, again)
	ann.Post("/data/bell", `{"id":"live"}`).Is(201)
	if got := again.Frame().Subject(); got != "live" {
		t.Errorf("after the replay comes %s", got)
	}
}

// A replay of many pages is whole also right after a restart, before anything
// new is written: what the log held when the server started is read to its end.
func TestResumeOverManyPagesAfterARestart(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	last := missManyPages(ann)
	s.Restart()
	replaysManyPages(t, ann.Resume("/subscribe/bell", last))
}

// There is no gap detection — here there is: an id that stands for no place in
// the log is answered with a gap, which bears a position of its own, so that
// the next reconnect goes on from there and is not told again.
func TestGap(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	for since, reason := range map[string]string{
		"01M2P1R18V26CMVBZ1DC0AS1Z1": "unknown", "nonsense": "unknown", "~AAAA": "unknown", "a\"b": "unknown",
	} {
		stream := ann.Resume("/subscribe/bell", since)
		gap := stream.Frame()
		if gap.Event != "stream.gap" || gap.JSON()["reason"] != reason || gap.JSON()["since"] != since || !strings.HasPrefix(gap.ID, "~") {
			t.Errorf("since %q: %s", since, gap.Raw)
		}
		stream.Close()
		ann.Post("/data/bell", fmt.Sprintf(`{"id":%q}`, "after "+since)).Is(201)
		if got := ann.Resume("/subscribe/bell", gap.ID).Frame(); got.Subject() != "after "+since {
			t.Errorf("resumed from the gap's id: %s", got.Raw)
		}
	}
}

// A replay goes through the very same checks as the live stream: rows that are
// not the subscriber's stay unseen.
func TestReplayIsGuarded(t *testing.T) {
	s := start(t)
	ann, bob := s.User("ann"), s.User("bob")
	stream := ann.Open("/subscribe/order")
	ann.Post("/data/order", `{"title":"first"}`).Is(201)
	last := stream.Frame().ID
	bob.Post("/data/order", `{"title":"his"}`).Is(201)
	lost := ann.Post("/data/order", `{"title":"given away"}`).Is(201).ID()
	s.User("sue", "staff").Patch("/data/order/"+lost, `{"owner_id":"bob"}`).Is(200)
	kept := ann.Post("/data/order", `{"title":"kept"}`).Is(201).ID()
	again := ann.Resume("/subscribe/order", last)
	if f := again.Frame(); f.Subject() != kept {
		t.Errorf("replayed %s, which ann may no longer read", f.Data)
	}
}

// Two paths produce no events at all. Bulk create does here, one a row, unless
// the publisher opts out; an entity without events stays silent.
func TestBulkPublishes(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: `
entities:
  - name: loud
    fields: [{name: id, type: string}]
    events: [{name: e}, {name: q, topic: singly, bulk: false}]
    subscriptions: [{name: all}, {name: singly, source: singly}]
`})
	ann := s.User("ann")
	all, singly := ann.Open("/subscribe/loud?name=all"), ann.Open("/subscribe/loud?name=singly")
	ann.Post("/data/loud/bulk", `[{"id":"a"},{"id":"b"}]`).Is(201)
	ann.Post("/data/loud", `{"id":"c"}`).Is(201)
	for _, want := range []string{"a", "b", "c"} {
		if got := all.Frame().Subject(); got != want {
			t.Errorf("all: got %s, want %s", got, want)
		}
	}
	if got := singly.Frame().Subject(); got != "c" {
		t.Errorf("a publisher with bulk: false told of %s", got)
	}
}

// Scope of the fan-out: the same entity in two tenants; nothing crosses, and a
// name that only the other tenant has does not exist.
func TestTenantsAreApart(t *testing.T) {
	const other = "acme:test:shop:t2"
	s := servertest.Start(t, servertest.Options{Schema: shop, Tenants: map[string]string{other: `
entities:
  - name: bell
    fields: [{name: id, type: string}, {name: text, type: string}]
    events: [{name: changed}]
    subscriptions: [{name: rings, rls: true}]
  - name: theirs
    fields: [{name: id, type: string}]
`}})
	ann := s.User("ann")
	zoe := s.As(s.TokenOf(other, "ann"))
	hers, zoes := ann.Open("/subscribe/bell"), zoe.Open("/subscribe/bell")
	ann.Post("/data/bell", `{"id":"x","text":"one"}`).Is(201)
	zoe.Post("/data/bell", `{"id":"x","text":"two"}`).Is(201)
	if f := hers.Frame(); f.JSON()["tenant"] != servertest.Tenant || f.Row() != "" {
		t.Errorf("ann is told %s", f.Data)
	}
	f := zoes.Frame()
	if f.JSON()["tenant"] != other || f.Row() != `{"id":"x","text":"two"}` {
		t.Errorf("zoe is told %s", f.Data)
	}
	if got := ann.Get("/data/bell/x").Is(200).Body; got != `{"id":"x","text":"one"}` {
		t.Errorf("ann reads %s", got)
	}
	unknown, foreign := ann.Get("/data/nothing").Problem(404, "entity_not_found"), ann.Get("/data/theirs").Problem(404, "entity_not_found")
	if strings.ReplaceAll(unknown.Detail, "nothing", "theirs") != foreign.Detail {
		t.Errorf("another tenant's name answers otherwise than no name: %q, %q", unknown.Detail, foreign.Detail)
	}
	ann.Get("/subscribe/theirs").Problem(404, "entity_not_found")
	gap := ann.Resume("/subscribe/bell", f.ID).Frame()
	if gap.Event != "stream.gap" || gap.JSON()["reason"] != "unknown" {
		t.Errorf("another tenant's event id is a place here: %s", gap.Raw)
	}
	if items := s.User("root", "admin").Get("/admin/data/streams").Is(200).Body; strings.Contains(items, other) {
		t.Errorf("an admin sees another tenant's streams: %s", items)
	}
}

// Counters: per subscriber and per manager. Beyond the contract they can be read
// over HTTP, by the admin role alone.
func TestCounters(t *testing.T) {
	s := start(t)
	ann, root := s.User("ann"), s.User("root", "admin")
	stream := ann.Open("/subscribe/bell")
	ann.Post("/data/bell", `{"id":"a"}`).Is(201)
	stream.Frame()
	subs := s.Subscribers()
	if len(subs) != 1 || subs[0].Delivered != 1 || subs[0].Dropped != 0 || subs[0].Principal != "ann" || subs[0].Subscription != "rings" {
		t.Errorf("subscribers: %+v", subs)
	}
	if c := s.Counters()[0]; c.Subscribers != 1 || c.Topics != 1 || c.Published != 1 || c.Delivered != 1 || c.Dropped != 0 {
		t.Errorf("counters: %+v", c)
	}
	ann.Get("/admin/data/streams").Problem(403, "forbidden")
	ann.Get("/metrics").Problem(403, "forbidden")
	s.As("").Get("/metrics").Problem(401, "unauthenticated")
	items, _ := root.Get("/admin/data/streams").Is(200).JSON()["items"].([]any)
	if len(items) != 1 {
		t.Fatalf("streams: %v", items)
	}
	item, _ := items[0].(map[string]any)
	if item["principal"] != "ann" || item["entity"] != "bell" || fmt.Sprint(item["delivered"]) != "1" {
		t.Errorf("stream: %v", item)
	}
	metrics := root.Get("/metrics").Is(200).Body
	for _, name := range []string{
		"rowcast_subscribers", "rowcast_topics", "rowcast_events_published_total", "rowcast_events_delivered_total",
		"rowcast_events_dropped_total", "rowcast_events_replayed_total", "rowcast_log_lag_seconds", "go_goroutines",
	} {
		if !strings.Contains(metrics, "\n"+name) {
			t.Errorf("/metrics has no %s", name)
		}
	}
}

// Beyond the contract: a stopping server says goodbye in-band, with a wait that
// spreads the clients' return, and the stream goes on elsewhere or later.
func TestShutdownEndsStreamsInBand(t *testing.T) {
	s := start(t)
	stream := s.User("ann").Open("/subscribe/bell")
	stream.Ping()
	s.Stop()
	rest := stream.End()
	if len(rest) != 1 || !strings.HasPrefix(rest[0].Raw, "retry: ") || !strings.HasSuffix(rest[0].Raw, "\n: closing, reconnect\n") {
		t.Errorf("ends with %q", rest)
	}
}
