package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rowcast/rowcast/internal/store"
)

var operatePromises = []promise{
	{"List shows failed deliveries first, each kind by id", listOrder},
	{"List selects by target and status", listFilters},
	{"List pages through both kinds, wherever a page ends", listPages},
	{"Depths counts each target's deliveries by status", depthsCount},
	{"a requeue moves failed deliveries alone, and says why not the others", requeueByID},
	{"a requeue of a range takes the oldest first, up to its limit", requeueRange},
	{"a requeue is paced", requeuePace},
	{"skipping removes failed and pending deliveries for good", skipRemoves},
}

// mixed queues two failed, two pending and a claimed delivery of billing, and one
// of each kind of search, with the ids in another order than the queue. It
// returns those that failed and the others, each by id.
func mixed(q *queueBench) (failed, live []*store.Delivery) {
	made := make([]*store.Delivery, 8)
	for i := range made {
		made[i] = q.delivery()
	}
	for _, i := range []int{5, 6, 7} {
		made[i].Target = "search"
	}
	for _, i := range []int{4, 0, 2, 1, 3, 7, 6, 5} {
		q.enqueue(made[i])
	}
	q.settle(store.GivenUp, 0, q.claim(2)...) // 4 and 0
	q.claim(1)                                // 2
	search := func() []*store.Delivery { return q.claims(store.Claim{Owner: me, Target: "search", Limit: 1}) }
	q.settle(store.GivenUp, 0, search()...) // 7
	search()                                // 6
	return []*store.Delivery{made[0], made[4], made[7]}, []*store.Delivery{made[1], made[2], made[3], made[5], made[6]}
}

func listOrder(b *bench) {
	q := openQueue(b)
	failed, live := mixed(q)
	all := q.all()
	q.wantIDs("listed", all, slices.Concat(failed, live)...)
	for _, d := range all {
		if d.Body != nil {
			b.Errorf("%s is listed with its body", d.ID)
		}
	}
	want := *failed[0]
	want.Status, want.Attempts, want.LastStatus, want.LastError, want.Epoch = store.Failed, 1, 503, "busy", 1
	if diff := cmp.Diff(&want, all[0], cmpopts.IgnoreFields(store.Delivery{}, "Body", "Due")); diff != "" {
		b.Errorf("listed (-want +got):\n%s", diff)
	}
}

func listFilters(b *bench) {
	q := openQueue(b)
	failed, live := mixed(q)
	for _, c := range []struct {
		name string
		f    store.DeliveryFilter
		want []*store.Delivery
	}{
		{"a target", store.DeliveryFilter{Target: "search"}, []*store.Delivery{failed[2], live[3], live[4]}},
		{"failed", store.DeliveryFilter{Status: store.Failed}, failed},
		{"pending", store.DeliveryFilter{Status: store.Pending}, []*store.Delivery{live[0], live[2], live[3]}},
		{"claimed", store.DeliveryFilter{Status: store.Claimed}, []*store.Delivery{live[1], live[4]}},
		{"failed of a target", store.DeliveryFilter{Target: "billing", Status: store.Failed}, failed[:2]},
		{"pending of a target", store.DeliveryFilter{Target: "search", Status: store.Pending}, live[3:4]},
		{"claimed of a target", store.DeliveryFilter{Target: "billing", Status: store.Claimed}, live[1:2]},
		{"a target without deliveries", store.DeliveryFilter{Target: "nobody"}, nil},
		{"pending after an id", store.DeliveryFilter{Status: store.Pending, After: live[0].ID, AfterLive: true}, []*store.Delivery{live[2], live[3]}},
		{"failed after an id", store.DeliveryFilter{Status: store.Failed, After: failed[0].ID}, failed[1:]},
		{"failed after a live one", store.DeliveryFilter{Status: store.Failed, After: live[0].ID, AfterLive: true}, nil},
	} {
		c.f.Limit = 100
		q.wantIDs(c.name, q.list(c.f), c.want...)
	}
}

