package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// only returns the one event of the topic and forgets all.
func (h *house) only(topic string) *store.LogRow {
	h.t.Helper()
	events := h.events(topic)
	if len(events) != 1 {
		h.t.Fatalf("got %d events on %s, want 1", len(events), topic)
	}
	h.forget()
	return events[0]
}

func TestEachWriteIsOneEventOfItsKind(t *testing.T) {
	h := open(t)
	id := ""
	for _, c := range []struct {
		name  string
		write func() error
		op    schema.Op
		fine  string
		sent  string
		row   bool
	}{
		{"POST", func() error { id = h.given(alice, "order", `{"title":"ab","total":1}`); return nil }, schema.Create, "created", "title,total", true},
		{"PATCH", func() error { _, err := h.patch(alice, "order", id, `{"total":2}`); return err }, schema.Update, "patched", "total", true},
		{"PATCH with what is there already", func() error { _, err := h.patch(alice, "order", id, `{"total":2}`); return err }, schema.Update, "patched", "total", true},
		{"PATCH with nothing", func() error { _, err := h.patch(alice, "order", id, `{}`); return err }, schema.Update, "patched", "", true},
		{"PUT", func() error { _, err := h.put(alice, id, `{"title":"cd"}`); return err }, schema.Update, "updated", "title", true},
		{"DELETE", func() error { return h.remove(alice, "order", id) }, schema.Delete, "deleted", "", false},
		{"restore", func() error { _, err := h.restore(alice, "order", id); return err }, schema.Update, "restored", "", true},
		{"purge", func() error { return h.purge(staff, id) }, schema.Delete, "deleted", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.forget()
			if err := c.write(); err != nil {
				t.Fatal(err)
			}
			e := h.only("entity.order")
			if e.Operation != c.op || e.Fine != c.fine || e.Subject != id || e.Entity != "order" || e.Origin != "here" || !e.Time.Equal(h.now) {
				t.Errorf("got %+v", e)
			}
			if got := strings.Join(e.Sent, ","); got != c.sent {
				t.Errorf("sent: got %q, want %q", got, c.sent)
			}
			if (e.Row != nil) != c.row {
				t.Errorf("row handed on: got %t, want %t", e.Row != nil, c.row)
			}
			want := "alice"
			if c.name == "purge" {
				want = "sam"
			}
			if e.Actor != want {
				t.Errorf("actor: got %q, want %q", e.Actor, want)
			}
		})
	}
}

func TestDiffersNamesWhatChanged(t *testing.T) {
	h := open(t)
	id := h.given(alice, "note", `{"rank":1,"text":"a"}`)
	if got := h.only("entity.note").Differs; !slices.Equal(got, []string{"id", "text", "rank"}) {
		t.Errorf("create: got %v", got)
	}
	if _, err := h.patch(alice, "note", id, `{"rank":1,"text":"b"}`); err != nil {
		t.Fatal(err)
	}
	if got := h.only("entity.note").Differs; !slices.Equal(got, []string{"text"}) {
		t.Errorf("update: got %v", got)
	}
}

func TestAConditionDecidesOverOldAndNew(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab"}`)
	for _, c := range []struct {
		status string
		want   int
	}{{"open", 0}, {"paid", 1}, {"paid", 1}} {
		if _, err := h.patch(alice, "order", id, `{"status":"`+c.status+`"}`); err != nil {
			t.Fatal(err)
		}
		if got := len(h.events("orders.paid")); got != c.want {
			t.Errorf("after %s: got %d events, want %d", c.status, got, c.want)
		}
	}
}

func TestAConditionThatFailsUndoesTheWrite(t *testing.T) {
	h := open(t)
	_, err := h.create(alice, "note", `{"rank":1}`) // len(nil)
	wantFault(t, err, fault.EventConditionFailed)
	if !strings.Contains(err.Error(), `"strict"`) {
		t.Errorf("got %v, want the event named", err)
	}
	if got := len(h.list(alice, "note", "").Rows); got != 0 || len(h.log) != 0 {
		t.Errorf("got %d rows and %d events, want none", got, len(h.log))
	}
}

func TestAFalseConditionSkipsTheEventAlone(t *testing.T) {
	h := open(t)
	id := h.given(alice, "note", `{"rank":0,"text":"a"}`)
	if h.read(alice, "note", id) == nil || len(h.log) != 0 {
		t.Errorf("got %d events, want none and the row", len(h.log))
	}
}

