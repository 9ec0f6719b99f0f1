package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/servertest"
)

// Section 2, the payload: the bytes of a frame, field by field and in order; the
// item is what a read answers.
func TestChannelFrameBytes(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	stream := ann.Connect("/realtime?channel=task")
	if got, want := stream.Next().Raw, "retry: 2000\n: subscribed entity=task channel=task closing-in=30m0s\n"; got != want {
		t.Errorf("preamble:\n got %q\nwant %q", got, want)
	}
	before := time.Now().UTC().Add(-time.Second)
	row := `{"id":"a","title":"first","status":"todo","points":%s,"done_at":null,"deletedby":null,"deletedon":null}`
	for _, want := range []struct{ method, path, body, event, rest string }{
		{"POST", "task", `{"id":"a","title":"first"}`, "created", fmt.Sprintf(row, "null")},
		{"PATCH", "task/a", `{"points":2,"title":"first"}`, "patched", fmt.Sprintf(row, "2") + `,"changed":["points","title"]`},
		{"DELETE", "task/a", "", "deleted", "null"},
	} {
		ann.Do(want.method, "/data/"+want.path, want.body)
		f := stream.Frame()
		at, _ := f.JSON()["occurredAt"].(string)
		line := `{"event":"` + want.event + `","entity":"task","id":"a","channel":"task.a","occurredAt":"` + at + `","item":` + want.rest + "}"
		if whole := "id: " + f.ID + "\nevent: " + want.event + "\ndata: " + line + "\n"; f.Raw != whole {
			t.Errorf("frame:\n got %q\nwant %q", f.Raw, whole)
		}
		if _, err := ulid.ParseStrict(f.ID); err != nil {
			t.Errorf("event id %q is no ULID: %v", f.ID, err)
		}
		if when, err := time.Parse(time.RFC3339, at); err != nil || !strings.HasSuffix(at, "Z") || when.Before(before) || when.After(time.Now().Add(time.Second)) {
			t.Errorf("occurredAt %q: %v", at, err)
		}
	}
}

// Section 2: changed names what was sent, on updated and patched alone; it is no
// comparison with the values before.
func TestChangedNamesWhatWasSent(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	stream := ann.Open("/realtime?channel=task")
	ann.Post("/data/task", `{"id":"a","title":"x"}`).Is(201)
	ann.Patch("/data/task/a", `{"title":"x"}`).Is(200) // the very same
	ann.Put("/data/task/a", `{"points":1,"title":"x"}`).Is(200)
	ann.Patch("/data/task/a", `{}`).Is(200)
	ann.Patch("/data/task/a", `{"status":"done"}`).Is(200)
	tells(t, stream, "created a", "patched a title")
	if got := inShort(stream.Frame()); got != "updated a points,title" && got != "updated a title,points" {
		t.Errorf("a PUT: %s", got)
	}
	if got := inShort(stream.Frame()); got != "patched a" && got != "patched a status" {
		t.Errorf("a PATCH of nothing: %s", got)
	}
}

// Section 2: one event a write, built once: whoever is told, on whichever channel,
// is told with one id and one time. A write of many rows is one event a row.
func TestOneEventForAllWhoAreTold(t *testing.T) {
	s := startBoard(t)
	ann := s.User("ann")
	all := []*servertest.Stream{
		ann.Open("/realtime?channel=task"), ann.Open("/realtime?channel=task.a"), ann.Open("/realtime?channel=task&filter[id][eq]=a&fields=title"),
		s.User("bob").Open("/realtime?channel=task&leave=true"),
	}
	ann.Post("/data/task/bulk", `[{"id":"a","title":"x"},{"id":"b","title":"x"}]`).Is(201)
	var first servertest.Frame
	for i, stream := range all {
		f := stream.Frame()
		if i == 0 {
			first = f
		}
		if f.ID != first.ID || f.JSON()["occurredAt"] != first.JSON()["occurredAt"] || f.JSON()["id"] != "a" {
			t.Errorf("stream %d is told %s, the first %s", i, f.Raw, first.Raw)
		}
	}
	if f := all[0].Frame(); f.ID == first.ID || f.JSON()["id"] != "b" {
		t.Errorf("the other row: %s", f.Raw)
	}
}

// Section 2: an entity is silent unless it, or the boot document for all, turns
// channels on; false turns them off, whatever the boot document says.
func TestRealtimeIsOptIn(t *testing.T) {
	s := startBoard(t)
	s.User("ann").Get("/realtime?channel=dark").Problem(404, "no_channel")
	on := servertest.Start(t, servertest.Options{Boot: "realtime: {events: {updated: false}}\n", Schema: strings.Replace(board, "realtime: {}", "realtime: false", 1)})
	ann := on.User("ann")
	ann.Get("/realtime?channel=plain").Problem(404, "no_channel")
	stream := ann.Open("/realtime?channel=dark")
	ann.Post("/data/dark", `{"id":"a"}`).Is(201)
	tells(t, stream, "created a")
	ann.Put("/data/dark/a", `{"title":"y"}`).Is(200)
	ann.Delete("/data/dark/a").Is(204)
	tells(t, stream, "deleted a")
}

// deaf is a transport that never comes back, one that fails or one that panics.
type deaf struct {
	name    string
	publish func(ctx context.Context) error
}

func (d deaf) Name() string { return d.name }

func (d deaf) Publish(ctx context.Context, _ event.ChannelEvent) error { return d.publish(ctx) }

// Section 2: a transport that fails never fails a write; its failure is told to
// OnPublishError. Beyond the contract: one that panics or never comes back delays
// neither writes nor streams nor another transport, and is counted.
func TestNoTransportHurtsAWrite(t *testing.T) {
	failed := make(chan string, 100)
	good := &caseBroker{caseTransport{Name: "good"}, make(chan event.ChannelEvent, 100)}
	s := servertest.Start(t, servertest.Options{Schema: board, Embed: func(c *rowcast.Config) {
		c.Transports = []rowcast.Transport{
			deaf{"blocked", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }},
			deaf{"failing", func(context.Context) error { return errors.New("no") }},
			deaf{"panicking", func(context.Context) error { panic("it was to panic") }}, good,
		}
		c.OnPublishError = func(transport string, e event.ChannelEvent, err error) { failed <- transport + " " + e.ID }
	}})
	ann := s.User("ann")
	stream := ann.Open("/realtime?channel=note")
	for _, id := range []string{"a", "b", "c"} {
		ann.Post("/data/note", `{"id":"`+id+`","secret":"s"}`).Is(201)
		tells(t, stream, "created "+id)
		if e := next(t, good.events); e.ID != id || !strings.Contains(string(e.Item), `"secret":"s"`) {
			t.Errorf("the embedder is told %+v", e)
		}
	}
	want := map[string]bool{"failing a": true, "panicking a": true, "failing c": true, "panicking c": true}
	for len(want) > 0 {
		delete(want, next(t, failed))
	}
	metrics := s.User("root", "admin").Get("/metrics").Is(200).Body
	for _, name := range []string{"failing", "panicking"} {
		if !strings.Contains(metrics, name) {
			t.Errorf("/metrics does not count %s", name)
		}
	}
}
