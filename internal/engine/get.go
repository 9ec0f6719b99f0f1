package engine

import (
	"context"
	"errors"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
)

// Get returns the row the grant may read: fault not_found otherwise, whether
// there is none, it is deleted, or the row rules hide it.
func (e *Engine) Get(ctx context.Context, g *access.Grant, id string) (store.Row, error) {
	ent, err := e.entity(g, access.Read)
	if err != nil {
		return nil, err
	}
	key, err := ent.id(id)
	if err != nil {
		return nil, err
	}
	var row store.Row
	err = e.view(ctx, func(r store.Reader) (err error) {
		row, err = r.Get(ent.Entity, key)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, ent.notFound()
	}
	if err != nil {
		return nil, asFault(err)
	}
	if row = ent.shown(g, row); row == nil {
		return nil, ent.notFound()
	}
	return row, nil
}

// Probe performs the read that opening a stream stands on: one row at most,
// under the grant. No row is no fault.
func (e *Engine) Probe(ctx context.Context, g *access.Grant) error {
	ent, err := e.entity(g, access.Read)
	if err != nil {
		return err
	}
	return asFault(e.view(ctx, func(r store.Reader) error {
		_, err := r.Select(ent.Entity, store.Query{Where: []*predicate.Predicate{g.Rows(access.Read)}, Limit: 1})
		return err
	}))
}

// view reads on one snapshot, for as long as a query may take.
func (e *Engine) view(ctx context.Context, fn func(store.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, e.config.MaxQuery)
	defer cancel()
	return e.config.Store.View(ctx, fn)
}
