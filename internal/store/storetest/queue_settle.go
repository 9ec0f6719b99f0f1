package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/store"
)

var settlePromises = []promise{
	{"an accepted delivery is gone, a refused one waits for an operator", settleOutcomes},
	{"a retried delivery waits until it is due", settleRetries},
	{"what another holds, or held in an earlier epoch, is reported lost and stays as it is", settleIsFenced},
	{"an attempt counts when it is settled, and the log keeps each", settleCounts},
	{"the attempt log outlives the delivery, and is pruned by age in steps", attemptsArePruned},
}

func settleOutcomes(b *bench) {
	q := openQueue(b)
	ds := q.put(3)
	held := q.claim(3)
	lost, err := q.queue.Settle(b.Context(), me, []store.Settlement{
		came(held[0], store.Delivered, 0), came(held[1], store.GivenUp, 0), came(held[2], store.Retried, never),
	})
	if err != nil || len(lost) != 0 {
		b.Fatalf("lost %v, %v", lost, err)
	}
	all := q.all()
	q.wantIDs("left", all, ds[1], ds[2])
	for i, want := range []store.DeliveryStatus{store.Failed, store.Pending} {
		if d := all[i]; d.Status != want || d.Attempts != 1 || d.Owner != "" || d.LastStatus != 503 || d.LastError != "busy" || d.Epoch != 1 {
			b.Errorf("%s is left as %+v, want status %d after one attempt", d.ID, d, want)
		}
	}
	q.wantIDs("to claim", q.claim(3))
	if lost, err := q.queue.Settle(b.Context(), me, nil); err != nil || len(lost) != 0 {
		b.Errorf("of no outcomes: lost %v, %v", lost, err)
	}
}

func settleRetries(b *bench) {
	q := openQueue(b)
	ds := q.put(1)
	q.settle(store.Retried, 0, q.claim(1)...)
	again := q.claim(1)
	q.wantIDs("due at once", again, ds...)
	before := again[0].Due
	q.settle(store.Retried, 30*time.Millisecond, again...)
	if d := q.one(ds[0].ID); d.Due.Sub(before) < 30*time.Millisecond {
		b.Errorf("due %v after it was last, want the wait at least", d.Due.Sub(before))
	}
	var got []*store.Delivery
	q.until("a wait ends", func() bool { got = q.claim(1); return len(got) == 1 })
	if got[0].Epoch != 3 || got[0].Attempts != 2 {
		b.Errorf("claimed as %+v, want epoch 3 after two attempts", got[0])
	}
	q.settle(store.Retried, never, got...)
	q.wantIDs("not due for long", q.claim(1))
}

func settleIsFenced(b *bench) {
	q := openQueue(b)
	ds := q.put(2)
	stale := q.claim(2)
	b.must(q.queue.Free(b.Context(), me, []store.Lease{stale[0].Lease()}))
	cases := []struct {
		name  string
		owner string
		d     *store.Delivery
	}{
		{"given back, not claimed again", me, stale[0]},
		{"held by another", "other", stale[1]},
		{"unknown", me, &store.Delivery{ID: "U0", Epoch: 1}},
	}
	for _, c := range cases {
		for _, o := range []store.Outcome{store.Delivered, store.Retried, store.GivenUp} {
			before := q.all()
			if lost := q.settles(c.owner, o, 0, c.d); !slices.Equal(lost, []string{c.d.ID}) {
				b.Errorf("%s, outcome %d: lost %v, want it", c.name, o, lost)
			}
			if diff := cmp.Diff(before, q.all()); diff != "" {
				b.Errorf("%s, outcome %d: changed (-before +after):\n%s", c.name, o, diff)
			}
		}
	}
	fresh := q.claim(1)
	q.wantIDs("claimed again", fresh, ds[0])
	lost := q.settles(me, store.GivenUp, 0, stale...) // one stale and one that holds
	if !slices.Equal(lost, []string{ds[0].ID}) {
		b.Errorf("lost %v, want the stale one", lost)
	}
	if d := q.one(ds[0].ID); d.Status != store.Claimed || d.Epoch != 2 || d.Attempts != 0 {
		b.Errorf("a stale completion changed it to %+v", d)
	}
	if d := q.one(ds[1].ID); d.Status != store.Failed {
		b.Errorf("the one beside it is %+v, want it failed", d)
	}
	if log := q.attempts(ds[0].ID); len(log) != 0 {
		b.Errorf("attempts %v were logged of a lost lease", log)
	}
	q.settle(store.Delivered, 0, fresh...)
	if lost := q.settles(me, store.Delivered, 0, fresh...); len(lost) != 1 {
		b.Errorf("lost %v, want what was settled before", lost)
	}
	if log := q.attempts(ds[0].ID); len(log) != 1 {
		b.Errorf("%d attempts, want the one that was settled", len(log))
	}
}

