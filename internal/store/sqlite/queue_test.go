package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// A disk that fills up fails the write whose delivery finds no room, whether at
// the commit or, where the transaction is too large for memory, in its middle;
// nothing of it is there afterwards, and a neighbour in its group is told too.
func TestFullDiskFailsTheWriteThatQueues(t *testing.T) {
	for name, size := range map[string]int{"at the commit": 100, "in the middle": 64 << 20} {
		t.Run(name, func(t *testing.T) {
			fault := newFaultVFS(t)
			s := openOrders(t, Config{vfs: fault.name, budget: time.Minute})
			var queued error
			queueing := func(id string, size int) *work {
				return &work{id: id, then: func(t *tx) (err error) {
					defer func() { queued = err }()
					d := benchDelivery(1, "billing")
					d.ID = id
					for body := bytes.Repeat([]byte("x"), min(size, 1<<20)); size > 0; size -= len(body) {
						d.ID, d.Body = fmt.Sprint(id, size), body
						if err := t.Enqueue(d); err != nil {
							return err
						}
					}
					return nil
				}}
			}
			fault.full.Store(true)
			for i, err := range runGroup(t, s, &work{id: "a"}, queueing("b", size)) {
				if !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("write %d: error = %v, want ErrUnavailable", i, err)
				}
			}
			if middle := size > 1<<20; (queued != nil) != middle {
				t.Errorf("Enqueue: %v, want it to fail: %v", queued, middle)
			}
			wantRows(t, s)
			wantQueued(t, s, 0)
			fault.full.Store(false)
			if errs := runGroup(t, s, queueing("c", 100)); errs[0] != nil {
				t.Errorf("with room again: %v", errs[0])
			}
			wantRows(t, s, "c")
			wantQueued(t, s, 1)
		})
	}
}

func wantQueued(t *testing.T, s *Store, want int) {
	t.Helper()
	ds, err := s.Queue().List(t.Context(), store.DeliveryFilter{Limit: 1000})
	if err != nil || len(ds) != want {
		t.Errorf("%d deliveries are queued, %v, want %d", len(ds), err, want)
	}
}

// One process owns the file: what the one before held is free as soon as the
// next has enlisted, and its lease cannot run out while it lives.
func TestWhatAnEarlierProcessHeldIsFreeAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	now := time.Date(2026, 9, 17, 2, 25, 12, 0, time.UTC)
	config := Config{Path: path, Now: func() time.Time { return now }}
	s := open(t, config)
	ctx, q := t.Context(), s.Queue()
	enlist := func(q store.Queue, owner string) {
		t.Helper()
		if err := q.Enlist(ctx, store.Instance{Owner: owner, Targets: []string{"billing"}, Lease: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	enlist(q, "first")
	enqueue(t, s, 3, func(n int) *store.Delivery {
		d := benchDelivery(n, "billing")
		if n == 0 {
			d.Owner = "first"
		}
		return d
	})
	if _, err := q.Claim(ctx, store.Claim{Owner: "first", Target: "billing", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	if mine, err := q.Turn(ctx, "drain", "first", time.Hour); !mine || err != nil {
		t.Fatalf("Turn = %v, %v", mine, err)
	}
	now = now.Add(24 * time.Hour)
	swept, err := q.Sweep(ctx, 10)
	if err != nil || swept != (store.Swept{}) {
		t.Errorf("swept %+v, %v, want a living owner to keep its leases", swept, err)
	}
	if held, err := q.Renew(ctx, "first"); !held || err != nil {
		t.Errorf("Renew = %v, %v, want the lease of a living process", held, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	now = now.Add(-24 * time.Hour)
	q = open(t, config).Queue()
	enlist(q, "second")
	ds, err := q.Claim(ctx, store.Claim{Owner: "second", Target: "billing", Limit: 10})
	if err != nil || len(ds) != 3 {
		t.Errorf("claimed %d, %v, want all three", len(ds), err)
	}
	if mine, err := q.Turn(ctx, "drain", "second", time.Hour); !mine || err != nil {
		t.Errorf("Turn = %v, %v, want what the dead had", mine, err)
	}
}

// A delivery of an ordered target that is born leased would be sent before
// anybody could know whether one is before it.
func TestAnOrderedDeliveryIsNeverBornLeased(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "t.db")})
	d := benchDelivery(1, "ledger")
	d.Ordered, d.Owner = true, "me"
	if err := s.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error { return tx.Enqueue(d) }}); err == nil {
		t.Error("it was queued")
	}
	wantQueued(t, s, 0)
}

// Deliveries that were queued before their target became ordered are claimed
// still, and those queued before it ceased to be keep their order.
func TestATargetMayChangeItsOrder(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "t.db")})
	enqueue(t, s, 4, func(n int) *store.Delivery {
		d := benchDelivery(n, "billing")
		d.Ordered, d.Subject = n >= 2, "a"
		return d
	})
	for _, c := range []struct {
		ordered bool
		want    int
	}{{true, 3}, {false, 1}} {
		ds, err := s.Queue().Claim(t.Context(), store.Claim{Owner: "me", Target: "billing", Ordered: c.ordered, Limit: 10})
		if err != nil || len(ds) != c.want {
			t.Fatalf("ordered %v: claimed %d, %v, want %d", c.ordered, len(ds), err, c.want)
		}
		if _, err := s.Queue().Settle(t.Context(), "me", accepted(ds)); err != nil {
			t.Fatal(err)
		}
	}
	wantQueued(t, s, 0)
}

// A page of a target's deliveries is the same whichever way they are found.
func TestListOfManyAndOfFew(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "t.db"), budget: time.Minute})
	const n = 2 * fewPending
	enqueue(t, s, n, func(n int) *store.Delivery {
		d := benchDelivery(n, [...]string{"many", "many", "many", "few"}[n%4])
		if n%8 >= 6 {
			d.Owner = "me" // half of the few, and some of the many
		}
		return d
	})
	for _, target := range []string{"many", "few"} {
		f := store.DeliveryFilter{Target: target, Limit: 70}
		seen := 0
		for last := ""; ; {
			page, err := s.Queue().List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, d := range page {
				if d.ID <= last || d.Target != target {
					t.Fatalf("%s of %s after %s", d.ID, d.Target, last)
				}
				last = d.ID
			}
			seen += len(page)
			f.After, f.AfterLive = last, true
		}
		if want := map[string]int{"many": n * 3 / 4, "few": n / 4}[target]; seen != want {
			t.Errorf("%s: pages showed %d, want %d", target, seen, want)
		}
	}
}

// The tables of the release before are brought up with what is in them.
func TestQueueIsAddedToAFileOfTheReleaseBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	s := open(t, Config{Path: path})
	if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{benchEntity}}); err != nil {
		t.Fatal(err)
	}
	if err := writePair(s, "a"); err != nil {
		t.Fatal(err)
	}
	err := s.administer(t.Context(), func(c *conn) error {
		return c.db.Exec(`DROP TABLE _rowcast_deliveries; DROP TABLE _rowcast_attempts; DROP TABLE _rowcast_instances; DROP TABLE _rowcast_turns;
			UPDATE _rowcast_meta SET number = 1 WHERE name = 'version'`)
	})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	s = open(t, Config{Path: path})
	if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{benchEntity}}); err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, 1, func(n int) *store.Delivery { return benchDelivery(n, "billing") })
	wantQueued(t, s, 1)
	err = s.View(t.Context(), func(r store.Reader) error { _, err := r.Get(benchEntity, value.OfText("a")); return err })
	if err != nil {
		t.Error(err)
	}
}
