package engine

import (
	"context"
	"errors"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
)

// writing is one run of one work inside the store's transaction. The store may
// run a work again, so a writing is made anew each time and nothing outside it
// changes before the run is done.
type writing struct {
	engine *Engine
	tx     store.Tx
	now    time.Time
	log    []*store.LogRow
	left   map[rowKey]store.Row // nil: no row is written twice
	wanted []wanted             // what targets want of log
	queue  []*store.Delivery
}

// rowKey names a row of the datastore.
type rowKey struct{ entity, subject string }

// write runs fn as one work. The log is written last: its lock is then held
// for the shortest time, and a number is drawn after the rows' own locks.
func (e *Engine) write(ctx context.Context, alone bool, fn func(w *writing) error) error {
	return e.work(ctx, alone, func(_ context.Context, w *writing) error { return fn(w) })
}

// work is write for who needs the writer's own context, which ends with the
// transaction's time.
func (e *Engine) work(ctx context.Context, alone bool, fn func(ctx context.Context, w *writing) error) error {
	var last *writing
	err := e.config.Store.Write(ctx, store.Work{Alone: alone, Deadline: e.config.MaxWork, Run: func(ctx context.Context, tx store.Tx) error {
		last.drop(false)
		last = &writing{engine: e, tx: tx, now: e.now()}
		if err := fn(ctx, last); err != nil {
			return err
		}
		return last.record()
	}})
	last.handOver(err)
	return asFault(err)
}

// record writes down what is to be delivered and, last, what happened.
func (w *writing) record() error {
	if len(w.log) == 0 {
		return nil
	}
	if err := w.enqueue(); err != nil {
		return err
	}
	return w.tx.Append(w.log...)
}

// one is write for what has one outcome; there is none where the commit failed.
func (e *Engine) one(ctx context.Context, fn func(w *writing) (*Outcome, error)) (*Outcome, error) {
	var out *Outcome
	err := e.write(ctx, false, func(w *writing) (err error) {
		out, err = fn(w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// find returns the row a write is for, deleted or not. One that the read rules
// hide does not exist.
func (w *writing) find(ent *entity, g *access.Grant, id string) (store.Row, error) {
	key, err := ent.id(id)
	if err != nil {
		return nil, err
	}
	row, err := w.tx.Get(ent.Entity, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ent.notFound()
	}
	if err != nil {
		return nil, err
	}
	if !passes(g, access.Read, row) {
		return nil, ent.notFound()
	}
	return row, nil
}

// may holds the caller to the rules of the action on the row before.
func (ent *entity) may(g *access.Grant, a access.Action, row store.Row) error {
	if passes(g, a, row) {
		return nil
	}
	return fault.New(fault.RowRefused, "you may not %s this row of %s", a, ent.Name)
}

// leave holds the caller to the rules of the row as written.
func (ent *entity) leave(g *access.Grant, row store.Row) error {
	if passes(g, access.Create, row) {
		return nil
	}
	return fault.New(fault.RowRefused, "you may not leave a row of %s like that; nothing was written", ent.Name)
}

// conflict names the field of a unique constraint only to a caller who reads
// it, and never the other row.
func (ent *entity) conflict(g *access.Grant, err error) error {
	var c *store.ConflictError
	if !errors.As(err, &c) {
		return err
	}
	if c.Field < 0 || !g.ReadsPlain(c.Field) {
		return fault.New(fault.Conflict, "another row of %s already has a value that must be unique", ent.Name).Because(err)
	}
	f := ent.Fields[c.Field]
	return fault.New(fault.Conflict, "another row of %s already has that %s", ent.Name, f.Name).
		With(flaw(f, "unique", "must be unique; another row has that value")).Because(err)
}
