package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/rowcast/rowcast/internal/store"
)

var orderedPromises = []promise{
	{"of an ordered target one delivery of a row is claimed at a time, in the order of the queue", orderedOneAtATime},
	{"rows of an ordered target do not wait for each other, and go in the order of the queue", orderedRowsAreApart},
	{"a delivery that waits or failed holds back its own row alone", orderedHoldsBackItsRow},
	{"a requeue lets a failed delivery go first again", orderedRequeue},
	{"skipping lets what waited behind go on", orderedSkip},
	{"a delivery given back is still the first of its row", orderedFree},
	{"a delivery behind another is not claimed by name either", orderedOnly},
	{"claimers at once never hold two of a row, nor a later one first", orderedClaimers},
	{"Depths counts as blocked what waits behind another of its row", orderedDepths},
}

func orderedOneAtATime(b *bench) {
	q := openQueue(b)
	ds := q.put(3, about("a"))
	for i, d := range ds {
		got := q.claimOrdered(10)
		q.wantIDs(fmt.Sprintf("claim %d", i), got, d)
		q.wantIDs("while it is held", q.claimOrdered(10))
		q.settle(store.Delivered, 0, got...)
	}
	q.wantIDs("at the end", q.claimOrdered(10))

	// Queued in one transaction, and settled in one with the next row's.
	a1, a2, b1, b2 := q.delivery(about("a")), q.delivery(about("a")), q.delivery(about("b")), q.delivery(about("b"))
	q.enqueue(a1, b1, a2, b2)
	got := q.claimOrdered(10)
	q.wantIDs("the first of each row", got, a1, b1)
	q.settle(store.Delivered, 0, got...)
	q.wantIDs("the second of each row", q.claimOrdered(10), a2, b2)
}

func orderedRowsAreApart(b *bench) {
	q := openQueue(b)
	a, c := q.put(1, about("a"))[0], q.put(1, about("c"))[0]
	other := q.put(1, about("a"), func(d *store.Delivery) { d.Entity = "invoice" })[0]
	search := q.put(1, about("a"), to("search"))[0]
	first := q.claimOrdered(1)
	q.wantIDs("the first in the queue", first, a)
	q.settle(store.Retried, 0, first...)
	q.wantIDs("tried before, and still the first in the queue", q.claimOrdered(10), a, c, other)
	q.wantIDs("the same row for another target", q.claims(store.Claim{Owner: me, Target: "search", Ordered: true, Limit: 10}), search)
}

func orderedHoldsBackItsRow(b *bench) {
	q := openQueue(b)
	ds := q.put(2, about("a"))
	others := q.put(3, about("b"))
	held := q.claimOrdered(10)
	q.wantIDs("the first of each", held, ds[0], others[0])
	q.settle(store.Retried, never, held[0])
	q.settle(store.Delivered, 0, held[1])
	held = q.claimOrdered(10)
	q.wantIDs("while one waits", held, others[1])
	q.settle(store.GivenUp, 0, held...)
	q.wantIDs("while one waits and one failed", q.claimOrdered(10))
	fresh := q.put(1, about("a"))
	q.put(1, about("b"))
	q.wantIDs("with more behind them", q.claimOrdered(10))
	third := q.put(1, about("c"))
	q.wantIDs("with a row beside them", q.claimOrdered(10), third...)
	moved, err := q.queue.Skip(b.Context(), []string{ds[0].ID})
	b.must(err)
	if len(moved.IDs) != 1 {
		b.Fatalf("moved %+v", moved)
	}
	for _, want := range []*store.Delivery{ds[1], fresh[0]} {
		got := q.claimOrdered(10)
		q.wantIDs("after the first was skipped", got, want)
		q.settle(store.Delivered, 0, got...)
	}
}

func orderedRequeue(b *bench) {
	q := openQueue(b)
	ds := q.put(3, about("a"))
	q.settle(store.GivenUp, 0, q.claimOrdered(1)...)
	requeue := store.Requeue{IDs: []string{ds[0].ID}, Declared: []string{"ledger"}, Pace: never}
	_, err := q.queue.Requeue(b.Context(), requeue)
	b.must(err)
	if d := q.one(ds[0].ID); d.Status != store.Pending {
		b.Fatalf("requeued as %+v", d)
	}
	for _, want := range ds { // the first by name: pace may have it wait
		got := q.claims(store.Claim{Owner: me, Target: "ledger", Ordered: true, Limit: 10, Only: want.ID})
		q.wantIDs("in the order of the queue", got, want)
		q.wantIDs("while it is held", q.claimOrdered(10))
		q.settle(store.Delivered, 0, got...)
	}
}

