package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/schema"
)

// handled opens the desk with operations in Go on invoices.
func handled(t *testing.T, handlers ...engine.Handler) *house {
	t.Helper()
	return build(t, desk, func(c *engine.Config) {
		c.Handlers, c.MaxWork, c.MaxQuery, c.Logger = handlers, 30*time.Second, 30*time.Second, slog.New(slog.DiscardHandler)
	})
}

// write is a handler of kind write on one row that is told as updated.
func write(do engine.Do, change ...func(*schema.Operation)) engine.Handler {
	op := &schema.Operation{Name: "work", Kind: "write", Cardinality: "one", Action: "update", Event: schema.RealtimeUpdated}
	for _, f := range change {
		f(op)
	}
	return engine.Handler{Entity: "invoice", Operation: op, Do: do}
}

func creates(op *schema.Operation) { op.Action, op.Event = "create", schema.RealtimeCreated }
func many(op *schema.Operation)    { op.Cardinality, op.Event = "many", "" }
func reads(op *schema.Operation)   { op.Kind, op.Action, op.Event = "read", "read", "" }

// told lists what was published: topic or channel, fine word, row, who.
func (h *house) told() (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.log {
		topic := e.Topic
		if topic == "" {
			topic = "channel " + e.Entity
		}
		all = append(all, fmt.Sprintf("%s %d %s %s %v", topic, e.Operation, e.Fine, e.Actor, e.Sent))
	}
	return all
}

