package storetest

import (
	"fmt"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

var leasePromises = []promise{
	{"an enlisted owner renews its lease, another does not", leasesRenew},
	{"Resign frees at once what the owner holds", resignFrees},
	{"what a dead owner holds is another's soon, and no attempt is spent", deadOwnersAreFreed},
	{"Sweep frees what an unknown owner holds, in steps", sweepFrees},
	{"Sweep fails what no instance declares, and nothing else", sweepFails},
	{"a queue that is in order is left as it is", sweepLeaves},
	{"a turn is one owner's until it has run out", turns},
}

func leasesRenew(b *bench) {
	q := openQueue(b)
	renew := func(owner string, want bool) {
		b.Helper()
		held, err := q.queue.Renew(b.Context(), owner)
		if err != nil || held != want {
			b.Errorf("Renew(%s) = %v, %v, want %v", owner, held, err, want)
		}
	}
	renew(me, true)
	renew(me, true)
	renew("other", false)
	_, err := q.queue.Resign(b.Context(), me)
	b.must(err)
	renew(me, false)
	q.enlist("me again")
	renew("me again", true)
	renew(me, false)
}

func resignFrees(b *bench) {
	q := openQueue(b)
	ds := q.put(3)
	held := q.claim(2)
	q.claims(store.Claim{Owner: "other", Target: "billing", Limit: 1})
	freed, err := q.queue.Resign(b.Context(), me)
	if err != nil || freed != 2 {
		b.Errorf("freed %d, %v, want 2", freed, err)
	}
	if lost := q.settles(me, store.Delivered, 0, held...); len(lost) != 2 {
		b.Errorf("lost %v, want both", lost)
	}
	got := q.claims(store.Claim{Owner: "next", Target: "billing", Limit: 10})
	q.wantIDs("free for the next", got, ds[0], ds[1])
	if d := got[0]; d.Attempts != 0 || d.Epoch != 2 {
		b.Errorf("freed as %+v, want no attempt spent and epoch 2 now", d)
	}
	if freed, err := q.queue.Resign(b.Context(), me); err != nil || freed != 0 {
		b.Errorf("again: freed %d, %v", freed, err)
	}
}

func deadOwnersAreFreed(b *bench) {
	q := openQueue(b)
	_, err := q.queue.Resign(b.Context(), me)
	b.must(err)
	targets := []string{"billing", "search", "ledger"}
	b.must(q.queue.Enlist(b.Context(), store.Instance{Owner: "dead", Targets: targets, Lease: time.Millisecond}))
	plain, ordered := q.put(2), q.put(2, about("a"))
	dead := append(
		q.claims(store.Claim{Owner: "dead", Target: "billing", Limit: 2}),
		q.claims(store.Claim{Owner: "dead", Target: "ledger", Ordered: true, Limit: 2})...)
	q.wantIDs("held by the one that dies", dead, plain[0], plain[1], ordered[0])
	tried := q.put(1)
	q.settles("dead", store.Retried, 0, q.claims(store.Claim{Owner: "dead", Target: "billing", Limit: 1})...)
	dead = append(dead, q.claims(store.Claim{Owner: "dead", Target: "billing", Limit: 1})...)

	q.enlist("heir")
	got := map[string]*store.Delivery{}
	q.until("all are free", func() bool {
		q.sweep(2)
		for _, c := range []store.Claim{{Target: "billing"}, {Target: "ledger", Ordered: true}} {
			c.Owner, c.Limit = "heir", 10
			for _, d := range q.claims(c) {
				got[d.ID] = d
			}
		}
		return len(got) == len(dead)
	})
	if lost := q.settles("dead", store.Delivered, 0, dead...); len(lost) != len(dead) {
		b.Errorf("the dead settled all but %v", lost)
	}
	for _, was := range dead {
		d := got[was.ID]
		if d == nil || d.Epoch != was.Epoch+1 || d.Attempts != was.Attempts {
			b.Errorf("freed as %+v, want the next epoch of %+v and its attempts", d, was)
		}
	}
	if d := got[tried[0].ID]; d != nil && (d.Attempts != 1 || d.LastError != "busy") {
		b.Errorf("freed as %+v, want the attempt it made", d)
	}
	if held, err := q.queue.Renew(b.Context(), "dead"); held || err != nil {
		b.Errorf("the dead renewed: %v, %v", held, err)
	}
	if held, err := q.queue.Renew(b.Context(), "heir"); !held || err != nil {
		b.Errorf("the heir renewed: %v, %v", held, err)
	}
}

func sweepFrees(b *bench) {
	q := openQueue(b)
	ds := q.put(6)
	mine := q.claim(1)
	q.claims(store.Claim{Owner: "ghost", Target: "billing", Limit: 5})
	swept, steps := q.sweep(2)
	if swept.Freed != 5 || swept.Failed != 0 || steps < 3 {
		b.Errorf("swept %+v in %d steps of 2, want 5 freed", swept, steps)
	}
	q.wantIDs("free", q.claim(10), ds[1:]...)
	if lost := q.settles(me, store.Delivered, 0, mine...); len(lost) != 0 {
		b.Errorf("lost %v: what a living owner holds was taken", lost)
	}
	orphan := q.delivery(born("an owner gone before the commit"))
	q.enqueue(orphan)
	q.sweep(10)
	q.wantIDs("free", q.claim(10), orphan)
}

func sweepFails(b *bench) {
	q := openQueue(b)
	gone := q.put(5, to("gone"))
	held := q.claims(store.Claim{Owner: me, Target: "gone", Limit: 1})
	waiting := q.claims(store.Claim{Owner: me, Target: "gone", Limit: 1})
	q.settle(store.Retried, never, waiting...)
	row := q.put(2, about("a"), to("gone too"))
	kept := q.put(1)
	swept, steps := q.sweep(2)
	if swept.Failed != 6 || swept.Freed != 0 || steps < 3 {
		b.Errorf("swept %+v in %d steps of 2, want 6 failed", swept, steps)
	}
	for _, d := range append(gone[1:], row...) {
		if d := q.one(d.ID); d.Status != store.Failed || d.LastError != store.TargetNotDeclared {
			b.Errorf("left as %+v, want it failed: %s", d, store.TargetNotDeclared)
		}
	}
	if d := q.one(waiting[0].ID); d.Attempts != 1 {
		b.Errorf("%d attempts, want the one that was made", d.Attempts)
	}
	if d := q.one(held[0].ID); d.Status != store.Claimed {
		b.Errorf("what is in flight is %+v, want it left", d)
	}
	q.wantIDs("of a target that is declared", q.claim(10), kept...)
	q.settle(store.Delivered, 0, held...)

	// Declared again, and requeued: the row's order holds.
	b.must(q.queue.Enlist(b.Context(), store.Instance{Owner: "newer", Targets: []string{"billing", "gone", "gone too"}, Lease: never}))
	_, err := q.queue.Requeue(b.Context(), store.Requeue{IDs: []string{row[1].ID, row[0].ID}, Declared: []string{"gone too"}})
	b.must(err)
	if swept, _ := q.sweep(10); swept.Failed != 0 {
		b.Errorf("swept %+v, want nothing of a target that one declares", swept)
	}
	claim := store.Claim{Owner: "newer", Target: "gone too", Ordered: true, Limit: 10}
	first := q.claims(claim)
	q.wantIDs("the first of the row", first, row[0])
	q.settles("newer", store.Delivered, 0, first...)
	q.wantIDs("the second", q.claims(claim), row[1])
}

func sweepLeaves(b *bench) {
	q := openQueue(b)
	ds := q.put(4)
	held := q.claim(3)
	q.settle(store.GivenUp, 0, held[0])
	q.settle(store.Retried, never, held[1])
	before := fmt.Sprint(*q.one(ds[0].ID), *q.one(ds[1].ID), *q.one(ds[2].ID), *q.one(ds[3].ID))
	swept, err := q.queue.Sweep(b.Context(), 10)
	if err != nil || swept != (store.Swept{}) {
		b.Errorf("swept %+v, %v, want nothing", swept, err)
	}
	if after := fmt.Sprint(*q.one(ds[0].ID), *q.one(ds[1].ID), *q.one(ds[2].ID), *q.one(ds[3].ID)); after != before {
		b.Errorf("changed from %s to %s", before, after)
	}
}

func turns(b *bench) {
	q := openQueue(b)
	turn := func(name, owner string, d time.Duration) bool {
		b.Helper()
		mine, err := q.queue.Turn(b.Context(), name, owner, d)
		b.must(err)
		return mine
	}
	if !turn("drain", "one", never) {
		b.Error("nobody has it, and one did not get it")
	}
	if turn("drain", "two", never) {
		b.Error("two have it")
	}
	if !turn("other", "two", time.Millisecond) {
		b.Error("another name is not free")
	}
	q.until("it runs out", func() bool { return turn("other", "three", never) })
	if turn("other", "two", never) {
		b.Error("two got it back from three")
	}
}
