package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/store"
)

// broken is a real datastore that answers nothing but an error.
type broken struct {
	store.Store
	err error
}

func (b *broken) Write(context.Context, store.Work) error              { return b.err }
func (b *broken) View(context.Context, func(store.Reader) error) error { return b.err }

func TestAFaultOfTheDatastoreTellsACallerWhatToDoAndNoMore(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want fault.Code
	}{
		{"cannot be reached", fmt.Errorf("dial /secret/path: %w", store.ErrUnavailable), fault.Unavailable},
		{"is closed", store.ErrClosed, fault.Unavailable},
		{"takes too long", fmt.Errorf("SELECT secret: %w", store.ErrTimeout), fault.Timeout},
		{"the caller's own deadline", context.DeadlineExceeded, fault.Timeout},
		{"the caller has gone", context.Canceled, fault.Timeout},
		{"anything else", errors.New("SELECT secret FROM t"), fault.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, func(config *engine.Config) { config.Store = &broken{config.Store, c.err} })
			_, err := h.create(alice, "tag", `{"id":"a"}`)
			wantFault(t, err, c.want)
			if !errors.Is(err, c.err) {
				t.Error("the cause is lost to the log")
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, which tells the caller too much", err)
			}
			g := h.grant(alice, "tag", access.Read)
			_, err = h.Get(context.Background(), g, "a")
			wantFault(t, err, c.want)
			_, err = h.tryList(alice, "tag", "")
			wantFault(t, err, c.want)
			wantFault(t, h.Probe(context.Background(), g), c.want)
		})
	}
}

// again is a real datastore that runs each work twice, as after a lost transaction.
type again struct{ store.Store }

var errAgain = errors.New("again")

func (a *again) Write(ctx context.Context, work store.Work) error {
	run := work.Run
	first := work
	first.Run = func(ctx context.Context, tx store.Tx) error {
		if err := run(ctx, tx); err != nil {
			return err
		}
		return errAgain
	}
	if err := a.Store.Write(ctx, first); !errors.Is(err, errAgain) {
		return err
	}
	return a.Store.Write(ctx, work)
}

func TestAWorkThatRunsAgainWritesOnce(t *testing.T) {
	h := open(t, func(config *engine.Config) { config.Store = &again{config.Store} })
	id := h.given(alice, "note", `{"rank":1,"text":"a"}`)
	if _, err := h.patch(alice, "note", id, `{"rank":2}`); err != nil {
		t.Fatal(err)
	}
	ids, _, err := h.bulk(alice, "note", engine.Options{Key: "k", Request: "h"}, `{"rank":1,"text":"b"}`)
	if err != nil || len(ids) != 1 {
		t.Fatalf("got %v, %v", ids, err)
	}
	n, err := h.patchMany(alice, "note", "filter[rank][gt]=0", `{"rank":3}`)
	if err != nil || n != 2 {
		t.Fatalf("got %d, %v, want 2", n, err)
	}
	if err := h.remove(alice, "note", id); err != nil {
		t.Fatal(err)
	}
	if got := len(h.events("entity.note")); got != 6 {
		t.Errorf("got %d events, want 6", got)
	}
	seen := map[string]bool{}
	for _, e := range h.log {
		if seen[e.EventID] {
			t.Errorf("event id %s is given twice", e.EventID)
		}
		seen[e.EventID] = true
	}
}

func TestAnEngineNeedsItsConfig(t *testing.T) {
	if _, err := engine.New(engine.Config{}); err == nil {
		t.Error("an empty Config was taken")
	}
}
