package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// lineWatch sees that of each row one delivery is held at a time, and none after a
// later one.
type lineWatch struct {
	*testing.T
	seqOf func(id string) (int64, error)
	mu    sync.Mutex
	held  map[string]string // row -> delivery
	last  map[string]int64  // row -> the highest number held so far
}

func (w *lineWatch) take(d *store.Delivery) error {
	seq, err := w.seqOf(d.ID)
	w.mu.Lock()
	defer w.mu.Unlock()
	if other := w.held[d.Subject]; other != "" {
		w.Errorf("%s of row %s is claimed while %s is held", d.ID, d.Subject, other)
	}
	if seq < w.last[d.Subject] {
		w.Errorf("number %d of row %s is claimed after number %d", seq, d.Subject, w.last[d.Subject])
	}
	w.held[d.Subject], w.last[d.Subject] = d.ID, seq
	return err
}

func (w *lineWatch) give(d *store.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, d.Subject)
}

// Instances queue, claim, settle and give back, while operators put back what
// failed, and remove what failed or still waits: the order of a row holds, and
// nothing is left that nobody may claim.
func TestOperatorsLeaveTheOrderOfARowAlone(t *testing.T) {
	const instances, rows, changes = 3, 2, 60
	url := pgtest.Database(t)
	stores := make([]*queueing, instances)
	for i := range stores {
		stores[i] = newQueueing(t, url)
		if _, err := stores[i].Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{item}}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	w := &lineWatch{T: t, held: map[string]string{}, last: map[string]int64{}}
	w.seqOf = func(id string) (seq int64, err error) {
		err = stores[0].db.pool.QueryRow(ctx, `SELECT seq FROM shop._rowcast_deliveries WHERE id = $1`, id).Scan(&seq)
		return seq, err
	}
	var written atomic.Int32
	var group errgroup.Group
	for n, s := range stores {
		group.Go(func() error {
			defer written.Add(1)
			for change := range changes {
				if err := toggle(ctx, s, fmt.Sprint(change%rows), fmt.Sprintf("U%d-%04d", n, change)); err != nil {
					return err
				}
			}
			return nil
		})
		done := func() (bool, error) {
			depths, err := s.Queue().Depths(ctx)
			return written.Load() == instances && len(depths) == 0, err
		}
		group.Go(func() error { return try(ctx, s, fmt.Sprint("owner-", n), w, done) })
		group.Go(func() error { return meddle(ctx, s, done) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// try claims, and settles in any way or gives back, until all is gone.
func try(ctx context.Context, s *queueing, owner string, w *lineWatch, done func() (bool, error)) error {
	for {
		ds, err := s.Queue().Claim(ctx, store.Claim{Owner: owner, Target: "ledger", Ordered: true, Limit: 2})
		if err != nil {
			return err
		}
		for _, d := range ds {
			if err := w.take(d); err != nil {
				return err
			}
		}
		for _, d := range ds {
			w.give(d)
			if outcome := store.Outcome(rand.IntN(5)); outcome == 0 || outcome > store.GivenUp {
				err = s.Queue().Free(ctx, owner, []store.Lease{d.Lease()})
			} else {
				_, err = s.Queue().Settle(ctx, owner, settlements(outcome, d))
			}
			if err != nil {
				return err
			}
		}
		if over, err := done(); over || err != nil {
			return err
		}
	}
}

// meddle puts back or removes what failed, and sometimes removes what waits, until
// all is gone.
func meddle(ctx context.Context, s *queueing, done func() (bool, error)) error {
	for {
		ds, err := s.Queue().List(ctx, store.DeliveryFilter{Limit: 100})
		if err != nil {
			return err
		}
		var back, off []string
		for _, d := range ds {
			switch {
			case d.Status == store.Failed && rand.IntN(3) > 0:
				back = append(back, d.ID)
			case d.Status == store.Failed, rand.IntN(20) == 0:
				off = append(off, d.ID)
			}
		}
		if _, err := s.Queue().Requeue(ctx, store.Requeue{IDs: append(back, "none"), Declared: []string{"ledger"}}); err != nil {
			return err
		}
		if _, err := s.Queue().Skip(ctx, off); err != nil {
			return err
		}
		if over, err := done(); over || err != nil {
			return err
		}
	}
}
