package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// orderWatch sees that of each row one delivery is held at a time, in order: a row
// is made and removed in turns.
type orderWatch struct {
	*testing.T
	mu   sync.Mutex
	held map[string]string // row -> delivery
	last map[string]*store.Delivery
	gone int
}

func (w *orderWatch) take(ds []*store.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range ds {
		if other := w.held[d.Subject]; other != "" {
			w.Errorf("%s of row %s is claimed while %s is held", d.ID, d.Subject, other)
		}
		if last := w.last[d.Subject]; last != nil && last.ID != d.ID && last.Event == d.Event || last == nil && d.Event != "create" {
			w.Errorf("%s of row %s is claimed after %+v", d.Event, d.Subject, last)
		}
		w.held[d.Subject], w.last[d.Subject] = d.ID, d
	}
}

// give is called before a delivery is given away: another may have it right after.
func (w *orderWatch) give(d *store.Delivery, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, d.Subject)
	if gone {
		w.gone++
	}
}

func (w *orderWatch) done(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone == n
}

// Rows are made, removed and made again by instances at once, while others claim
// and settle: each row's deliveries go in the order of its changes, one at a
// time, and all of them go.
func TestTheOrderOfARowHoldsAmongInstances(t *testing.T) {
	const instances, rows, changes = 3, 3, 60
	url := pgtest.Database(t)
	var stores []*queueing
	for range instances {
		stores = append(stores, newQueueing(t, url))
		if _, err := stores[len(stores)-1].Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{item}}); err != nil {
			t.Fatal(err)
		}
	}
	w := &orderWatch{T: t, held: map[string]string{}, last: map[string]*store.Delivery{}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var group errgroup.Group
	for n, s := range stores {
		group.Go(func() error {
			for change := range changes {
				if err := toggle(ctx, s, fmt.Sprint(change%rows), fmt.Sprintf("U%d-%04d", n, change)); err != nil {
					return err
				}
			}
			return nil
		})
		group.Go(func() error { return work(ctx, s, fmt.Sprint("owner-", n), w, instances*changes) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := connect(t, url).QueryRow(t.Context(), `SELECT count(*) FROM shop._rowcast_deliveries`).Scan(&left); err != nil || left > 0 {
		t.Errorf("%d deliveries are left, %v", left, err)
	}
}

var errFaster = errors.New("another has removed the row")

// toggle makes the row, or removes it.
func toggle(ctx context.Context, s *queueing, row, id string) error {
	for {
		err := s.Write(ctx, store.Work{Run: func(_ context.Context, tx store.Tx) error {
			d := &store.Delivery{ID: id, Target: "ledger", Event: "create", Entity: "item", Subject: row, Ordered: true, Created: time.Now()}
			if tx.Insert(item, store.Row{value.OfText(row), value.OfInt(1)}) != nil { // it is there
				d.Event = "delete"
				if _, err := tx.Get(item, value.OfText(row)); errors.Is(err, store.ErrNotFound) {
					return errFaster
				}
				if err := tx.Delete(item, value.OfText(row)); err != nil {
					return err
				}
			}
			return tx.Enqueue(d)
		}})
		if !errors.Is(err, errFaster) {
			return err
		}
	}
}

// work claims, and settles, retries or gives back, until n are gone.
func work(ctx context.Context, s *queueing, owner string, w *orderWatch, n int) error {
	for !w.done(n) {
		ds, err := s.Queue().Claim(ctx, store.Claim{Owner: owner, Target: "ledger", Ordered: true, Limit: 2})
		if err != nil {
			return err
		}
		w.take(ds)
		for _, d := range ds {
			outcome := store.Delivered
			if rand.IntN(3) == 0 {
				outcome = store.Retried
			}
			w.give(d, outcome == store.Delivered)
			if outcome == store.Retried && rand.IntN(2) == 0 {
				err = s.Queue().Free(ctx, owner, []store.Lease{d.Lease()})
			} else {
				_, err = s.Queue().Settle(ctx, owner, settlements(outcome, d))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A delivery that is queued while the one before it is being settled is not left
// to wait behind what is gone.
func TestNothingWaitsBehindWhatIsGone(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	q.put(q.deliveries(1, "ledger", "", 1)...)
	first := q.claim("ledger", true, 10)
	late := q.queueInsert(q.deliveries(1, "ledger", "", 1))
	db := connect(t, url)
	queued, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range late {
		if _, err := queued.Exec(t.Context(), s.sql, s.args...); err != nil {
			t.Fatal(err)
		}
	}
	settled := make(chan error, 1)
	go func() {
		_, err := q.Queue().Settle(context.Background(), "me", settlements(store.Delivered, first...))
		settled <- err
	}()
	watch := connect(t, url)
	waits := func() (waits bool) {
		err := watch.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%took%')`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
		return waits
	}
	for !waits() {
		select {
		case err := <-settled:
			t.Fatalf("settled (%v) while a delivery behind it was being queued", err)
		default:
		}
	}
	if err := queued.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-settled; err != nil {
		t.Fatal(err)
	}
	if got := q.claim("ledger", true, 10); len(got) != 1 {
		t.Errorf("claimed %v, want the second, which is first now", got)
	}
}

// Deliveries that wait behind others of their row are not read by a claim.
func TestWhatWaitsBehindIsNotRead(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	q.put(q.deliveries(1, "ledger", "", 1)...)
	q.put(q.deliveries(50, "ledger", "", 1)...)
	q.put(q.deliveries(50, "ledger", "", 1)...)
	var behind int
	err := connect(t, url).QueryRow(t.Context(), `SELECT count(*) FROM shop._rowcast_deliveries WHERE behind`).Scan(&behind)
	if err != nil || behind != 100 {
		t.Errorf("%d are known to wait behind the first, %v, want 100", behind, err)
	}
	for n := range 101 {
		got := q.claim("ledger", true, 10)
		if len(got) != 1 {
			t.Fatalf("claim %d: %d deliveries, want one", n, len(got))
		}
		if n%2 == 0 {
			q.settle(store.Delivered, got...)
			continue
		}
		q.settle(store.GivenUp, got...)
		if m, err := q.Queue().Skip(t.Context(), []string{got[0].ID}); err != nil || len(m.IDs) != 1 {
			t.Fatalf("skipped %+v, %v", m, err)
		}
	}
}
