package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/store"
)

var modelPromises = []promise{
	{"the queue does what a model of it does, whatever is asked in whatever order", queueModel},
}

func queueModel(b *bench) {
	q := openQueue(b)
	rapid.Check(b.T, func(t *rapid.T) {
		q.clear()
		m := &model{t: t, q: q}
		steps := []func(){m.enqueue, m.enqueue, m.claim, m.claim, m.settle, m.settle, m.free, m.requeue, m.skip, m.sweep}
		for range rapid.IntRange(1, 14).Draw(t, "steps") {
			steps[rapid.IntRange(0, len(steps)-1).Draw(t, "step")]()
			m.compare()
		}
		m.compareDepths()
	})
}

// clear empties the queue.
func (q *queueBench) clear() {
	q.Helper()
	all := q.all()
	if len(all) == 0 {
		return
	}
	for _, d := range all {
		if d.Status == store.Claimed {
			q.must(q.queue.Free(q.Context(), d.Owner, []store.Lease{d.Lease()}))
		}
	}
	moved, err := q.queue.Skip(q.Context(), ids(all))
	q.must(err)
	if len(moved.IDs) != len(all) {
		q.Fatalf("skipped %d of %d", len(moved.IDs), len(all))
	}
}

// model is the queue as a list.
type model struct {
	t      *rapid.T
	q      *queueBench
	rows   []*store.Delivery // in the order of the queue
	waits  map[string]bool   // by id: pending and not due for long
	leases []*store.Delivery // as they were when leased
}

func (m *model) find(id string) *store.Delivery {
	i := slices.IndexFunc(m.rows, func(d *store.Delivery) bool { return d.ID == id })
	if i < 0 {
		return nil
	}
	return m.rows[i]
}

func (m *model) remove(id string) {
	m.rows = slices.DeleteFunc(m.rows, func(d *store.Delivery) bool { return d.ID == id })
}

// behind reports whether an earlier delivery of its row holds it back.
func (m *model) behind(d *store.Delivery) bool {
	return d.Ordered && slices.ContainsFunc(m.rows[:slices.Index(m.rows, d)], func(e *store.Delivery) bool {
		return e.Ordered && e.Target == d.Target && e.Entity == d.Entity && e.Subject == d.Subject
	})
}

func (m *model) drawOwner() string {
	return rapid.SampledFrom([]string{me, me, "other"}).Draw(m.t, "owner")
}

// drawIDs draws ids of deliveries, and one that nobody has.
func (m *model) drawIDs() []string {
	all := append(ids(m.rows), "U0")
	return rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, min(3, len(all)), rapid.ID[string]).Draw(m.t, "ids")
}

// enqueue queues a few deliveries, some born leased, in one transaction.
func (m *model) enqueue() {
	ds := make([]*store.Delivery, rapid.IntRange(1, 3).Draw(m.t, "n"))
	for i := range ds {
		switch rapid.SampledFrom([]string{"plain", "born", "x", "y", "y"}).Draw(m.t, "kind") {
		case "plain":
			ds[i] = m.q.delivery()
		case "born":
			ds[i] = m.q.delivery(born(m.drawOwner()))
			m.leases = append(m.leases, copyOf(ds[i]))
		case "x":
			ds[i] = m.q.delivery(about("x"))
		default:
			ds[i] = m.q.delivery(about("y"))
		}
	}
	m.q.enqueue(ds...)
	for _, d := range ds {
		m.rows = append(m.rows, copyOf(d))
	}
}

func copyOf(d *store.Delivery) *store.Delivery {
	c := *d
	return &c
}

func (m *model) claim() {
	c := store.Claim{Owner: m.drawOwner(), Target: "billing", Limit: rapid.IntRange(1, 4).Draw(m.t, "limit")}
	if rapid.Bool().Draw(m.t, "ordered") {
		c.Target, c.Ordered = "ledger", true
	}
	free := 0
	for _, d := range m.rows {
		if m.claimable(d, c.Target) {
			free++
		}
	}
	got := m.q.claims(c)
	if want := min(free, c.Limit); len(got) != want {
		m.t.Fatalf("claimed %v of %s, want %d of %d", ids(got), c.Target, want, free)
	}
	claimed := make([]*store.Delivery, 0, len(got))
	for _, g := range got {
		d := m.find(g.ID)
		if d == nil || !m.claimable(d, c.Target) {
			m.t.Fatalf("claimed %s, which is %+v", g.ID, d)
		}
		claimed = append(claimed, d)
	}
	for _, d := range claimed {
		d.Status, d.Owner, d.Epoch = store.Claimed, c.Owner, d.Epoch+1
		m.leases = append(m.leases, copyOf(d))
	}
}

func (m *model) claimable(d *store.Delivery, target string) bool {
	return d.Target == target && d.Status == store.Pending && !m.waits[d.ID] && !m.behind(d)
}

// drawLease draws a lease that was once given, by whoever has it now or not, and
// the delivery if it holds.
func (m *model) drawLease() (owner string, lease, held *store.Delivery) {
	if len(m.leases) == 0 {
		return me, &store.Delivery{ID: "U0", Epoch: 1}, nil
	}
	lease = rapid.SampledFrom(m.leases).Draw(m.t, "lease")
	owner = lease.Owner
	if rapid.IntRange(0, 4).Draw(m.t, "whose") == 0 {
		owner = m.drawOwner()
	}
	if d := m.find(lease.ID); d != nil && d.Status == store.Claimed && d.Owner == owner && d.Epoch == lease.Epoch {
		held = d
	}
	return owner, lease, held
}