func listPages(b *bench) {
	q := openQueue(b)
	failed, live := mixed(q)
	all := slices.Concat(failed, live)
	for limit := 1; limit <= len(all)+1; limit++ {
		var got []*store.Delivery
		f := store.DeliveryFilter{Limit: limit}
		for {
			page := q.list(f)
			if len(page) > limit {
				b.Fatalf("a page of %d, want at most %d", len(page), limit)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, page...)
			last := page[len(page)-1]
			f.After, f.AfterLive = last.ID, last.Status != store.Failed
			if len(got) > len(all) {
				break
			}
		}
		q.wantIDs("all pages", got, all...)
	}
}

func depthsCount(b *bench) {
	q := openQueue(b)
	depths, err := q.queue.Depths(b.Context())
	if err != nil || len(depths) != 0 {
		b.Errorf("of an empty queue: %v, %v", depths, err)
	}
	mixed(q)
	depths, err = q.queue.Depths(b.Context())
	b.must(err)
	slices.SortFunc(depths, func(a, b store.Depth) int { return slices.Compare([]string{a.Target}, []string{b.Target}) })
	want := []store.Depth{
		{Target: "billing", Pending: 2, Claimed: 1, Failed: 2},
		{Target: "search", Pending: 1, Claimed: 1, Failed: 1},
	}
	if diff := cmp.Diff(want, depths, cmpopts.IgnoreFields(store.Depth{}, "OldestDue")); diff != "" {
		b.Errorf("depths (-want +got):\n%s", diff)
	}
	var oldest time.Time
	for _, d := range q.list(store.DeliveryFilter{Target: "billing", Status: store.Pending, Limit: 10}) {
		if oldest.IsZero() || d.Due.Before(oldest) {
			oldest = d.Due
		}
	}
	if got := q.depth("billing").OldestDue; !got.Equal(oldest) {
		b.Errorf("oldest due %v, want %v", got, oldest)
	}
	q.claim(10)
	if got := q.depth("billing"); !got.OldestDue.IsZero() || got.Pending != 0 || got.Claimed != 3 {
		b.Errorf("with none pending: %+v", got)
	}
}

func requeueByID(b *bench) {
	q := openQueue(b)
	failed, live := mixed(q)
	moved, err := q.queue.Requeue(b.Context(), store.Requeue{
		IDs:      []string{failed[0].ID, "U0", live[0].ID, live[1].ID, failed[2].ID, failed[1].ID},
		Declared: []string{"ledger", "billing"},
	})
	b.must(err)
	want := store.Moved{
		IDs: []string{failed[0].ID, failed[1].ID},
		Refused: []store.Unmoved{
			{ID: "U0", Reason: store.ReasonUnknown}, {ID: live[0].ID, Reason: store.ReasonPending},
			{ID: live[1].ID, Reason: store.ReasonClaimed}, {ID: failed[2].ID, Reason: store.ReasonTarget},
		},
		Targets: []string{"billing"},
	}
	if diff := cmp.Diff(want, moved); diff != "" {
		b.Errorf("moved (-want +got):\n%s", diff)
	}
	for _, d := range q.claim(10) {
		if d.ID == failed[0].ID && (d.Attempts != 0 || d.Epoch != 2) {
			b.Errorf("claimed as %+v, want attempts to start again, in epoch 2", d)
		}
	}
	if d := q.one(failed[2].ID); d.Status != store.Failed {
		b.Errorf("of a target that is not declared: %+v, want it failed still", d)
	}
	if n := q.depth("billing"); n.Claimed != 5 || n.Failed != 0 {
		b.Errorf("depth %+v, want all five claimed", n)
	}
}

