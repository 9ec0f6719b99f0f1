package engine_test

import (
	"context"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
)

func TestADeletedRowIsGoneUntilItIsRestored(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab"}`)
	if err := h.remove(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	if h.read(alice, "order", id) != nil || len(h.list(alice, "order", "").Rows) != 0 {
		t.Error("a deleted row can be read")
	}
	_, err := h.patch(alice, "order", id, `{}`)
	wantFault(t, err, fault.NotFound)
	_, err = h.put(alice, id, `{"title":"cd"}`)
	wantFault(t, err, fault.NotFound)
	n, err := h.patchMany(alice, "order", "filter[title][eq]=ab", `{"total":1}`)
	if err != nil || n != 0 {
		t.Errorf("got %d changed, %v, want none", n, err)
	}
	wantFault(t, h.remove(alice, "order", id), fault.AlreadyDeleted)

	page := h.list(alice, "order", "deleted=true")
	if len(page.Rows) != 1 {
		t.Fatalf("got %d deleted rows, want 1", len(page.Rows))
	}
	got := decoded(t, h.grant(alice, "order", access.Read), page.Rows[0])
	wantFields(t, got, map[string]any{"id": id, "deletedby": "alice", "deletedon": "2026-09-17T02:25:12.345678Z"})

	out, err := h.restore(alice, "order", id)
	if err != nil {
		t.Fatal(err)
	}
	wantFields(t, decoded(t, out.Grant, out.Row), map[string]any{"id": id, "title": "ab", "deletedby": nil, "deletedon": nil})
	_, err = h.restore(alice, "order", id)
	wantFault(t, err, fault.NotDeleted)
}

func TestOnlyWhoMayRestoreListsDeletedRows(t *testing.T) {
	h := open(t)
	_, err := h.tryList(alice, "tag", "deleted=true")
	wantFault(t, err, fault.BadParameter) // no softdelete
	open := h.given(alice, "order", `{"title":"ab","status":"open"}`)
	if err := h.remove(alice, "order", open); err != nil {
		t.Fatal(err)
	}
	if got := len(h.list(bob, "order", "deleted=true").Rows); got != 0 {
		t.Errorf("bob sees %d deleted rows that he may not restore", got)
	}
}

func TestPurgeIsForGood(t *testing.T) {
	h := open(t)
	for _, c := range []struct {
		name    string
		deleted bool
	}{{"a live row", false}, {"a deleted row", true}} {
		t.Run(c.name, func(t *testing.T) {
			id := h.given(alice, "order", `{"title":"ab"}`)
			if c.deleted {
				if err := h.remove(alice, "order", id); err != nil {
					t.Fatal(err)
				}
			}
			_, err := h.Grant(alice, "order", access.Purge)
			wantFault(t, err, fault.Forbidden)
			if err := h.purge(staff, id); err != nil {
				t.Fatal(err)
			}
			wantFault(t, h.purge(staff, id), fault.NotFound)
			if got := len(h.list(staff, "order", "deleted=true").Rows); got != 0 {
				t.Errorf("got %d rows in the bin", got)
			}
		})
	}
}

func TestWithoutSoftDeleteADeleteIsForGood(t *testing.T) {
	h := open(t)
	id := h.given(alice, "tag", `{"id":"a"}`)
	_, err := h.restore(alice, "tag", id)
	wantFault(t, err, fault.NotDeleted)
	if err := h.remove(alice, "tag", id); err != nil {
		t.Fatal(err)
	}
	wantFault(t, h.remove(alice, "tag", id), fault.NotFound)
	_, err = h.restore(alice, "tag", id)
	wantFault(t, err, fault.NotFound)
}

func TestPreconditionsOfADeletedRow(t *testing.T) {
	h := open(t)
	ctx := context.Background()
	id := h.given(alice, "order", `{"title":"ab"}`)
	if err := h.remove(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	_, err := h.Delete(ctx, h.grant(alice, "order", access.Delete), id, engine.Options{IfMatch: "*"})
	wantFault(t, err, fault.PreconditionFailed)
	g := h.grant(alice, "order", access.Restore)
	_, err = h.Restore(ctx, g, id, engine.Options{IfMatch: `"x"`})
	wantFault(t, err, fault.PreconditionFailed)
	tag := render.ETag(g, h.list(alice, "order", "deleted=true").Rows[0])
	if _, err := h.Restore(ctx, g, id, engine.Options{IfMatch: tag}); err != nil {
		t.Error(err)
	}
}