func (m *model) settle() {
	owner, lease, held := m.drawLease()
	outcome := rapid.SampledFrom([]store.Outcome{store.Delivered, store.Retried, store.GivenUp}).Draw(m.t, "outcome")
	wait := rapid.SampledFrom([]time.Duration{0, never}).Draw(m.t, "wait")
	lost := m.q.settles(owner, outcome, wait, lease)
	if (len(lost) == 0) != (held != nil) {
		m.t.Fatalf("lost %v of a lease that is held: %v", lost, held != nil)
	}
	if held == nil {
		return
	}
	held.Owner, held.Attempts = "", held.Attempts+1
	switch outcome {
	case store.Delivered:
		m.remove(held.ID)
	case store.Retried:
		held.Status = store.Pending
		m.wait(held.ID, wait > 0)
	default:
		held.Status = store.Failed
	}
}

func (m *model) wait(id string, long bool) {
	if m.waits == nil {
		m.waits = map[string]bool{}
	}
	m.waits[id] = long
}

func (m *model) free() {
	owner, lease, held := m.drawLease()
	m.q.must(m.q.queue.Free(m.q.Context(), owner, []store.Lease{lease.Lease()}))
	if held != nil {
		held.Status, held.Owner = store.Pending, ""
		m.wait(held.ID, false)
	}
}

func (m *model) requeue() {
	wanted := m.drawIDs()
	if len(wanted) == 0 {
		return
	}
	moved, err := m.q.queue.Requeue(m.q.Context(), store.Requeue{IDs: wanted, Declared: []string{"billing", "ledger"}})
	m.q.must(err)
	m.compareMoved("requeued", wanted, moved, func(d *store.Delivery) string {
		switch d.Status {
		case store.Pending:
			return store.ReasonPending
		case store.Claimed:
			return store.ReasonClaimed
		default:
			d.Status, d.Attempts = store.Pending, 0
			m.wait(d.ID, false)
			return ""
		}
	})
}

func (m *model) skip() {
	wanted := m.drawIDs()
	moved, err := m.q.queue.Skip(m.q.Context(), wanted)
	m.q.must(err)
	m.compareMoved("skipped", wanted, moved, func(d *store.Delivery) string {
		if d.Status == store.Claimed {
			return store.ReasonClaimed
		}
		m.remove(d.ID)
		return ""
	})
}

// compareMoved does in the model what was wished, and compares.
func (m *model) compareMoved(what string, wanted []string, moved store.Moved, wish func(*store.Delivery) string) {
	var want store.Moved
	for _, id := range wanted {
		reason := store.ReasonUnknown
		if d := m.find(id); d != nil {
			reason = wish(d)
		}
		if reason == "" {
			want.IDs = append(want.IDs, id)
		} else {
			want.Refused = append(want.Refused, store.Unmoved{ID: id, Reason: reason})
		}
	}
	if !slices.Equal(moved.IDs, want.IDs) || !slices.Equal(moved.Refused, want.Refused) {
		m.t.Fatalf("%s %+v, want %+v", what, moved, want)
	}
}

// sweep frees what is held by who is not enlisted.
func (m *model) sweep() {
	freed := 0
	for _, d := range m.rows {
		if d.Status == store.Claimed && d.Owner != me {
			d.Status, d.Owner = store.Pending, ""
			m.wait(d.ID, false)
			freed++
		}
	}
	if got, _ := m.q.sweep(rapid.IntRange(1, 5).Draw(m.t, "limit")); got != (store.Swept{Freed: freed}) {
		m.t.Fatalf("swept %+v, want %d freed", got, freed)
	}
}

// compare compares what List shows with the model.
func (m *model) compare() {
	show := func(d *store.Delivery) string {
		return fmt.Sprintf("%s %s status %d, %d attempts, epoch %d of %q", d.ID, d.Target, d.Status, d.Attempts, d.Epoch, d.Owner)
	}
	want := slices.Clone(m.rows)
	kind := func(d *store.Delivery) int {
		if d.Status == store.Failed {
			return 0
		}
		return 1
	}
	slices.SortFunc(want, func(a, b *store.Delivery) int { return cmp.Or(kind(a)-kind(b), cmp.Compare(a.ID, b.ID)) })
	got := m.q.all()
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = show(got[i])
		}
		if i < len(want) {
			w = show(want[i])
		}
		if g != w {
			m.t.Fatalf("at %d: %s, want %s", i, g, w)
		}
	}
}

func (m *model) compareDepths() {
	for _, target := range []string{"billing", "ledger"} {
		want := store.Depth{Target: target}
		due := false
		for _, d := range m.rows {
			if d.Target != target {
				continue
			}
			switch d.Status {
			case store.Claimed:
				want.Claimed++
			case store.Failed:
				want.Failed++
			default:
				want.Pending++
				due = due || m.claimable(d, target)
				if m.behind(d) {
					want.Blocked++
				}
			}
		}
		got := m.q.depth(target)
		if got.OldestDue.IsZero() != (want.Pending == 0) {
			m.t.Fatalf("oldest due %v with %d pending", got.OldestDue, want.Pending)
		}
		if got.OldestDue = (time.Time{}); got != want {
			m.t.Fatalf("depth %+v, want %+v", got, want)
		}
		next, err := m.q.queue.Next(m.q.Context(), []store.Lane{{Target: target, Ordered: target == "ledger"}})
		m.q.must(err)
		if wait, there := next[target]; (there && wait <= 0) != due {
			m.t.Fatalf("next of %s in %v (%v), want it due: %v", target, wait, there, due)
		}
	}
}
