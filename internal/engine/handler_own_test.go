package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
)

// An operation that makes its row answers with it as the handler leaves it, and
// the caller's rules judge that, not what it was at first.
func TestARowThatAHandlerMakesIsJudgedAsItIsLeft(t *testing.T) {
	var then string // what is made of the row at last; "": it is deleted
	h := handled(t, write(func(_ context.Context, tx *engine.Tx) error {
		made, err := tx.Create("invoice", body(t, `{"id":"new","title":"made"}`))
		if err != nil {
			return err
		}
		if then == "" {
			return tx.Delete("invoice", made.ID())
		}
		return second(tx.Update("invoice", made.ID(), body(t, then)))
	}, creates))
	then = `{"owner_id":"bob"}`
	_, err := h.operate(alice, "work", "")
	if wantFault(t, err, fault.RowRefused); h.read(staff, "invoice", "new") != nil {
		t.Error("the refused row is there")
	}
	then = `{"title":"left","secret":7}`
	done, err := h.operate(alice, "work", "")
	if err != nil {
		t.Fatal(err)
	}
	wantFields(t, decoded(t, done.Outcome.Grant, done.Outcome.Row), map[string]any{"id": "new", "title": "left"})

	h = handled(t, write(func(_ context.Context, tx *engine.Tx) error {
		made, err := tx.Create("invoice", body(t, `{"id":"gone","title":"made"}`))
		return errors.Join(err, tx.Delete("invoice", made.ID()))
	}, creates))
	if done, err = h.operate(alice, "work", ""); err != nil || done.Outcome == nil || done.Outcome.Row != nil {
		t.Errorf("of a row that is gone again: got %+v, %v", done, err)
	}
}

// A handler may replace its own row: what is told comes in the order in which it
// was done, and the new row is one like any other.
func TestAHandlerReplacesItsRow(t *testing.T) {
	const notes = `
entities:
  - name: invoice
    fields: [{name: id, type: string}, {name: title, type: string}]
    events: [{name: changed}]
    realtime: {}
`
	h := build(t, notes, func(c *engine.Config) {
		c.Logger = slog.New(slog.DiscardHandler)
		c.Handlers = []engine.Handler{write(func(_ context.Context, tx *engine.Tx) error {
			if err := tx.Delete("invoice", "i1"); err != nil {
				return err
			}
			if tx.Set(body(t, `{"title":"lost"}`)) == nil {
				return errors.New("a row that is deleted was set")
			}
			_, err := tx.Create("invoice", body(t, `{"id":"i1","title":"second"}`))
			return errors.Join(err, second(tx.Update("invoice", "i1", body(t, `{"title":"third"}`))))
		})}
	})
	h.given(alice, "invoice", `{"id":"i1","title":"first"}`)
	h.forget()
	if _, err := h.operate(alice, "work", "i1"); err != nil {
		t.Fatal(err)
	}
	wantFields(t, h.read(alice, "invoice", "i1"), map[string]any{"title": "third"})
	h.wantTold(
		"entity.invoice 4 deleted alice []", "channel invoice 4 deleted alice []",
		"entity.invoice 1 created alice [id title]", "channel invoice 1 created alice [id title]",
		"entity.invoice 2 patched alice [title]", "channel invoice 2 patched alice [title]",
	)
}

// Changed counts the rows that were written, not those that were not there.
func TestAHandlerOnManyRowsCountsNoRowThatIsNotThere(t *testing.T) {
	h := handled(t, write(func(_ context.Context, tx *engine.Tx) error {
		for _, id := range []string{"nope", "i1", "neither"} {
			if _, err := tx.Update("invoice", id, body(t, `{"title":"x"}`)); err != nil && !fault.Is(err, fault.NotFound) {
				return err
			}
		}
		return nil
	}, many))
	h.given(bob, "invoice", `{"id":"i1","title":"first"}`)
	done, err := h.operate(alice, "work", "")
	if err != nil || done.Changed != 1 {
		t.Errorf("got %+v, %v, want one row", done, err)
	}
}
