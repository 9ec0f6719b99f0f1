package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// patience bounds the wait for what must come about: a lease that runs out, by
// whichever clock the datastore has.
const patience = time.Minute

// never is a wait that no case sees the end of.
const never = time.Hour

// me is the owner of cases with only one.
const me = "me"

// queueBench is what a case of the delivery queue stands on.
type queueBench struct {
	*bench
	queue store.Queue
	made  int
}

// openQueue opens a store on whose queue one instance, me, is enlisted for the
// targets of the cases.
func openQueue(b *bench) *queueBench {
	b.Helper()
	q := &queueBench{bench: b, queue: b.open(Options{}).Queue()}
	q.enlist(me)
	return q
}

func (q *queueBench) enlist(owner string) {
	q.Helper()
	q.must(q.queue.Enlist(q.Context(), store.Instance{Owner: owner, Targets: []string{"billing", "search", "ledger"}, Lease: never}))
}

// delivery returns one for billing, of a row of its own.
func (q *queueBench) delivery(set ...func(*store.Delivery)) *store.Delivery {
	q.made++
	n := q.made
	d := &store.Delivery{
		ID: fmt.Sprintf("U%026d", n), Target: "billing", Topic: "entity.order", Event: "entity.create", EventID: fmt.Sprintf("V%025d", n),
		Entity: "order", Subject: fmt.Sprintf("row-%d", n), Body: fmt.Appendf(nil, `{"n":%d}`, n),
		Created: epoch.Add(time.Duration(n) * time.Second), Status: store.Pending,
	}
	for _, s := range set {
		s(d)
	}
	return d
}

func to(target string) func(*store.Delivery) {
	return func(d *store.Delivery) { d.Target = target }
}

// about makes a delivery one of an ordered target, about that row.
func about(subject string) func(*store.Delivery) {
	return func(d *store.Delivery) { d.Target, d.Subject, d.Ordered = "ledger", subject, true }
}

// born makes it leased to the owner from the start.
func born(owner string) func(*store.Delivery) {
	return func(d *store.Delivery) { d.Status, d.Owner, d.Epoch = store.Claimed, owner, 1 }
}

// put makes n deliveries and enqueues each in a transaction of its own, so that
// the first is the first due.
func (q *queueBench) put(n int, set ...func(*store.Delivery)) []*store.Delivery {
	q.Helper()
	made := make([]*store.Delivery, n)
	for i := range made {
		made[i] = q.delivery(set...)
		q.enqueue(made[i])
	}
	return made
}

func (q *queueBench) enqueue(ds ...*store.Delivery) {
	q.Helper()
	q.must(q.write(func(tx store.Tx) error { return tx.Enqueue(ds...) }))
}

// claim leases up to limit deliveries of billing to me.
func (q *queueBench) claim(limit int) []*store.Delivery {
	q.Helper()
	return q.claims(store.Claim{Owner: me, Target: "billing", Limit: limit})
}

// claimOrdered leases what is free of the ordered target.
func (q *queueBench) claimOrdered(limit int) []*store.Delivery {
	q.Helper()
	return q.claims(store.Claim{Owner: me, Target: "ledger", Ordered: true, Limit: limit})
}

func (q *queueBench) claims(c store.Claim) []*store.Delivery {
	q.Helper()
	ds, err := q.queue.Claim(q.Context(), c)
	q.must(err)
	return ds
}

// came is what an attempt at the delivery came to, for me unless it was another's.
func came(d *store.Delivery, o store.Outcome, wait time.Duration) store.Settlement {
	s := store.Settlement{Lease: d.Lease(), Outcome: o, Wait: wait}
	s.Attempt = store.Attempt{
		Delivery: d.ID, Target: d.Target, Number: d.Attempts + 1, At: epoch, Took: 15 * time.Millisecond, Status: 200, Outcome: o,
	}
	if o != store.Delivered {
		s.Attempt.Status, s.Attempt.Error = 503, "busy"
	}
	return s
}

// settle writes down one outcome for each, all held by me.
func (q *queueBench) settle(o store.Outcome, wait time.Duration, ds ...*store.Delivery) {
	q.Helper()
	if lost := q.settles(me, o, wait, ds...); len(lost) != 0 {
		q.Fatalf("lost %v, want the leases to hold", lost)
	}
}

func (q *queueBench) settles(owner string, o store.Outcome, wait time.Duration, ds ...*store.Delivery) []string {
	q.Helper()
	settlements := make([]store.Settlement, len(ds))
	for i, d := range ds {
		settlements[i] = came(d, o, wait)
	}
	lost, err := q.queue.Settle(q.Context(), owner, settlements)
	q.must(err)
	return lost
}

// all returns what List shows.
func (q *queueBench) all() []*store.Delivery {
	q.Helper()
	return q.list(store.DeliveryFilter{Limit: 1000})
}

func (q *queueBench) list(f store.DeliveryFilter) []*store.Delivery {
	q.Helper()
	ds, err := q.queue.List(q.Context(), f)
	q.must(err)
	return ds
}

// one returns the delivery of that id as List shows it, or nil.
func (q *queueBench) one(id string) *store.Delivery {
	q.Helper()
	for _, d := range q.all() {
		if d.ID == id {
			return d
		}
	}
	return nil
}

// depth returns the target's; zero where it has no deliveries.
func (q *queueBench) depth(target string) store.Depth {
	q.Helper()
	depths, err := q.queue.Depths(q.Context())
	q.must(err)
	for _, d := range depths {
		if d.Target == target {
			return d
		}
	}
	return store.Depth{Target: target}
}

func (q *queueBench) attempts(id string) []store.Attempt {
	q.Helper()
	log, err := q.queue.Attempts(q.Context(), id)
	q.must(err)
	return log
}

// sweep sweeps in steps of limit until nothing remains, and adds up.
func (q *queueBench) sweep(limit int) (sum store.Swept, steps int) {
	q.Helper()
	for more := true; more; steps++ {
		if steps > 1000 {
			q.Fatal("Sweep finds more for ever")
		}
		s, err := q.queue.Sweep(q.Context(), limit)
		q.must(err)
		if s.Freed+s.Failed > limit {
			q.Fatalf("a step of %d freed and %d failed, want at most %d together", s.Freed, s.Failed, limit)
		}
		sum.Freed, sum.Failed, sum.Dead, more = sum.Freed+s.Freed, sum.Failed+s.Failed, sum.Dead+s.Dead, s.More
	}
	return sum, steps
}

// wantIDs compares deliveries with others, by id and order.
func (q *queueBench) wantIDs(what string, got []*store.Delivery, want ...*store.Delivery) {
	q.Helper()
	if g, w := ids(got), ids(want); !slices.Equal(g, w) {
		q.Fatalf("%s: %v, want %v", what, g, w)
	}
}

func ids(ds []*store.Delivery) []string {
	names := make([]string, len(ds))
	for i, d := range ds {
		names[i] = d.ID
	}
	return names
}

// until asks again until it holds.
func (q *queueBench) until(what string, holds func() bool) {
	q.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			q.Fatalf("%s: not within %v", what, patience)
		}
	}
}