func TestADeleteIsJudgedByTheRowBefore(t *testing.T) {
	h := open(t)
	told := h.given(alice, "note", `{"rank":1,"text":"a"}`)
	untold := h.given(alice, "note", `{"rank":0,"text":"b"}`)
	h.forget()
	for _, id := range []string{told, untold} {
		if err := h.remove(alice, "note", id); err != nil {
			t.Fatal(err)
		}
	}
	if e := h.only("entity.note"); e.Subject != told {
		t.Errorf("got %s, want %s", e.Subject, told)
	}
}

func TestBulkPublishesUnlessThePublisherOptsOut(t *testing.T) {
	h := open(t)
	ids, _, err := h.bulk(alice, "order", engine.Options{}, `{"title":"ab"}`, `{"title":"cd"}`)
	if err != nil {
		t.Fatal(err)
	}
	loud, quiet := h.events("entity.order"), h.events("orders.quiet")
	if len(loud) != 2 || len(quiet) != 0 || loud[0].Subject != ids[0].Text() || loud[0].Fine != "created" {
		t.Errorf("got %d and %d events", len(loud), len(quiet))
	}
	h.given(alice, "order", `{"title":"ef"}`)
	if len(h.events("orders.quiet")) != 1 {
		t.Error("a single create opted out too")
	}
}

func TestEventIDsGrowAlongTheLog(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab"}`)
	for range 5 {
		if _, err := h.patch(alice, "order", id, `{"total":1}`); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := h.bulk(alice, "order", engine.Options{}, `{"title":"ab"}`, `{"title":"cd"}`); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(h.log); i++ {
		if h.log[i].EventID <= h.log[i-1].EventID || h.log[i].Seq <= h.log[i-1].Seq {
			t.Errorf("event %d is not after the one before it", i)
		}
	}
}

// The guard holds what row rules and the topic's filters name, and no more.
func TestTheGuardKeepsWhatDecidesWhoIsTold(t *testing.T) {
	h := open(t)
	e, _ := h.Policy("order")
	at := func(name string) int { i, _ := e.Entity.Field(name); return i }
	id := h.given(alice, "order", `{"title":"ab","status":"open","total":7,"notes":"secret"}`)

	created := h.events("entity.order")[0]
	if created.Guard.Before != nil {
		t.Error("create: something stands before it")
	}
	for name, want := range map[string]value.Value{
		"owner_id": value.OfText("alice"), "status": value.OfText("open"), "total": value.OfInt(7),
		"notes": value.NotAtHand(), "title": value.NotAtHand(), "id": value.NotAtHand(),
	} {
		if got := created.Guard.After[at(name)]; got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	if got := h.events("orders.quiet")[0].Guard.After[at("total")]; got != value.NotAtHand() {
		t.Errorf("a topic without filters keeps the cell %v", got)
	}

	h.forget()
	if _, err := h.patch(alice, "order", id, `{"total":200}`); err != nil {
		t.Fatal(err)
	}
	g := h.only("entity.order").Guard
	if g.Before[at("total")] != value.OfInt(7) || g.After[at("total")] != value.OfInt(200) {
		t.Errorf("update: got %v to %v", g.Before[at("total")], g.After[at("total")])
	}
	if err := h.remove(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	if g := h.only("entity.order").Guard; g.After != nil || g.Before[at("owner_id")] != value.OfText("alice") {
		t.Errorf("delete: got %v", g)
	}
	if _, err := h.restore(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	if g := h.only("entity.order").Guard; g.Before != nil || g.After[at("owner_id")] != value.OfText("alice") {
		t.Errorf("restore: got %v, want nothing before it", g)
	}
	if err := h.remove(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	h.forget()
	if err := h.purge(staff, id); err != nil {
		t.Fatal(err)
	}
	if g := h.only("entity.order").Guard; g.Before != nil || g.After != nil {
		t.Errorf("purge of a deleted row: got %v, want nothing", g)
	}
}

// What the log keeps is what the writer handed on, but for the row.
func TestTheLogHoldsWhatWasHandedOn(t *testing.T) {
	h := open(t)
	id := h.given(alice, "order", `{"title":"ab","total":7}`)
	if _, err := h.patch(alice, "order", id, `{"total":8}`); err != nil {
		t.Fatal(err)
	}
	err := h.Store().View(t.Context(), func(r store.Reader) error {
		rows, err := r.Log(0, 100)
		if err != nil {
			return err
		}
		if len(rows) != len(h.log) {
			t.Fatalf("got %d rows, want %d", len(rows), len(h.log))
		}
		for i, row := range rows {
			if row.EventID != h.log[i].EventID || row.Seq != h.log[i].Seq || !slices.Equal(row.Guard.After, h.log[i].Guard.After) || row.Row != nil {
				t.Errorf("row %d: got %+v, want %+v", i, row, h.log[i])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
