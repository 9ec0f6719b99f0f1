package contract

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/rowcast/rowcast/internal/servertest"
)

// Frames: the bytes of a frame, field by field and in order.
func TestFrameBytes(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	stream := ann.Connect("/subscribe/order")
	if got, want := stream.Next().Raw, "retry: 2000\n: subscribed entity=order subscription=mine closing-in=30m0s\n"; got != want {
		t.Errorf("preamble:\n got %q\nwant %q", got, want)
	}
	before := time.Now().UTC().Add(-time.Second)
	id := ann.Post("/data/order", `{"title":"first"}`).Is(201).ID()
	f := stream.Frame()
	doc := f.JSON()
	want := fmt.Sprintf("id: %s\nevent: entity.create\ndata: {\"id\":\"%s\",\"type\":\"entity.create\",\"entity\":\"order\",\"operation\":\"create\","+
		"\"subject\":\"%s\",\"time\":\"%s\",\"tenant\":\"%s\",\"data\":%s}\n",
		f.ID, f.ID, id, doc["time"], servertest.Tenant, ann.Get("/data/order/"+id).Is(200).Body)
	if f.Raw != want {
		t.Errorf("frame:\n got %q\nwant %q", f.Raw, want)
	}
	if _, err := ulid.ParseStrict(f.ID); err != nil {
		t.Errorf("event id %q is no ULID: %v", f.ID, err)
	}
	text, _ := doc["time"].(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !strings.HasSuffix(text, "Z") || at.Before(before) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("time %q: %v", text, err)
	}
}

// Frames: type and operation of each kind of write. A restore is an update.
func TestOperations(t *testing.T) {
	s := start(t)
	sue := s.User("sue", "staff")
	stream := sue.Open("/subscribe/order")
	id := sue.Post("/data/order", `{"title":"a"}`).Is(201).ID()
	sue.Patch("/data/order/"+id, `{"title":"b"}`).Is(200)
	sue.Put("/data/order/"+id, `{"title":"c"}`).Is(200)
	sue.Delete("/data/order/" + id).Is(204)
	sue.Patch("/data/order/"+id+"/restore", "").Is(200)
	sue.Delete("/data/order/" + id + "/purge").Is(204)
	for i, want := range []string{"create", "update", "update", "delete", "update", "delete"} {
		f := stream.Frame()
		doc := f.JSON()
		if f.Event != "entity."+want || doc["type"] != f.Event || doc["operation"] != want || doc["subject"] != id {
			t.Errorf("frame %d: %s, want operation %s of %s", i, f.Raw, want, id)
		}
		if (f.Row() != "") != (want != "delete") {
			t.Errorf("frame %d: data %q on %s", i, f.Row(), want)
		}
	}
}

// Frames: one frame a row, not one a statement: an update of forty rows is
// forty frames, each naming its own.
func TestOneFrameARow(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	var want []string
	for i := range 40 {
		id := fmt.Sprintf("b%02d", i)
		ann.Post("/data/bell", `{"id":"`+id+`","text":"old"}`).Is(201)
		want = append(want, id)
	}
	stream := ann.Open("/subscribe/bell")
	if got := ann.Patch("/data/bell?filter[text][eq]=old", `{"text":"new"}`).Is(200).Body; got != `{"changed":40}` {
		t.Errorf("answer %s", got)
	}
	var got, ids []string
	for range want {
		f := stream.Frame()
		got, ids = append(got, f.Subject()), append(ids, f.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows named: %v", got)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 40 {
		t.Errorf("event ids are not forty, ascending: %v", ids)
	}
}

// Frames: data stays on one line whatever stands in the values.
func TestValuesNeverBreakAFrame(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	stream := ann.Open("/subscribe/product?name=rows")
	ann.Post("/data/product", `{"id":"p\n\r\nevent: x","name":"a\r\nb\rc\nd\u2028e\u2029f\u0085g<h>&\u0000"}`).Problem(400, "malformed_body")
	ann.Post("/data/product", `{"id":"p\n\r\nevent: x","name":"a\r\nb\rc\nd\u2028e\u2029f\u0085g<h>&"}`).Is(201)
	f := stream.Frame()
	if strings.Count(f.Raw, "\n") != 3 || strings.ContainsAny(f.Raw, "\r\u2028\u2029\u0085") {
		t.Errorf("frame %q", f.Raw)
	}
	data, _ := f.JSON()["data"].(map[string]any)
	if data["name"] != "a\r\nb\rc\nd\u2028e\u2029f\u0085g<h>&" {
		t.Errorf("name arrives as %q", data["name"])
	}
}

// Frames: every exit path unsubscribes. A client that hangs up is gone from the
// counters.
func TestHangingUpUnsubscribes(t *testing.T) {
	s := start(t)
	stream := s.User("ann").Open("/subscribe/bell")
	if got := s.Counters()[0]; got.Subscribers != 1 || got.Topics != 1 {
		t.Errorf("while open: %+v", got)
	}
	stream.Close()
	deadline := time.After(10 * time.Second)
	for s.Counters()[0].Subscribers != 0 {
		select {
		case <-deadline:
			t.Fatal("a stream whose client has gone is still registered")
		case <-time.After(5 * time.Millisecond):
		}
	}
}