func requeueRange(b *bench) {
	q := openQueue(b)
	ds := q.put(7)
	other := q.put(1, to("search"))
	held := q.claim(7)
	q.settle(store.GivenUp, 0, held[:6]...)
	q.settle(store.Retried, never, held[6])
	q.settle(store.GivenUp, 0, q.claims(store.Claim{Owner: me, Target: "search", Limit: 1})...)
	requeue := func(r store.Requeue) store.Moved {
		b.Helper()
		moved, err := q.queue.Requeue(b.Context(), r)
		b.must(err)
		return moved
	}
	all := store.Requeue{Target: "billing", Declared: []string{"billing", "search"}, Limit: 100}

	undeclared := all
	undeclared.Declared, undeclared.Limit = []string{"search"}, 2 // whoever asks again while there is more must come to an end
	if m := requeue(undeclared); len(m.IDs) != 0 || m.More {
		b.Errorf("of a target that is not declared: %+v, want none", m)
	}
	part := all
	part.Since, part.Until, part.Limit = ds[1].Created, ds[5].Created, 3
	m := requeue(part)
	if want := ids(ds[1:4]); !slices.Equal(m.IDs, want) || !m.More || !slices.Equal(m.Targets, []string{"billing"}) {
		b.Errorf("moved %+v, want %v and more", m, want)
	}
	part.Limit = 100
	if m := requeue(part); !slices.Equal(m.IDs, ids(ds[4:5])) || m.More {
		b.Errorf("moved %+v, want the last before the end, and no more", m)
	}
	if m := requeue(all); !slices.Equal(m.IDs, []string{ds[0].ID, ds[5].ID}) || m.More {
		b.Errorf("moved %+v, want what is left", m)
	}
	q.wantIDs("another target's", q.list(store.DeliveryFilter{Status: store.Failed, Limit: 10}), other...)
	if d := q.one(ds[6].ID); d.Due.Before(time.Now().Add(never - patience)) {
		b.Errorf("one that waited is due at %v: it lost its backoff", d.Due)
	}
}

func requeuePace(b *bench) {
	q := openQueue(b)
	ds := q.put(4)
	q.settle(store.GivenUp, 0, q.claim(4)...)
	moved, err := q.queue.Requeue(b.Context(), store.Requeue{
		IDs: []string{ds[2].ID, "U0", ds[0].ID}, Declared: []string{"billing"}, Pace: never,
	})
	b.must(err)
	if len(moved.IDs) != 2 {
		b.Fatalf("moved %+v", moved)
	}
	first, second := q.one(ds[2].ID), q.one(ds[0].ID)
	if wait := time.Until(first.Due); wait > never || wait < never-patience {
		b.Errorf("the first is due in %v, want the pace from now", wait)
	}
	if gap := second.Due.Sub(first.Due); gap != never {
		b.Errorf("due %v apart, want the pace", gap)
	}
	moved, err = q.queue.Requeue(b.Context(), store.Requeue{Target: "billing", Declared: []string{"billing"}, Pace: never, Limit: 10})
	b.must(err)
	if len(moved.IDs) != 2 {
		b.Fatalf("moved %+v", moved)
	}
	if gap := q.one(ds[3].ID).Due.Sub(q.one(ds[1].ID).Due); gap != never {
		b.Errorf("of a range: due %v apart, want the pace", gap)
	}
}

func skipRemoves(b *bench) {
	q := openQueue(b)
	failed, live := mixed(q)
	moved, err := q.queue.Skip(b.Context(), []string{failed[0].ID, live[0].ID, live[1].ID, "U0", failed[2].ID})
	b.must(err)
	slices.Sort(moved.Targets)
	want := store.Moved{
		IDs:     []string{failed[0].ID, live[0].ID, failed[2].ID},
		Refused: []store.Unmoved{{ID: live[1].ID, Reason: store.ReasonClaimed}, {ID: "U0", Reason: store.ReasonUnknown}},
		Targets: []string{"billing", "search"},
	}
	if diff := cmp.Diff(want, moved); diff != "" {
		b.Errorf("moved (-want +got):\n%s", diff)
	}
	q.wantIDs("left", q.all(), failed[1], live[1], live[2], live[3], live[4])
	if n := len(q.attempts(failed[0].ID)); n != 1 {
		b.Errorf("%d attempts of a skipped delivery, want the log to keep it", n)
	}
}
