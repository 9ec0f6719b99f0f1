package contract

import (
	"strings"
	"testing"
)

// What a subscriber gets: without rls a frame says which row changed and how,
// and carries none of its values.
func TestNotificationCarriesNoValues(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	stream := ann.Open("/subscribe/product?name=changes")
	ann.Post("/data/product", `{"id":"p1","name":"pen","price":3}`).Is(201)
	f := stream.Frame()
	if doc := f.JSON(); doc["subject"] != "p1" || doc["operation"] != "create" || doc["entity"] != "product" {
		t.Errorf("the frame does not name its row: %s", f.Data)
	}
	if f.Row() != "" || strings.Contains(f.Data, "pen") {
		t.Errorf("values travel without rls: %s", f.Data)
	}
}

// What a subscriber gets: with rls a frame carries the row exactly as the
// subscriber reads it, less what the publisher leaves out; fields it may not
// read are absent and masks hold.
func TestRowIsWhatTheSubscriberReads(t *testing.T) {
	s := start(t)
	ann, sue := s.User("ann"), s.User("sue", "staff")
	hers, all := ann.Open("/subscribe/order"), sue.Open("/subscribe/order")
	id := ann.Post("/data/order", `{"title":"first","total":7,"card_last4":"1234","internal_notes":"x"}`).Is(201).ID()

	if got, want := hers.Frame().Row(), ann.Get("/data/order/"+id).Is(200).Body; got != want {
		t.Errorf("frame shows %s\n    GET shows %s", got, want)
	}
	got, read := all.Frame().Row(), sue.Get("/data/order/"+id).Is(200).Body
	if want := strings.Replace(read, `,"internal_notes":"x"`, "", 1); got != want || want == read {
		t.Errorf("frame shows %s\n    want GET less what the event excludes: %s", got, want)
	}
	if !strings.Contains(got, `"card_last4":"1234"`) {
		t.Errorf("staff may unmask: %s", got)
	}
	if row := ann.Get("/data/order/" + id).Body; !strings.Contains(row, `"card_last4":"**34"`) || strings.Contains(row, "internal_notes") {
		t.Errorf("ann reads %s", row)
	}
}

// What a subscriber gets: a row the subscriber may not see produces no frame at all.
func TestInvisibleRowProducesNoFrame(t *testing.T) {
	s := start(t)
	ann, bob := s.User("ann"), s.User("bob")
	stream := bob.Open("/subscribe/order")
	ann.Post("/data/order", `{"title":"hers"}`).Is(201)
	his := bob.Post("/data/order", `{"title":"his"}`).Is(201).ID()
	if got := stream.Frame().Subject(); got != his {
		t.Errorf("the first frame is of row %s, want his own %s", got, his)
	}
}

// What a subscriber gets: a delete is a notification, since a removed row has
// no values left. Beyond the contract: where rows are ruled, it reaches only
// those who could read the row just before.
func TestDeleteIsANotification(t *testing.T) {
	s := start(t)
	ann, bob, sue := s.User("ann"), s.User("bob"), s.User("sue", "staff")
	id := ann.Post("/data/order", `{"title":"a"}`).Is(201).ID()
	hers, his, all := ann.Open("/subscribe/order"), bob.Open("/subscribe/order"), sue.Open("/subscribe/order")
	ann.Delete("/data/order/" + id).Is(204)
	last := bob.Post("/data/order", `{"title":"b"}`).Is(201).ID()
	for name, f := range map[string]string{"owner": hers.Frame().Data, "staff": all.Frame().Data} {
		if !strings.Contains(f, `"type":"entity.delete"`) || !strings.Contains(f, id) || strings.Contains(f, `"data"`) {
			t.Errorf("%s is told %s", name, f)
		}
	}
	if got := his.Frame().Subject(); got != last {
		t.Errorf("bob is told of row %s, which he could never read", got)
	}
}

// What a subscriber gets, beyond the contract: a row that goes out of sight is
// told as a leave to who asked for it, by id alone.
func TestLeaveTellsThatARowWentOutOfSight(t *testing.T) {
	s := start(t)
	ann, sue := s.User("ann"), s.User("sue", "staff")
	id := ann.Post("/data/order", `{"title":"a","total":5}`).Is(201).ID()
	asked, silent := ann.Open("/subscribe/order?leave=true"), ann.Open("/subscribe/order")
	sue.Patch("/data/order/"+id, `{"owner_id":"bob"}`).Is(200)
	next := ann.Post("/data/order", `{"title":"b"}`).Is(201).ID()

	f := asked.Frame()
	if f.Event != "entity.leave" || f.Subject() != id || f.JSON()["operation"] != "update" || f.Row() != "" {
		t.Errorf("leave: %s %s", f.Event, f.Data)
	}
	if got := silent.Frame().Subject(); got != next {
		t.Errorf("who did not ask is told of %s", got)
	}
}