func (h *house) wantTold(want ...string) {
	h.t.Helper()
	if got := h.told(); !slices.Equal(got, want) {
		h.t.Errorf("told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Channels contract, section 1: a handler's operation is told once of its own
// row, with the id of the request; other rows that it writes are told as any
// write of them. All bear the caller's name, whatever the caller may do there.
func TestAHandlerWritesItsRowAndOthers(t *testing.T) {
	h := handled(t, write(func(_ context.Context, tx *engine.Tx) error {
		if err := tx.Set(body(t, `{"title":"done","secret":7}`)); err != nil {
			return err
		}
		entry, err := tx.Create("entry", body(t, `{"note":"n1","invoice":"i1"}`))
		if err != nil {
			return err
		}
		if _, err := tx.Update("entry", entry.ID(), body(t, `{"note":"n2"}`)); err != nil {
			return err
		}
		if err := tx.Delete("invoice", "i2"); err != nil {
			return err
		}
		return tx.Set(body(t, `{"title":"over"}`))
	}))
	h.given(alice, "invoice", `{"id":"i1","title":"first"}`)
	h.given(bob, "invoice", `{"id":"i2","title":"bobs"}`)
	h.forget()
	done, err := h.operate(alice, "work", "i1")
	if err != nil {
		t.Fatal(err)
	}
	wantFields(t, decoded(t, done.Outcome.Grant, done.Outcome.Row), map[string]any{"id": "i1", "title": "over"})
	wantFields(t, h.read(staff, "invoice", "i1"), map[string]any{"title": "over", "secret": 7, "updatedby": "alice"})
	if h.read(staff, "invoice", "i2") != nil {
		t.Error("the deleted row is there")
	}
	page := h.list(alice, "entry", "")
	if len(page.Rows) != 1 {
		t.Fatalf("got %d entries, want 1", len(page.Rows))
	}
	h.wantTold(
		"entity.entry 1 created alice [note invoice]", "channel entry 1 created alice [note invoice]",
		"entity.entry 2 patched alice [note]", "channel entry 2 patched alice [note]",
		"entity.invoice 4 deleted alice []", "channel invoice 4 deleted alice []",
		"entity.invoice 2 updated alice [title secret]", "channel invoice 2 updated alice [title secret]",
	)
	// A frame shows each row as the transaction left it.
	for _, e := range h.events("") {
		if e.Entity == "entry" && e.Row[2].Text() != "n2" {
			t.Errorf("an entry is handed on as %v", e.Row)
		}
	}
}

// An operation whose action is create makes its row: the id of the event is that
// row's, and the caller's rules for what it creates judge it.
func TestAHandlerMakesItsRow(t *testing.T) {
	h := handled(t, write(func(_ context.Context, tx *engine.Tx) error {
		if tx.Row() != nil || tx.Set(body(t, `{"title":"x"}`)) == nil {
			return errors.New("there is a row before it is made")
		}
		_, err := tx.Create("invoice", body(t, string(tx.Input())))
		return err
	}, creates))
	done, err := h.operate(alice, "work", "", func(r *engine.Request) { r.Input = []byte(`{"id":"new","title":"made"}`) })
	if err != nil || done.Outcome.ID.Text() != "new" {
		t.Fatalf("got %+v, %v", done, err)
	}
	h.wantTold("entity.invoice 1 created alice [id title]", "channel invoice 1 created alice [id title]")
	h.forget()
	_, err = h.operate(alice, "work", "", func(r *engine.Request) { r.Input = []byte(`{"id":"next","title":"made","owner_id":"bob"}`) })
	wantFault(t, err, fault.RowRefused)
	if h.wantTold(); h.read(staff, "invoice", "next") != nil {
		t.Error("the refused row is there")
	}
}

// A row that the handler deletes is told as deleted, whatever the operation is
// told as, and nothing that the handler had set is in it.
func TestAHandlerDeletesItsRow(t *testing.T) {
	h := handled(t, write(func(_ context.Context, tx *engine.Tx) error {
		return errors.Join(tx.Set(body(t, `{"title":"leak"}`)), tx.Delete("invoice", "i1"))
	}))
	h.given(alice, "invoice", `{"id":"i1","title":"first"}`)
	h.forget()
	done, err := h.operate(alice, "work", "i1")
	if err != nil || done.Outcome.Row != nil {
		t.Fatalf("got %+v, %v", done, err)
	}
	h.wantTold("entity.invoice 4 deleted alice []", "channel invoice 4 deleted alice []")
	for _, e := range h.log {
		if e.Row != nil || e.Guard.After != nil {
			t.Errorf("a deleted event carries %v, %v", e.Row, e.Guard.After)
		}
	}
}

// An operation on many rows is told row by row, as the rows' own writes are.
func TestAHandlerOnManyRowsCountsWhatItWrote(t *testing.T) {
	h := handled(t, write(func(_ context.Context, tx *engine.Tx) error {
		rows, err := tx.Find("invoice", "filter[secret][isNull]=true&sort=-id&limit=2")
		for _, r := range rows {
			if _, err := tx.Update("invoice", r.ID(), body(t, `{"secret":1}`)); err != nil {
				return err
			}
		}
		return err
	}, many))
	for _, id := range []string{"a", "b", "c"} {
		h.given(bob, "invoice", `{"id":"`+id+`","title":"first"}`)
	}
	h.forget()
	key := func(r *engine.Request) { r.Options = engine.Options{Key: "k", Request: "work"} }
	for range 2 {
		done, err := h.operate(alice, "work", "", key)
		if err != nil || done.Changed != 2 || done.Outcome != nil {
			t.Fatalf("got %+v, %v", done, err)
		}
	}
	h.wantTold(
		"entity.invoice 2 patched alice [secret]", "channel invoice 2 patched alice [secret]",
		"entity.invoice 2 patched alice [secret]", "channel invoice 2 patched alice [secret]",
	)
}

// An operation of kind read answers from one snapshot and can write nothing.
func TestAHandlerThatReadsWritesNothing(t *testing.T) {
	h := handled(t, write(func(_ context.Context, tx *engine.Tx) error {
		for name, err := range map[string]error{
			"set": tx.Set(body(t, `{"title":"x"}`)), "delete": tx.Delete("invoice", "i1"),
			"create": second(tx.Create("entry", body(t, `{"note":"n"}`))), "update": second(tx.Update("invoice", "i1", body(t, `{}`))),
		} {
			if err == nil {
				return errors.New(name + " was taken")
			}
		}
		row := tx.Row()
		secret, _ := row.Cell("secret")
		return tx.Reply([]byte(fmt.Sprintf(`{"whole":%s,"shown":%s,"secret":%s}`, row.JSON(), row.Shown(), secret)))
	}, reads))
	h.given(staff, "invoice", `{"id":"i1","title":"first","secret":3,"status":"open"}`)
	h.given(staff, "invoice", `{"id":"i2","title":"first","status":"paid"}`)
	h.forget()
	done, err := h.operate(alice, "work", "i1")
	if err != nil {
		t.Fatal(err)
	}
	reply := string(done.Reply)
	if strings.Count(reply, `"secret":3`) != 2 || !strings.Contains(reply, `"shown":{"id":"i1"`) {
		t.Errorf("got %s", reply)
	}
	h.wantTold()
	_, err = h.operate(alice, "work", "i2")
	wantFault(t, err, fault.NotFound)
}

func second(_ *engine.Held, err error) error { return err }

// What a handler does is all written or not at all.
func TestAHandlerThatFailsLeavesNothing(t *testing.T) {
	began := func(tx *engine.Tx) error {
		_, err := tx.Create("entry", body(t, `{"note":"kept?"}`))
		return errors.Join(err, tx.Set(body(t, `{"title":"kept?"}`)))
	}
	var do engine.Do // of the case under test
	h := handled(t, write(func(ctx context.Context, tx *engine.Tx) error { return do(ctx, tx) }))
	h.given(alice, "invoice", `{"id":"i1","title":"first"}`)
	h.forget()
	for _, c := range []struct {
		name   string
		do     engine.Do
		code   fault.Code
		errors []string
	}{
		{"an error of its own", func(_ context.Context, tx *engine.Tx) error {
			return errors.Join(began(tx), errors.New("no"))
		}, fault.Internal, nil},
		{"a fault of its own", func(_ context.Context, tx *engine.Tx) error {
			if err := began(tx); err != nil {
				return err
			}
			return fault.New(fault.Conflict, "not now")
		}, fault.Conflict, nil},
		{"a panic", func(_ context.Context, tx *engine.Tx) error {
			if err := began(tx); err != nil {
				return err
			}
			panic("no")
		}, fault.Internal, nil},
		{"an invalid row", func(_ context.Context, tx *engine.Tx) error {
			return errors.Join(began(tx), tx.Set(body(t, `{"total":1000}`)))
		}, fault.Invalid, []string{"total max"}},
		{"an invalid field that the caller cannot see", func(_ context.Context, tx *engine.Tx) error {
			return errors.Join(began(tx), second(tx.Create("entry", body(t, `{"note":"x","hidden":"long one"}`))))
		}, fault.Invalid, nil},
		{"a final field", func(_ context.Context, tx *engine.Tx) error {
			return errors.Join(began(tx), tx.Set(body(t, `{"born":"x"}`)))
		}, fault.Invalid, []string{"born final"}},
		{"no such row", func(_ context.Context, tx *engine.Tx) error {
			return errors.Join(began(tx), second(tx.Get("entry", "nope")))
		}, fault.NotFound, nil},
		{"no such entity", func(_ context.Context, tx *engine.Tx) error {
			return errors.Join(began(tx), second(tx.Get("nothing", "x")))
		}, fault.Internal, nil},
		{"its own row is written once", func(_ context.Context, tx *engine.Tx) error {
			return errors.Join(began(tx), second(tx.Update("invoice", "i1", body(t, `{"title":"x"}`))))
		}, fault.Internal, nil},
		{"a write that failed cannot be passed over", func(_ context.Context, tx *engine.Tx) error {
			if err := began(tx); err != nil {
				return err
			}
			_, err := tx.Create("entry", body(t, `{"note":"kept?"}`))
			if !fault.Is(err, fault.Conflict) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		}, fault.Conflict, []string{"note unique"}},
		{"the caller may not leave the row like that", func(_ context.Context, tx *engine.Tx) error {
			return errors.Join(began(tx), tx.Set(body(t, `{"owner_id":"bob"}`)))
		}, fault.RowRefused, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			do = c.do
			done, err := h.operate(alice, "work", "i1")
			if done != nil {
				t.Errorf("got %+v", done)
			}
			wantErrors(t, err, c.code, c.errors...)
			wantFields(t, h.read(staff, "invoice", "i1"), map[string]any{"title": "first"})
			if rows := h.list(alice, "entry", "").Rows; len(rows) != 0 {
				t.Errorf("got %d entries, want none", len(rows))
			}
			h.wantTold()
		})
	}
}

// A handler that does not come back in time loses its transaction and holds up
// no writer; what it tries afterwards fails and writes nothing.
func TestAHandlerThatHangsIsLeftBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	release, late := make(chan struct{}), make(chan error, 1)
	h := build(t, desk, func(c *engine.Config) {
		c.MaxWork, c.Logger = 50*time.Millisecond, slog.New(slog.DiscardHandler)
		c.Handlers = []engine.Handler{write(func(_ context.Context, tx *engine.Tx) error {
			err := tx.Set(body(t, `{"title":"late"}`))
			<-release // heeds no context
			late <- errors.Join(err, second(tx.Create("entry", body(t, `{"note":"late"}`))))
			return nil
		})}
	})
	h.given(alice, "invoice", `{"id":"i1","title":"first"}`)
	_, err := h.operate(alice, "work", "i1")
	wantFault(t, err, fault.Timeout)
	h.given(alice, "invoice", `{"id":"i2","title":"others write"}`)
	close(release)
	if err := <-late; err == nil {
		t.Error("what it did after its time was taken")
	}
	wantFields(t, h.read(staff, "invoice", "i1"), map[string]any{"title": "first"})
	if rows := h.list(alice, "entry", "").Rows; len(rows) != 0 {
		t.Errorf("got %d entries, want none", len(rows))
	}
}

// Handlers do not choose who may call: access is judged before they run.
func TestAHandlerRunsForWhoMay(t *testing.T) {
	runs := 0
	h := handled(t, write(func(context.Context, *engine.Tx) error { runs++; return nil }))
	h.given(alice, "invoice", `{"id":"i1","title":"first","status":"paid"}`)
	for name, c := range map[string]struct {
		who  *access.Principal
		id   string
		code fault.Code
	}{
		"hidden":      {bob, "i1", fault.NotFound},
		"not a row":   {alice, "i9", fault.NotFound},
		"not allowed": {bob, "", fault.OperationNotFound},
	} {
		_, err := h.operate(c.who, "work", c.id)
		if !fault.Is(err, c.code) {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
	if runs != 0 {
		t.Errorf("the handler ran %d times", runs)
	}
}
