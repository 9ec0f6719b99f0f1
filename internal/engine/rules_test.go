package engine_test

import (
	"context"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
)

// No write leaves a row that its writer's rules refuse: whatever the way, alice
// can neither create a row that is bob's nor make one of hers his.
func TestNoWriteLeavesARowItsWritersRulesRefuse(t *testing.T) {
	ctx := context.Background()
	ways := []struct {
		name string
		try  func(h *house, own string) error
	}{
		{"POST", func(h *house, _ string) error {
			_, err := h.create(alice, "order", `{"title":"new","owner_id":"bob"}`)
			return err
		}},
		{"POST of a row without an owner", func(h *house, _ string) error {
			_, err := h.create(alice, "order", `{"title":"new","owner_id":null}`)
			return err
		}},
		{"POST of a row that everybody may read", func(h *house, _ string) error {
			_, err := h.create(alice, "order", `{"title":"new","owner_id":"bob","status":"open"}`)
			return err
		}},
		{"PUT", func(h *house, own string) error {
			_, err := h.put(alice, own, `{"title":"new","owner_id":"bob"}`)
			return err
		}},
		{"PATCH", func(h *house, own string) error {
			_, err := h.patch(alice, "order", own, `{"owner_id":"bob"}`)
			return err
		}},
		{"PATCH to no owner", func(h *house, own string) error {
			_, err := h.patch(alice, "order", own, `{"owner_id":null}`)
			return err
		}},
		{"many-row PATCH", func(h *house, _ string) error {
			_, err := h.PatchMany(ctx, h.grant(alice, "order", access.Update), "filter[title][eq]=own", body(h.t, `{"owner_id":"bob"}`))
			return err
		}},
		{"bulk", func(h *house, _ string) error {
			bodies := []engine.Body{body(h.t, `{"title":"new"}`), body(h.t, `{"title":"new","owner_id":"bob"}`)}
			_, _, err := h.Bulk(ctx, h.grant(alice, "order", access.Create), bodies, engine.Options{})
			return err
		}},
		{"a transaction that creates", func(h *house, _ string) error {
			_, err := h.Transaction(ctx, alice, []engine.Step{
				{Op: "create", Entity: "order", Data: body(h.t, `{"title":"new"}`)},
				{Op: "create", Entity: "order", Data: body(h.t, `{"title":"new","owner_id":"bob"}`)},
			}, engine.Options{})
			return err
		}},
		{"a transaction that moves", func(h *house, own string) error {
			_, err := h.Transaction(ctx, alice, []engine.Step{
				{Op: "update", Entity: "order", ID: own, Data: body(h.t, `{"total":7}`)},
				{Op: "update", Entity: "order", ID: own, Data: body(h.t, `{"owner_id":"bob"}`)},
			}, engine.Options{})
			return err
		}},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			h := open(t)
			own := h.given(alice, "order", `{"title":"own","total":1}`)
			h.forget()
			wantFault(t, way.try(h, own), fault.RowRefused)
			wantFields(t, h.read(alice, "order", own), map[string]any{"title": "own", "total": 1, "owner_id": "alice"})
			if page := h.list(staff, "order", ""); len(page.Rows) != 1 {
				t.Errorf("got %d rows, want the one that was there", len(page.Rows))
			}
			if got := h.events("entity.order"); len(got) != 0 {
				t.Errorf("got %d events of what was never written", len(got))
			}
		})
	}
}

// A row deleted by one owner and given to another meanwhile is not hers to bring back.
func TestRestoreLeavesNoRowItsWritersRulesRefuse(t *testing.T) {
	h := open(t)
	id := h.given(staff, "order", `{"title":"ab","owner_id":"alice"}`)
	if err := h.remove(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	_, err := h.restore(bob, "order", id)
	wantFault(t, err, fault.NotFound)

	open := h.given(staff, "order", `{"title":"ab","owner_id":"alice","status":"open"}`)
	if err := h.remove(alice, "order", open); err != nil {
		t.Fatal(err)
	}
	_, err = h.restore(bob, "order", open)
	wantFault(t, err, fault.RowRefused)

	if out, err := h.restore(alice, "order", id); err != nil || out.Row == nil {
		t.Errorf("got %+v, %v, want her own row back", out, err)
	}
}

func TestAHiddenRowIsNotThereForAnyWrite(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab"}`)
	gone := h.given(alice, "order", `{"title":"cd"}`)
	if err := h.remove(alice, "order", gone); err != nil {
		t.Fatal(err)
	}
	h.forget()
	if h.read(bob, "order", id) != nil {
		t.Error("bob read it")
	}
	for name, write := range map[string]func() error{
		"PUT":     func() error { _, err := h.put(bob, id, `{"title":"xx"}`); return err },
		"PATCH":   func() error { _, err := h.patch(bob, "order", id, `{"title":"xx"}`); return err },
		"DELETE":  func() error { return h.remove(bob, "order", id) },
		"restore": func() error { _, err := h.restore(bob, "order", gone); return err },
		"a transaction's update": func() error {
			_, err := h.Transaction(context.Background(), bob, []engine.Step{{Op: "update", Entity: "order", ID: id, Data: body(t, `{"total":1}`)}}, engine.Options{})
			return err
		},
		"a transaction's delete": func() error {
			_, err := h.Transaction(context.Background(), bob, []engine.Step{{Op: "delete", Entity: "order", ID: id}}, engine.Options{})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { wantFault(t, write(), fault.NotFound) })
	}
	if len(h.log) != 0 {
		t.Errorf("got %d events, want none", len(h.log))
	}
}

func TestARowThatCanBeReadButNotChangedIsRefused(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab","status":"open"}`)
	if h.read(bob, "order", id) == nil {
		t.Fatal("bob cannot read it")
	}
	for name, write := range map[string]func() error{
		"PUT":    func() error { _, err := h.put(bob, id, `{"title":"xx"}`); return err },
		"PATCH":  func() error { _, err := h.patch(bob, "order", id, `{}`); return err },
		"DELETE": func() error { return h.remove(bob, "order", id) },
	} {
		t.Run(name, func(t *testing.T) { wantFault(t, write(), fault.RowRefused) })
	}
}

// The id that the store draws is part of the row as written.
func TestARuleOverADrawnIDIsKept(t *testing.T) {
	h := open(t)
	h.given(alice, "counter", `{}`)
	h.given(alice, "counter", `{}`)
	h.forget()
	_, err := h.create(alice, "counter", `{}`)
	wantFault(t, err, fault.RowRefused)
	if page := h.list(alice, "counter", ""); len(page.Rows) != 2 {
		t.Errorf("got %d rows, want 2", len(page.Rows))
	}
}

// A writer may give away what its create rules let it leave, but not read it after.
func TestAWriteThatHidesItsRowShowsNothing(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab","status":"open"}`)
	out, err := h.patch(staff, "order", id, `{"owner_id":"bob","status":"draft"}`)
	if err != nil || out.Row == nil {
		t.Fatalf("got %+v, %v, want the row, which staff may read", out, err)
	}
	if h.read(alice, "order", id) != nil {
		t.Error("alice still reads it")
	}
}
