package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
)

func TestTheSameRequestUnderTheSameKeyIsAnsweredAgain(t *testing.T) {
	h := open(t)
	ctx := context.Background()
	g := h.grant(alice, "order", access.Create)
	post := func(text, key, request string) (*engine.Outcome, error) {
		return h.Create(ctx, g, body(t, text), engine.Options{Key: key, Request: request})
	}
	first, err := post(`{"title":"ab"}`, "k", "h1")
	if err != nil || first.Again {
		t.Fatalf("got %+v, %v", first, err)
	}
	if _, err := h.patch(alice, "order", idOf(first), `{"total":5}`); err != nil {
		t.Fatal(err)
	}
	h.forget()
	again, err := post(`{"title":"ab"}`, "k", "h1")
	if err != nil || !again.Again || idOf(again) != idOf(first) {
		t.Fatalf("got %+v, %v, want the first answer", again, err)
	}
	wantFields(t, decoded(t, g, again.Row), map[string]any{"title": "ab", "total": 5}) // as it is now
	if len(h.log) != 0 || len(h.list(alice, "order", "").Rows) != 1 {
		t.Error("something was written again")
	}

	_, err = post(`{"title":"cd"}`, "k", "h2")
	wantFault(t, err, fault.IdempotencyMismatch)
	if out, err := h.Create(ctx, h.grant(bob, "order", access.Create), body(t, `{"title":"ab"}`), engine.Options{Key: "k", Request: "h1"}); err != nil || out.Again {
		t.Errorf("bob's key is alice's: got %+v, %v", out, err)
	}

	if _, err := h.patch(staff, "order", idOf(first), `{"owner_id":"bob"}`); err != nil {
		t.Fatal(err)
	}
	hidden, err := post(`{"title":"ab"}`, "k", "h1")
	if err != nil || !hidden.Again || hidden.Row != nil || idOf(hidden) != idOf(first) {
		t.Errorf("got %+v, %v, want the id alone of a row she cannot read now", hidden, err)
	}
	if err := h.purge(staff, idOf(first)); err != nil {
		t.Fatal(err)
	}
	if gone, err := post(`{"title":"ab"}`, "k", "h1"); err != nil || !gone.Again || gone.Row != nil {
		t.Errorf("got %+v, %v, want the id alone of a row that is gone", gone, err)
	}

	h.now = h.now.Add(24*time.Hour + time.Second)
	if out, err := post(`{"title":"ab"}`, "k", "h3"); err != nil || out.Again {
		t.Errorf("a day later got %+v, %v, want a new row", out, err)
	}
}

func TestAKeyIsGoodForBulksAndTransactions(t *testing.T) {
	h := open(t)
	o := engine.Options{Key: "bulk", Request: "h"}
	first, _, err := h.bulk(alice, "order", o, `{"title":"ab"}`, `{"title":"cd"}`)
	if err != nil {
		t.Fatal(err)
	}
	second, again, err := h.bulk(alice, "order", o, `{"title":"ab"}`, `{"title":"cd"}`)
	if err != nil || !again || len(second) != 2 || second[0] != first[0] || second[1] != first[1] {
		t.Errorf("bulk: got %v, %t, %v, want %v", second, again, err, first)
	}
	steps := []engine.Step{
		{Op: "create", Entity: "order", Data: body(t, `{"title":"ef"}`)},
		{Op: "create", Entity: "tag", Data: body(t, `{"id":"a"}`)},
		{Op: "delete", Entity: "tag", ID: "a"},
	}
	o.Key = "transaction"
	for _, wantAgain := range []bool{false, true} {
		outs, err := h.Transaction(context.Background(), alice, steps, o)
		if err != nil || len(outs) != 3 || outs[0].Again != wantAgain || outs[0].Row == nil || outs[2].Row != nil {
			t.Errorf("transaction: got %v, %v", outs, err)
		}
	}
	if got := len(h.list(alice, "order", "").Rows); got != 3 {
		t.Errorf("got %d orders, want 3", got)
	}
}

func TestAWriteThatFailedIsNotRemembered(t *testing.T) {
	h := open(t)
	h.given(alice, "tag", `{"id":"a"}`)
	o := engine.Options{Key: "k", Request: "h"}
	g := h.grant(alice, "tag", access.Create)
	_, err := h.Create(context.Background(), g, body(t, `{"id":"a"}`), o)
	wantFault(t, err, fault.Conflict)
	if err := h.remove(alice, "tag", "a"); err != nil {
		t.Fatal(err)
	}
	if out, err := h.Create(context.Background(), g, body(t, `{"id":"a"}`), o); err != nil || out.Again {
		t.Errorf("got %+v, %v, want it written now", out, err)
	}
}

func TestOfRequestsAtOnceUnderOneKeyExactlyOneWrites(t *testing.T) {
	h := open(t)
	g := h.grant(alice, "order", access.Create)
	const requests = 16
	outs := make([]*engine.Outcome, requests)
	b := body(t, `{"title":"ab"}`)
	var wait sync.WaitGroup
	for i := range requests {
		wait.Go(func() {
			var err error
			if outs[i], err = h.Create(context.Background(), g, b, engine.Options{Key: "k", Request: "h"}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	wrote := 0
	for _, out := range outs {
		if out == nil {
			continue
		}
		if !out.Again {
			wrote++
		}
		if idOf(out) != idOf(outs[0]) {
			t.Error("two answers name two rows")
		}
	}
	if wrote != 1 || len(h.list(alice, "order", "").Rows) != 1 || len(h.events("entity.order")) != 1 {
		t.Errorf("got %d writes, want 1", wrote)
	}
}

func TestKeysThatAreRefused(t *testing.T) {
	h := open(t)
	for name, key := range map[string]string{"with a space": "a b", "too long": strings.Repeat("k", 256), "beyond ASCII": "é"} {
		t.Run(name, func(t *testing.T) {
			_, err := h.Create(context.Background(), h.grant(alice, "tag", access.Create), body(t, `{"id":"a"}`), engine.Options{Key: key})
			wantFault(t, err, fault.BadParameter)
		})
	}
	_, err := h.Create(context.Background(), h.grant(nobody, "token", access.Create), body(t, `{}`), engine.Options{Key: "k"})
	wantFault(t, err, fault.BadParameter)
}