func orderedSkip(b *bench) {
	q := openQueue(b)
	ds := q.put(4, about("a"))
	skip := func(d *store.Delivery, want int) {
		b.Helper()
		moved, err := q.queue.Skip(b.Context(), []string{d.ID})
		b.must(err)
		if len(moved.IDs) != want {
			b.Fatalf("moved %+v, want %d", moved, want)
		}
	}
	skip(ds[1], 1) // from the middle: the first is still before the third
	held := q.claimOrdered(10)
	q.wantIDs("the first", held, ds[0])
	skip(ds[0], 0)
	q.wantIDs("while the first is held", q.claimOrdered(10))
	q.settle(store.GivenUp, 0, held...)
	skip(ds[0], 1)
	q.wantIDs("after the failed one was skipped", q.claimOrdered(10), ds[2])
	skip(ds[3], 1)
	if left := q.all(); len(left) != 1 {
		b.Errorf("left %v, want the one that is held", ids(left))
	}
}

func orderedFree(b *bench) {
	q := openQueue(b)
	ds := q.put(2, about("a"))
	held := q.claimOrdered(10)
	b.must(q.queue.Free(b.Context(), me, []store.Lease{held[0].Lease()}))
	got := q.claimOrdered(10)
	q.wantIDs("after it was given back", got, ds[0])
	q.settle(store.Delivered, 0, got...)
	q.wantIDs("after it was accepted", q.claimOrdered(10), ds[1])
}

func orderedOnly(b *bench) {
	q := openQueue(b)
	ds := q.put(2, about("a"))
	only := func(d *store.Delivery) []*store.Delivery {
		return q.claims(store.Claim{Owner: me, Target: "ledger", Ordered: true, Limit: 1, Only: d.ID})
	}
	q.wantIDs("the second, behind one that is due", only(ds[1]))
	first := only(ds[0])
	q.wantIDs("the first", first, ds[0])
	q.settle(store.Retried, never, first...)
	q.wantIDs("the second, behind one that waits", only(ds[1]))
	q.wantIDs("the first, which waits", only(ds[0]), ds[0])
}

func orderedClaimers(b *bench) {
	q := openQueue(b)
	const claimers, rows, each = 4, 5, 8
	var ds []*store.Delivery
	for range each {
		for row := range rows {
			ds = append(ds, q.delivery(about(fmt.Sprint(row))))
		}
	}
	q.enqueue(ds...)
	ctx, stop := context.WithTimeout(b.Context(), patience)
	defer stop()
	w := &watch{held: map[string]bool{}, last: map[string]string{}, left: len(ds)}
	var wg sync.WaitGroup
	for c := range claimers {
		wg.Go(func() {
			if err := w.drain(ctx, q, fmt.Sprint("claimer-", c)); err != nil {
				b.Error(err)
				stop() // the others would wait for what this one held
			}
		})
	}
	wg.Wait()
	q.wantIDs("left", q.all())
}

// watch sees who holds what of an ordered target.
type watch struct {
	mu   sync.Mutex
	held map[string]bool   // by row
	last map[string]string // the delivery of the row that was claimed last
	left int
}

// drain claims and settles until all are settled, by whomever.
func (w *watch) drain(ctx context.Context, q *queueBench, owner string) error {
	for {
		got, err := q.queue.Claim(ctx, store.Claim{Owner: owner, Target: "ledger", Ordered: true, Limit: 2})
		if err != nil {
			return err
		}
		if err := w.take(got); err != nil {
			return err
		}
		settlements := make([]store.Settlement, len(got))
		for i, d := range got {
			settlements[i] = came(d, store.Delivered, 0)
		}
		all := w.give(got) // before it is so: another may have the next right after
		if _, err := q.queue.Settle(ctx, owner, settlements); err != nil || all {
			return err
		}
	}
}

func (w *watch) take(got []*store.Delivery) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range got {
		if w.held[d.Subject] || d.ID <= w.last[d.Subject] {
			return fmt.Errorf("%s of row %s was claimed after %s, held: %v", d.ID, d.Subject, w.last[d.Subject], w.held[d.Subject])
		}
		w.held[d.Subject], w.last[d.Subject] = true, d.ID
	}
	return nil
}

func (w *watch) give(got []*store.Delivery) (all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range got {
		w.held[d.Subject] = false
	}
	w.left -= len(got)
	return w.left == 0
}

func orderedDepths(b *bench) {
	q := openQueue(b)
	q.put(3, about("a"))
	q.put(1, about("b"))
	want := func(what string, pending, claimed, failed, blocked int64) {
		b.Helper()
		d := q.depth("ledger")
		if d.Pending != pending || d.Claimed != claimed || d.Failed != failed || d.Blocked != blocked {
			b.Errorf("%s: %+v, want %d pending, %d claimed, %d failed, %d blocked", what, d, pending, claimed, failed, blocked)
		}
	}
	want("queued", 4, 0, 0, 2)
	held := q.claimOrdered(10)
	want("claimed", 2, 2, 0, 2)
	q.settle(store.GivenUp, 0, held[0])
	q.settle(store.Delivered, 0, held[1])
	want("the first failed", 2, 0, 1, 2)
	_, err := q.queue.Skip(b.Context(), []string{held[0].ID})
	b.must(err)
	want("the first skipped", 2, 0, 0, 1)
	q.put(2) // of a target without order
	if d := q.depth("billing"); d.Blocked != 0 {
		b.Errorf("%d blocked of a target without order", d.Blocked)
	}
}