func settleCounts(b *bench) {
	q := openQueue(b)
	d := q.put(1)[0]
	var want []store.Attempt
	at := func(number int, s *store.Settlement, status int, text string) {
		s.Attempt = store.Attempt{
			Delivery: d.ID, Target: "billing", Number: number, At: epoch.Add(time.Duration(len(want)) * time.Second),
			Took: time.Duration(len(want)+1) * time.Millisecond, Status: status, Error: text, Outcome: s.Outcome,
		}
		want = append(want, s.Attempt)
	}
	settle := func(number int, o store.Outcome, status int, text string) {
		b.Helper()
		held := q.claim(1)
		q.wantIDs("claimed", held, d)
		s := came(held[0], o, 0)
		at(number, &s, status, text)
		lost, err := q.queue.Settle(b.Context(), me, []store.Settlement{s})
		if err != nil || len(lost) != 0 {
			b.Fatalf("lost %v, %v", lost, err)
		}
	}
	settle(1, store.Retried, 0, "connection refused")
	settle(2, store.Retried, 503, "é \" '")
	settle(3, store.GivenUp, 422, "")
	if got := q.one(d.ID); got.Attempts != 3 || got.LastStatus != 422 || got.LastError != "" {
		b.Errorf("after three attempts: %+v", got)
	}
	moved, err := q.queue.Requeue(b.Context(), store.Requeue{IDs: []string{d.ID}, Declared: []string{"billing"}})
	b.must(err)
	if !slices.Equal(moved.IDs, []string{d.ID}) {
		b.Fatalf("moved %+v", moved)
	}
	settle(1, store.Delivered, 204, "")
	if diff := cmp.Diff(want, q.attempts(d.ID)); diff != "" {
		b.Errorf("attempt log (-settled +read):\n%s", diff)
	}
	if log := q.attempts("U0"); len(log) != 0 {
		b.Errorf("attempts of a delivery that was never there: %v", log)
	}
}

func attemptsArePruned(b *bench) {
	q := openQueue(b)
	ds := q.put(5)
	for i, d := range q.claim(5) {
		s := came(d, store.Delivered, 0)
		s.Attempt.At = epoch.Add(time.Duration(i) * time.Second)
		_, err := q.queue.Settle(b.Context(), me, []store.Settlement{s})
		b.must(err)
	}
	steps := 0
	for more := true; more; steps++ {
		var err error
		more, err = q.queue.PruneAttempts(b.Context(), epoch.Add(3*time.Second), 2)
		b.must(err)
		if steps > 3 {
			b.Fatal("PruneAttempts finds more for ever")
		}
		if left := len(q.attempts(ds[2].ID)); steps == 0 && left != 1 {
			b.Error("the first step of two took the third")
		}
	}
	if steps < 2 {
		b.Errorf("three were pruned in %d steps of two", steps)
	}
	for i, d := range ds {
		if got, want := len(q.attempts(d.ID)), max(0, min(1, i-2)); got != want {
			b.Errorf("attempt %d: %d are left, want %d", i, got, want)
		}
	}
}
