package postgres

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
)

// What keeps an instance alive depends neither on what the queue holds nor on who
// reads it: here nobody gets at the table, and all that wait for it have taken
// every place that the queue's calls share.
func TestAnInstanceLivesWhateverTheQueueIsBusyWith(t *testing.T) {
	url := pgtest.Database(t)
	s := open(t, Config{URL: url, Namespace: "shop", budget: time.Minute, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	locked, err := connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locked.Exec(t.Context(), "LOCK TABLE shop._rowcast_deliveries IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var readers errgroup.Group
	for range cap(s.errands) {
		readers.Go(func() error {
			_, err := s.Queue().Depths(context.Background())
			return err
		})
	}
	for len(s.errands) < cap(s.errands) {
		if t.Context().Err() != nil {
			t.Fatal("the readers did not begin")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := s.Queue().Enlist(ctx, store.Instance{Owner: "me", Targets: []string{"ledger"}, Lease: time.Hour}); err != nil {
		t.Errorf("enlisted: %v", err)
	}
	if held, err := s.Queue().Renew(ctx, "me"); !held || err != nil {
		t.Errorf("renewed %v, %v, want it held", held, err)
	}
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := readers.Wait(); err != nil {
		t.Error(err)
	}
}

// What a release before has left marked as behind something that is gone is let go
// by the sweeps after an instance has registered, in steps, whatever is in between.
func TestWhatWaitsForNothingIsLetGoInSteps(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	db := connect(t, url)
	q.put(q.deliveries(1, "ledger", "", 1)...)
	q.put(q.deliveries(2*mendStep, "ledger", "", 1)...) // these do wait
	q.put(q.deliveries(2, "archive", "", 2)...)
	exec(t, db, "UPDATE shop._rowcast_deliveries SET behind = true")
	if err := q.Queue().Enlist(t.Context(), store.Instance{Owner: "me", Targets: []string{"ledger", "archive"}, Lease: time.Hour}); err != nil {
		t.Fatal(err)
	}
	for range 4 { // two steps and a rest, and the other target's
		if s, err := q.Queue().Sweep(t.Context(), 10); err != nil || s != (store.Swept{}) {
			t.Fatalf("swept %+v, %v, want nothing", s, err)
		}
	}
	if target, _ := q.mending.at(); target != "" {
		t.Errorf("%s is still being looked through", target)
	}
	for target, want := range map[string]int{"ledger": 1, "archive": 2} {
		if got := q.claim(target, true, 10); len(got) != want {
			t.Errorf("%s: %d can be claimed, want %d", target, len(got), want)
		}
	}
	var behind int
	if err := db.QueryRow(t.Context(), "SELECT count(*) FROM shop._rowcast_deliveries WHERE behind").Scan(&behind); err != nil || behind != 2*mendStep {
		t.Errorf("%d are marked as behind another, %v, want %d", behind, err, 2*mendStep)
	}
}

// Of a row's deliveries that are put back together the first alone may go, and the
// others are not even looked at until it is gone.
func TestWhatIsPutBackTogetherStandsInLine(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	ds := q.deliveries(6, "ledger", "", 2)
	q.put(ds...)
	db := connect(t, url)
	exec(t, db, "UPDATE shop._rowcast_deliveries SET status = 3")
	ids := []string{ds[4].ID, ds[5].ID, ds[0].ID, ds[2].ID} // of one row the 5th, 1st and 3rd, of the other the 6th
	m, err := q.Queue().Requeue(t.Context(), store.Requeue{IDs: ids, Declared: []string{"ledger"}})
	if err != nil || len(m.IDs) != 4 {
		t.Fatalf("requeued %+v, %v", m, err)
	}
	var behind []string
	if err := db.QueryRow(t.Context(), "SELECT array_agg(id ORDER BY id) FROM shop._rowcast_deliveries WHERE status = 1 AND behind").Scan(&behind); err != nil {
		t.Fatal(err)
	}
	if len(behind) != 2 || behind[0] != ds[2].ID || behind[1] != ds[4].ID {
		t.Errorf("marked as behind another: %v, want the 3rd and the 5th", behind)
	}
	for _, want := range []string{ds[0].ID, ds[2].ID, ds[4].ID} {
		got := q.claim("ledger", true, 10)
		if len(got) != 1 || got[0].ID != want {
			t.Fatalf("claimed %v, want %s alone", got, want)
		}
		q.settle(store.Delivered, got...)
	}
	if got := q.claim("ledger", true, 10); len(got) != 0 {
		t.Errorf("claimed %v, which stand behind failed ones", got)
	}
}

// A target that kept its rows' order before, and is probed now: who settles the
// probe lets the next of its row go in the same transaction.
func TestAProbeOfATargetThatKeptOrderIsNoticed(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	ds := q.deliveries(2, "ledger", "", 1)
	q.put(ds...)
	later := newQueueing(t, url)
	got, err := later.Queue().Claim(t.Context(), store.Claim{Owner: "me", Target: "ledger", Limit: 1, Only: ds[0].ID})
	if err != nil || len(got) != 1 {
		t.Fatalf("claimed %v, %v", got, err)
	}
	if !later.lanes.ordered.Load() {
		t.Error("it does not know that it holds a delivery in order")
	}
}
