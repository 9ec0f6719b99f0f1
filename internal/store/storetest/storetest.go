// Package storetest is the suite that every driver of package store passes.
//
// A driver's test calls Run with a Harness over a real datastore. Each case
// states one promise of the port; a bug that was found in one driver becomes a
// case here first. Every case ends by showing that no goroutine is left.
package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Options is what a case asks of a store.
type Options struct {
	Now       func() time.Time      // clock of idempotency records; nil: time.Now
	Committed func([]*store.LogRow) // in-process hand-over after each commit; nil: none
	Look      func()                // more of the log may be there to read; a driver that settles it at each commit need not call it
}

// Harness is one fresh datastore.
type Harness struct {
	// Open opens the datastore, with all that was written before. At most one
	// store is open at a time.
	Open func(t *testing.T, o Options) store.Store
	// FailCommits makes every commit fail, by a fault below the database, until
	// it is called with false. Nil: the driver has no such place, and its own
	// tests say why.
	FailCommits func(fail bool)
	// Writers is how many works run side by side; one more waits. Defaults to 1.
	Writers int
}

// Run runs the suite; fresh makes a new datastore for each case.
func Run(t *testing.T, fresh func(t *testing.T) Harness) {
	for _, group := range [][]promise{writePromises, manyPromises, logPromises, queryPromises, rowPromises, roomPromises, migratePromises, keptPromises, agreePromises,
		enqueuePromises, claimPromises, settlePromises, orderedPromises, leasePromises, operatePromises, modelPromises,
	} {
		for _, p := range group {
			t.Run(p.name, func(t *testing.T) {
				ignore := goleak.IgnoreCurrent()
				t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
				p.test(&bench{T: t, harness: fresh(t), fresh: fresh})
			})
		}
	}
}

// promise is one case.
type promise struct {
	name string
	test func(b *bench)
}

// bench is what one case stands on.
type bench struct {
	*testing.T
	harness Harness
	fresh   func(t *testing.T) Harness
	store   store.Store
	looked  chan struct{}
	events  atomic.Int64
}

// open opens the store with the usual entities and closes it at the end.
func (b *bench) open(o Options, entities ...*schema.Entity) store.Store {
	b.Helper()
	if len(entities) == 0 {
		entities = []*schema.Entity{orders, tickets}
	}
	b.looked = make(chan struct{}, 1)
	if o.Look == nil {
		o.Look = b.look
	}
	b.store = b.harness.Open(b.T, o)
	s := b.store
	b.Cleanup(func() { _ = s.Close() }) // again, where the case has not closed it
	if _, err := s.Migrate(b.Context(), store.Plan{Entities: entities}); err != nil {
		b.Fatalf("Migrate: %v", err)
	}
	return s
}

// look notes that the log is worth a look.
func (b *bench) look() {
	select {
	case b.looked <- struct{}{}:
	default:
	}
}

// reopen closes the store and opens it again.
func (b *bench) reopen(o Options, entities ...*schema.Entity) store.Store {
	b.Helper()
	b.must(b.store.Close())
	return b.open(o, entities...)
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// check is must for goroutines beside the test's own.
func (b *bench) check(err error) {
	b.Helper()
	if err != nil {
		b.Error(err)
	}
}

// write runs fn in a transaction that may be shared.
func (b *bench) write(fn func(tx store.Tx) error) error {
	return b.store.Write(context.Background(), store.Work{Run: func(_ context.Context, tx store.Tx) error { return fn(tx) }})
}

// insert adds an order and one log row for it.
func (b *bench) insert(id, title string, cells ...func(store.Row)) error {
	return b.write(func(tx store.Tx) error {
		if err := tx.Insert(orders, order(id, title, cells...)); err != nil {
			return err
		}
		return tx.Append(b.event(id))
	})
}

// event returns a log row about an order.
func (b *bench) event(subject string) *store.LogRow {
	n := b.events.Add(1)
	return &store.LogRow{
		EventID: fmt.Sprintf("E%025d", n), Entity: orders.Name, Operation: schema.Create, Fine: "created",
		Topic: "entity.order", Subject: subject, Actor: "ann", Origin: "here",
		Time: epoch.Add(time.Duration(n) * time.Second), Sent: []string{"title"},
	}
}

// view runs fn on a snapshot.
func (b *bench) view(fn func(r store.Reader) error) {
	b.Helper()
	b.must(b.store.View(b.Context(), fn))
}

// log returns the whole log.
func (b *bench) log() (rows []*store.LogRow) {
	b.Helper()
	b.view(func(r store.Reader) (err error) {
		rows, err = r.Log(0, 1<<20)
		return err
	})
	return rows
}

// settled returns the log once it shows that many rows, or as it is when it has
// not for a long time: numbers that were rolled back may hold up those after them.
func (b *bench) settled(n int) (rows []*store.LogRow) {
	b.Helper()
	patience := time.After(time.Minute)
	for {
		if rows = b.log(); len(rows) >= n {
			return rows
		}
		select {
		case <-b.looked:
		case <-patience:
			return rows
		}
	}
}

// selectIDs returns the ids a query answers, in its order.
func (b *bench) selectIDs(q store.Query) (ids []string) {
	b.Helper()
	b.view(func(r store.Reader) error {
		rows, err := r.Select(orders, q)
		for _, row := range rows {
			ids = append(ids, row[0].Text())
		}
		return err
	})
	return ids
}

var epoch = time.Date(2026, 9, 17, 2, 25, 12, 345678000, time.UTC)

// Positions of the fields of orders.
const (
	fID = iota
	fTitle
	fTotal
	fPrice
	fPaid
	fPhoto
	fNote
	fDeletedBy
	fDeletedOn
)

var (
	orders  = ordersEntity()
	tickets = newEntity("ticket", "tickets", false,
		&schema.Field{Name: "id", Type: value.BigInt, Required: true},
		&schema.Field{Name: "title", Type: value.String})
)

// ordersEntity has a field of each class, a unique one and soft delete.
func ordersEntity(more ...*schema.Field) *schema.Entity {
	return newEntity("order", "orders", true, append([]*schema.Field{
		{Name: "id", Type: value.ULID, Required: true},
		{Name: "title", Type: value.String, Unique: true},
		{Name: "total", Type: value.BigInt},
		{Name: "price", Type: value.Double},
		{Name: "paid", Type: value.Boolean},
		{Name: "photo", Type: value.Bytes},
		{Name: "note", Type: value.String},
		{Name: "deletedby", Type: value.String, System: true},
		{Name: "deletedon", Type: value.Timestamp, System: true},
	}, more...)...)
}

func newEntity(name, table string, soft bool, fields ...*schema.Field) *schema.Entity {
	e := &schema.Entity{Name: name, Table: table, SoftDelete: soft, Fields: fields}
	for i, f := range fields {
		f.Index = i
	}
	return e
}

// order returns a row of orders; an empty title is NULL.
func order(id, title string, cells ...func(store.Row)) store.Row {
	row := make(store.Row, len(orders.Fields))
	row[fID] = value.OfText(id)
	if title != "" {
		row[fTitle] = value.OfText(title)
	}
	for _, set := range cells {
		set(row)
	}
	return row
}

func with(field int, v value.Value) func(store.Row) {
	return func(row store.Row) { row[field] = v }
}
