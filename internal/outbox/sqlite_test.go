package outbox_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqlite"
)

// onSQLite runs a test in a bubble around a real file.
func onSQLite(t *testing.T, receivers map[string]*receiver, test func(t *testing.T, w *world, s store.Store)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Logger: slog.New(slog.DiscardHandler), LockWait: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		test(t, &world{t: t, queue: s.Queue(), receivers: receivers}, s)
	})
}

// commit queues n deliveries as the engine does, in one transaction.
func (w *world) commit(s store.Store, p *process, target string, n int) []*store.Delivery {
	w.t.Helper()
	ds := make([]*store.Delivery, n)
	for i := range ds {
		d := w.delivery(target, "row")
		d.Entity, d.EventID, d.Created, d.Status = "order", w.newID(), time.Now(), store.Pending
		d.Ordered = target[len(target)-1] == '+'
		if owner, ok := p.Reserve(target); ok {
			d.Owner, d.Status, d.Epoch = owner, store.Claimed, 1
		}
		ds[i] = d
	}
	err := s.Write(w.t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error { return tx.Enqueue(ds...) }})
	if err != nil {
		p.Dropped(ds, false)
		w.t.Fatal(err)
	}
	p.Committed(ds)
	return ds
}

// all lists what is in the queue.
func (w *world) all(p *process) []*store.Delivery {
	w.t.Helper()
	ds, err := p.List(w.t.Context(), store.DeliveryFilter{Limit: 10_000})
	if err != nil {
		w.t.Fatal(err)
	}
	return ds
}

// TestOnSQLite is the relay on a real queue: from memory, from the queue, and
// past a target that is away for a while.
func TestOnSQLite(t *testing.T) {
	r := answers(accepted)
	onSQLite(t, map[string]*receiver{"a": r}, func(t *testing.T, w *world, s store.Store) {
		p := w.start(nil, "a")
		synctest.Wait()
		if n := leased(w.commit(s, p, "a", 1000)); n != 256 {
			t.Errorf("%d were born leased, want 256", n)
		}
		wait(t.Context(), 2*time.Second)
		synctest.Wait()
		if len(r.seen()) != 1000 || len(w.all(p)) != 0 {
			t.Errorf("%d were sent, %d are left", len(r.seen()), len(w.all(p)))
		}

		r.become(silent)
		away := len(r.seen())
		w.commit(s, p, "a", 100)
		wait(t.Context(), 5*time.Minute)
		synctest.Wait()
		// 8 in flight, at most 4 more taken before the breaker opened, and 7 probes.
		if n := len(r.seen()) - away; n > 19 {
			t.Errorf("%d attempts at a target that is away for five minutes", n)
		}
		r.become(accepted)
		wait(t.Context(), 10*time.Minute)
		synctest.Wait()
		if left := w.all(p); len(left) != 0 {
			t.Errorf("%d are left", len(left))
		}
		if c := p.Counters(); c.Delivered != 1100 || c.LeaseLost != 0 || c.Expired != 0 {
			t.Errorf("counters %+v", c)
		}
	})
}

func TestOnSQLiteTwelveAttempts(t *testing.T) {
	r := answers(post.Result{Class: post.Retry, Status: 503, Error: "bad \xff\x00 bytes"})
	onSQLite(t, map[string]*receiver{"a": r}, func(t *testing.T, w *world, s store.Store) {
		p := w.start(nil, "a")
		synctest.Wait()
		d := w.commit(s, p, "a", 1)[0]
		wait(t.Context(), time.Hour)
		synctest.Wait()
		left := w.all(p)
		log, err := p.Attempts(t.Context(), d.ID)
		if len(left) != 1 || left[0].Status != store.Failed || left[0].Attempts != 12 || len(log) != 12 || err != nil {
			t.Errorf("%+v, %d attempts logged, %v", left, len(log), err)
		}
		r.become(accepted)
		moved, err := p.Requeue(t.Context(), store.Requeue{IDs: []string{d.ID}})
		if err != nil || len(moved.IDs) != 1 {
			t.Errorf("%+v, %v", moved, err)
		}
		wait(t.Context(), 2*time.Second)
		synctest.Wait()
		if len(w.all(p)) != 0 {
			t.Error("the requeued delivery is still there")
		}
	})
}

// TestOnSQLiteARestartGoesOn: an ordered target and another, with a relay that
// ends and one that follows it.
func TestOnSQLiteARestartGoesOn(t *testing.T) {
	a, b := slowly(time.Second), slowly(time.Second)
	onSQLite(t, map[string]*receiver{"a": a, "b+": b}, func(t *testing.T, w *world, s store.Store) {
		p := w.start(nil, "a", "b+")
		synctest.Wait()
		w.commit(s, p, "a", 100)
		w.commit(s, p, "b+", 10)
		wait(t.Context(), 3500*time.Millisecond)
		p.stop()
		q := w.start(nil, "a", "b+")
		got, err := q.Drain(t.Context())
		if err != nil || len(w.all(q)) != 0 || got.Failed+got.Retried != 0 {
			t.Errorf("%+v, %v, %d left", got, err, len(w.all(q)))
		}
		for _, r := range []*receiver{a, b} {
			for id, n := range times(r.seen()) {
				if n != 1 {
					t.Errorf("%s was sent %d times", id, n)
				}
			}
		}
		for i, sent := range b.seen() {
			if i > 0 && sent.id < b.seen()[i-1].id {
				t.Errorf("the events of a row came as %v", b.seen())
			}
		}
	})
}

// TestOnSQLiteAStateOfAffairs is what an operator is shown.
func TestOnSQLiteAStateOfAffairs(t *testing.T) {
	onSQLite(t, map[string]*receiver{"a": blackHole(), "b": answers(refused)}, func(t *testing.T, w *world, s store.Store) {
		p := w.start(func(c *outbox.Config) { c.Targets[0].URL = "https://a.example/x" }, "a", "b")
		synctest.Wait()
		w.commit(s, p, "a", 20)
		w.commit(s, p, "b", 3)
		wait(t.Context(), time.Second)
		synctest.Wait()
		stats, err := p.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		depth := map[string]store.Depth{}
		for _, d := range stats.Depths {
			depth[d.Target] = d
		}
		if depth["a"].Claimed != 20 || depth["b"].Failed != 3 {
			t.Errorf("depths %+v", stats.Depths)
		}
		one := stats.Targets[0]
		if one.Name != "a" || one.URL == "" || one.InFlight != 8 || one.Breaker != "closed" || one.MaxInFlight != 8 {
			t.Errorf("%+v", one)
		}
		if c := stats.Counters; c.Failed != 3 || c.Targets["b"].Failed != 3 || c.Targets["a"].Attempted != 0 {
			t.Errorf("%+v", c)
		}
	})
}
