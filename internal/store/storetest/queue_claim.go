package storetest

import (
	"slices"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

var claimPromises = []promise{
	{"claimers at once get disjoint deliveries, and every one is got", claimsAreExclusive},
	{"a claim takes the earliest due first, of its own target, up to its limit", claimsAreInOrderOfDue},
	{"what is not due is not claimed, unless it is named", claimOfOne},
	{"Next tells when the first delivery of a lane is due", nextTells},
	{"Held returns what an owner has had for long enough", heldReturns},
	{"Free gives back untried what is held, and only that", freeGivesBack},
}

func claimsAreExclusive(b *bench) {
	q := openQueue(b)
	const claimers, n = 6, 120
	ds := make([]*store.Delivery, n)
	for i := range ds {
		ds[i] = q.delivery()
	}
	q.enqueue(ds...)
	var mu sync.Mutex
	owners := map[string]string{}
	var wg sync.WaitGroup
	for c := range claimers {
		owner := string(rune('a' + c))
		wg.Go(func() {
			for {
				got, err := q.queue.Claim(b.Context(), store.Claim{Owner: owner, Target: "billing", Limit: 7})
				b.check(err)
				if err != nil || len(got) == 0 {
					return
				}
				mu.Lock()
				for _, d := range got {
					if other := owners[d.ID]; other != "" {
						b.Errorf("%s is leased to %s and to %s", d.ID, other, owner)
					}
					if owners[d.ID] = owner; d.Owner != owner || d.Epoch != 1 || d.Status != store.Claimed {
						b.Errorf("claimed as %+v", d)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if left := q.claim(n); len(owners)+len(left) != n {
		b.Errorf("%d and then %d of %d were claimed", len(owners), len(left), n)
	}
	for _, d := range q.all() {
		if want := owners[d.ID]; want != "" && d.Owner != want {
			b.Errorf("%s is leased to %q, want %q", d.ID, d.Owner, want)
		}
	}
}

func claimsAreInOrderOfDue(b *bench) {
	q := openQueue(b)
	ds := q.put(4)
	other := q.put(1, to("search"))
	first := q.claim(1)
	q.wantIDs("the first", first, ds[0])
	q.settle(store.Retried, 0, first...) // due at once, and so after the others
	q.wantIDs("none for a limit of none", q.claim(0))
	q.wantIDs("the next two", q.claim(2), ds[1], ds[2])
	rest := q.claim(10)
	q.wantIDs("the rest", rest, ds[3], ds[0])
	if d := rest[1]; d.Epoch != 2 || d.Attempts != 1 || d.LastStatus != 503 || d.LastError != "busy" {
		b.Errorf("claimed again as %+v, want epoch 2, one attempt and what it came to", d)
	}
	q.wantIDs("another target's", q.claims(store.Claim{Owner: me, Target: "search", Limit: 10}), other...)
	q.wantIDs("a target without deliveries", q.claims(store.Claim{Owner: me, Target: "nobody", Limit: 10}))
}

func claimOfOne(b *bench) {
	q := openQueue(b)
	ds := q.put(3)
	claimed := q.claim(2)
	q.settle(store.Retried, never, claimed[0])
	q.settle(store.GivenUp, 0, claimed[1])
	only := func(target, id string) []*store.Delivery {
		return q.claims(store.Claim{Owner: me, Target: target, Limit: 5, Only: id})
	}
	q.wantIDs("one that is not there", only("billing", "U0"))
	q.wantIDs("one of another target", only("search", ds[2].ID))
	q.wantIDs("one that failed", only("billing", ds[1].ID))
	waiting := only("billing", ds[0].ID)
	q.wantIDs("one that waits", waiting, ds[0])
	q.wantIDs("one that is claimed", only("billing", ds[0].ID))
	b.must(q.queue.Free(b.Context(), me, []store.Lease{waiting[0].Lease()}))
	got := q.claim(5)
	slices.SortFunc(got, func(a, b *store.Delivery) int { return int(a.Epoch - b.Epoch) })
	q.wantIDs("due at once when given back", got, ds[2], ds[0])
}

func nextTells(b *bench) {
	q := openQueue(b)
	lanes := []store.Lane{{Target: "billing"}, {Target: "search"}, {Target: "ledger", Ordered: true}, {Target: "nobody"}}
	next := func() map[string]time.Duration {
		b.Helper()
		n, err := q.queue.Next(b.Context(), lanes)
		b.must(err)
		return n
	}
	if n := next(); len(n) != 0 {
		b.Errorf("of an empty queue: %v", n)
	}
	q.put(2)
	q.put(1, to("search"))
	q.put(2, about("a"))
	for target, wait := range next() {
		if wait > 0 {
			b.Errorf("%s: in %v, want now", target, wait)
		}
	}
	if n := next(); len(n) != 3 {
		b.Errorf("of three targets: %v", n)
	}
	q.settle(store.Retried, never, q.claim(1)...)
	if wait := next()["billing"]; wait > 0 {
		b.Errorf("with one that is due: in %v, want now", wait)
	}
	q.settle(store.Retried, 2*never, q.claim(1)...)
	if wait := next()["billing"]; wait > never || wait < never-patience {
		b.Errorf("with two that wait: in %v, want about %v", wait, never)
	}
	q.claims(store.Claim{Owner: me, Target: "search", Limit: 1})
	q.settle(store.GivenUp, 0, q.claimOrdered(1)...)
	n := next()
	if wait, there := n["search"]; there {
		b.Errorf("of a target whose only delivery is claimed: in %v", wait)
	}
	if wait, there := n["ledger"]; there {
		b.Errorf("of a row whose first delivery failed: in %v", wait)
	}
}

func heldReturns(b *bench) {
	q := openQueue(b)
	ds := q.put(3)
	mine := q.claim(2)
	q.claims(store.Claim{Owner: "other", Target: "billing", Limit: 1})
	held := func(age time.Duration, limit int) []*store.Delivery {
		b.Helper()
		got, err := q.queue.Held(b.Context(), me, age, limit)
		b.must(err)
		slices.SortFunc(got, func(a, b *store.Delivery) int { return slices.Compare([]string{a.ID}, []string{b.ID}) })
		return got
	}
	got := held(0, 10)
	q.wantIDs("held", got, ds[0], ds[1])
	for i, d := range got {
		if string(d.Body) != string(ds[i].Body) || d.Owner != me || d.Lease() != mine[i].Lease() {
			b.Errorf("held as %+v, want it whole and under its lease", d)
		}
	}
	q.wantIDs("held for long", held(never, 10))
	if n := len(held(0, 1)); n != 1 {
		b.Errorf("%d held, want no more than the limit", n)
	}
	q.until("held for a while", func() bool { return len(held(5*time.Millisecond, 10)) == 2 })
	q.settle(store.Delivered, 0, mine...)
	q.wantIDs("after they were settled", held(0, 10))
}

func freeGivesBack(b *bench) {
	q := openQueue(b)
	ds := q.put(3)
	first := q.claim(3)
	b.must(q.queue.Free(b.Context(), "other", []store.Lease{first[0].Lease()}))
	b.must(q.queue.Free(b.Context(), me, []store.Lease{{ID: ds[0].ID, Epoch: 2}, {ID: "U0", Epoch: 1}}))
	b.must(q.queue.Free(b.Context(), me, nil))
	q.wantIDs("after what held no lease gave back", q.claim(3))

	b.must(q.queue.Free(b.Context(), me, []store.Lease{first[0].Lease(), first[1].Lease()}))
	if d := q.one(ds[0].ID); d.Status != store.Pending || d.Owner != "" || d.Attempts != 0 || d.Epoch != 1 {
		b.Errorf("given back as %+v, want it pending and untried", d)
	}
	if log := q.attempts(ds[0].ID); len(log) != 0 {
		b.Errorf("attempts %v of a delivery that was given back untried", log)
	}
	again := q.claim(3)
	q.wantIDs("claimed again", again, ds[0], ds[1])
	if again[0].Epoch != 2 {
		b.Errorf("epoch %d, want 2", again[0].Epoch)
	}
	b.must(q.queue.Free(b.Context(), me, []store.Lease{first[0].Lease()})) // of the epoch before
	if d := q.one(ds[0].ID); d.Status != store.Claimed || d.Epoch != 2 {
		b.Errorf("a stale Free changed it to %+v", d)
	}
}
