package storetest

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

var enqueuePromises = []promise{
	{"a delivery is kept as it was queued, byte for byte", deliveryRoundTrip},
	{"a delivery is queued with its change or not at all", enqueueIsTransactional},
	{"a failed commit leaves neither the change nor its delivery", enqueueFailsWithTheCommit},
	{"what a broken group queued is not there, what its neighbours queued is", enqueueIsIsolated},
	{"the queue is there after reopening", queueIsDurable},
	{"a delivery is born leased to the owner it names", bornLeased},
}

func deliveryRoundTrip(b *bench) {
	q := openQueue(b)
	bodies := [][]byte{[]byte(`{"a":"é"}`), {}, {0, 255, 10, 13, 0}, bytes.Repeat([]byte("0123456789"), 20_000)}
	for _, body := range bodies {
		want := q.delivery()
		want.Body = body
		q.enqueue(want)
		claimed := q.claim(2)
		q.wantIDs("claimed", claimed, want)
		got := *claimed[0]
		if !bytes.Equal(got.Body, body) {
			b.Errorf("a body of %d bytes reads back as %d others", len(body), len(got.Body))
		}
		if got.Due.IsZero() || got.Due.Location() != time.UTC {
			b.Errorf("due = %v, want the time it was queued, in UTC", got.Due)
		}
		full := *want
		full.Status, full.Owner, full.Epoch = store.Claimed, me, 1
		full.Body, full.Due, got.Body, got.Due = nil, time.Time{}, nil, time.Time{}
		if diff := cmp.Diff(full, got); diff != "" {
			b.Errorf("claimed (-queued +read):\n%s", diff)
		}
	}
}

func enqueueIsTransactional(b *bench) {
	q := openQueue(b)
	refused := errors.New("refused")
	err := b.write(func(tx store.Tx) error {
		if err := tx.Insert(orders, order("a", "")); err != nil {
			return err
		}
		return errors.Join(tx.Enqueue(q.delivery(), q.delivery(born(me))), refused)
	})
	if !errors.Is(err, refused) {
		b.Errorf("error = %v, want the work's own", err)
	}
	q.wantIDs("after a refused work", q.all())
	d := q.delivery()
	err = b.write(func(tx store.Tx) error {
		if err := tx.Insert(orders, order("a", "")); err != nil {
			return err
		}
		return tx.Enqueue(d)
	})
	b.must(err)
	q.wantIDs("after one that stands", q.all(), d)
	twice := *d
	if err := b.write(func(tx store.Tx) error { return tx.Enqueue(q.delivery(), &twice) }); err == nil {
		b.Error("an id was queued twice")
	}
	q.wantIDs("after one that queues an id again", q.all(), d)
	b.must(b.write(func(tx store.Tx) error { return tx.Enqueue() }))
}

func enqueueFailsWithTheCommit(b *bench) {
	if b.harness.FailCommits == nil {
		return // the driver's own tests break its disk
	}
	q := openQueue(b)
	doomed, fine := q.delivery(), q.delivery()
	queueing := func(id string, d *store.Delivery) error {
		return b.write(func(tx store.Tx) error {
			if err := tx.Insert(orders, order(id, "")); err != nil {
				return err
			}
			if err := tx.Append(b.event(id)); err != nil {
				return err
			}
			return tx.Enqueue(d)
		})
	}
	b.harness.FailCommits(true)
	err := queueing("a", doomed)
	b.harness.FailCommits(false)
	if !errors.Is(err, store.ErrUnavailable) {
		b.Errorf("error = %v, want ErrUnavailable", err)
	}
	b.must(queueing("b", fine))
	q.wantIDs("queued", q.all(), fine)
	wantOnly(b, "b")
}

func enqueueIsIsolated(b *bench) {
	q := openQueue(b)
	ds := []*store.Delivery{q.delivery(), q.delivery(), q.delivery()}
	queueing := func(d *store.Delivery, then func() error) func(store.Tx) error {
		return func(tx store.Tx) error {
			if err := tx.Insert(orders, order(d.ID, "")); err != nil {
				return err
			}
			if err := tx.Enqueue(d); err != nil {
				return err
			}
			return then()
		}
	}
	errs := together(b, queueing(ds[0], fine), queueing(ds[1], func() error { panic("a handler broke") }), queueing(ds[2], fine))
	if errs[0] != nil || errs[1] == nil || errs[2] != nil {
		b.Errorf("outcomes %v, want the second alone to fail", errs)
	}
	q.wantIDs("queued", q.all(), ds[0], ds[2])
}

func queueIsDurable(b *bench) {
	q := openQueue(b)
	ds := q.put(3)
	claimed := q.claim(2)
	q.settle(store.GivenUp, 0, claimed[0])
	q.queue = b.reopen(Options{}).Queue()
	all := q.all()
	q.wantIDs("after reopening", all, ds[0], ds[1], ds[2])
	if all[0].Status != store.Failed || all[0].LastError != "busy" || all[0].LastStatus != 503 || all[0].Attempts != 1 {
		b.Errorf("the failed one reads back as %+v", all[0])
	}
	if got := len(q.attempts(ds[0].ID)); got != 1 {
		b.Errorf("%d attempts, want 1", got)
	}
}

func bornLeased(b *bench) {
	q := openQueue(b)
	leased := q.delivery(born(me))
	free := q.delivery()
	b.must(b.write(func(tx store.Tx) error {
		if err := tx.Insert(orders, order("a", "")); err != nil {
			return err
		}
		if err := tx.Enqueue(leased, free); err != nil {
			return err
		}
		_, err := tx.Get(orders, value.OfText("a"))
		return err
	}))
	q.wantIDs("left to claim", q.claim(10), free)
	got := q.one(leased.ID)
	if got == nil || got.Status != store.Claimed || got.Owner != me || got.Epoch != 1 || got.Attempts != 0 {
		b.Errorf("born leased reads back as %+v, want it claimed by its owner in epoch 1", got)
	}
	held, err := q.queue.Held(b.Context(), me, 0, 10)
	b.must(err)
	if got := ids(held); !slices.Contains(got, leased.ID) || len(got) != 2 {
		b.Errorf("held %v, want both", got)
	}
	if lost := q.settles(me, store.Delivered, 0, leased); len(lost) != 0 {
		b.Errorf("lost %v: the lease it was born with does not hold", lost)
	}
	if q.one(leased.ID) != nil {
		b.Error("an accepted delivery is still there")
	}
}
