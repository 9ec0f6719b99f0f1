package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// ledger is what random writes leave, seen past every grant.
type ledger struct {
	*house
	owner  int
	status int
}

func (l *ledger) rows() map[string]store.Row {
	l.t.Helper()
	policy, _ := l.Policy("order")
	out := map[string]store.Row{}
	err := l.Store().View(context.Background(), func(r store.Reader) error {
		rows, err := r.Select(policy.Entity, store.Query{Deleted: store.All})
		for _, row := range rows {
			out[row[policy.Entity.ID].Text()] = row
		}
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return out
}

// Whatever is tried, by whomever, in whatever order: a row that is another's
// never changes; a row one leaves is one's own; and the log has one event for
// each changed row, of a write that succeeded, and none else.
func TestRandomWritesKeepToTheRulesAndTheLog(t *testing.T) {
	h := open(t)
	policy, _ := h.Policy("order")
	l := &ledger{house: h}
	l.owner, _ = policy.Entity.Field("owner_id")
	l.status, _ = policy.Entity.Field("status")
	rapid.Check(t, func(t *rapid.T) {
		before := l.rows()
		h.forget()
		who := rapid.SampledFrom([]*access.Principal{alice, bob}).Draw(t, "who")
		changed, err := l.write(t, who, before)
		after := l.rows()
		mine := value.OfText(who.ID)
		touched := 0
		for id, row := range after {
			was, existed := before[id]
			if existed && equalRows(was, row) {
				continue
			}
			touched++
			if existed && was[l.owner] != mine {
				t.Fatalf("%s changed a row of %v", who.ID, was[l.owner])
			}
			if row[l.owner] != mine {
				t.Fatalf("%s left a row of %v", who.ID, row[l.owner])
			}
		}
		if len(after) < len(before) {
			t.Fatal("a row is gone without a purge")
		}
		events := len(h.events("entity.order"))
		if err != nil && (touched > 0 || events > 0) {
			t.Fatalf("failed (%v) but changed %d rows and told %d", err, touched, events)
		}
		if err == nil && events != changed {
			t.Fatalf("changed %d rows and told %d", changed, events)
		}
	})
}

func equalRows(a, b store.Row) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// write takes one random write and returns how many rows it says it changed.
func (l *ledger) write(t *rapid.T, who *access.Principal, rows map[string]store.Row) (int, error) {
	ids := []string{"01M2P1R18HT8575N8GVM2H5WPN"}
	for id := range rows {
		ids = append(ids, id)
	}
	id := rapid.SampledFrom(ids).Draw(t, "id")
	data := fmt.Sprintf(`{"title":"t%d"%s}`, rapid.IntRange(1, 3).Draw(t, "title"),
		rapid.SampledFrom([]string{"", `,"owner_id":"alice"`, `,"owner_id":"bob"`, `,"status":"open"`, `,"status":"paid","owner_id":"bob"`, `,"zap":1`, `,"code":"a"`}).Draw(t, "rest"))
	filter := fmt.Sprintf("filter[title][eq]=t%d", rapid.IntRange(1, 3).Draw(t, "filter"))
	var err error
	switch rapid.IntRange(0, 7).Draw(t, "way") {
	case 0:
		_, err = l.create(who, "order", data)
	case 1:
		_, err = l.put(who, id, data)
	case 2:
		_, err = l.patch(who, "order", id, data)
	case 3:
		err = l.remove(who, "order", id)
	case 4:
		_, err = l.restore(who, "order", id)
	case 5:
		return l.patchMany(who, "order", filter, data)
	case 6:
		return l.deleteMany(who, "order", filter)
	default:
		outs, err := l.Transaction(context.Background(), who, []engine.Step{
			{Op: "create", Entity: "order", Data: body(l.t, data)},
			{Op: "update", Entity: "order", ID: id, Data: body(l.t, data)},
		}, engine.Options{})
		return len(outs), err
	}
	return 1, err
}

// A precondition checked outside the transaction would let two writers pass.
func TestOfWritersAtOnceWithOneTagExactlyOnePasses(t *testing.T) {
	h := open(t)
	ctx := context.Background()
	id := h.given(alice, "order", `{"title":"ab","total":0}`)
	g := h.grant(alice, "order", access.Update)
	row, err := h.Get(ctx, g, id)
	if err != nil {
		t.Fatal(err)
	}
	o := engine.Options{IfMatch: render.ETag(g, row)}
	passed := make([]bool, 16)
	var wait sync.WaitGroup
	for i := range passed {
		b := body(t, fmt.Sprintf(`{"total":%d}`, i+1))
		wait.Go(func() {
			_, err := h.Patch(ctx, g, id, b, o)
			passed[i] = err == nil
		})
	}
	wait.Wait()
	n := 0
	for _, ok := range passed {
		if ok {
			n++
		}
	}
	if n != 1 || len(h.events("entity.order")) != 2 {
		t.Errorf("got %d writers past one tag, want 1", n)
	}
}
