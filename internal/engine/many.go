package engine

import (
	"context"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
)

// PatchMany patches every row that passes the filter in rawQuery and both the
// read and the update rules, in the order of ids, and fails whole if one fails.
// A row that either hides is neither touched nor counted. Faults: forbidden,
// bad_parameter, invalid_query (no filter, too), invalid, too_many_rows,
// row_refused, conflict, event_condition_failed, and those of the datastore.
func (e *Engine) PatchMany(ctx context.Context, g *access.Grant, rawQuery string, b Body) (changed int, err error) {
	ent, err := e.entity(g, access.Update)
	if err != nil {
		return 0, err
	}
	q, err := e.selection(ent, g, rawQuery, access.Update)
	if err != nil {
		return 0, err
	}
	in := ent.read(b)
	if in.given[ent.ID] {
		in.refuse(ent.Fields[ent.ID].Name, "final", "must be left out: many rows cannot take one id")
	}
	if err := in.invalid(); err != nil {
		return 0, err
	}
	return e.each(ctx, ent, q, func(w *writing, row store.Row) error {
		_, err := w.update(ent, g, row, in, "patched")
		return err
	})
}

// DeleteMany deletes every row that passes the filter in rawQuery and both the
// read and the delete rules. Otherwise as PatchMany.
func (e *Engine) DeleteMany(ctx context.Context, g *access.Grant, rawQuery string) (changed int, err error) {
	ent, err := e.entity(g, access.Delete)
	if err != nil {
		return 0, err
	}
	q, err := e.selection(ent, g, rawQuery, access.Delete)
	if err != nil {
		return 0, err
	}
	return e.each(ctx, ent, q, func(w *writing, row store.Row) error {
		_, err := w.remove(ent, g, row, access.Delete)
		return err
	})
}

// selection is the rows of a many-row write. It asks for one more than may be
// written, to know that there are too many without counting them.
func (e *Engine) selection(ent *entity, g *access.Grant, rawQuery string, a access.Action) (store.Query, error) {
	if _, err := parameters(rawQuery); err != nil {
		return store.Query{}, err
	}
	filter, err := ent.filter(g, rawQuery)
	if err != nil {
		return store.Query{}, err
	}
	if filter == nil {
		return store.Query{}, fault.New(fault.InvalidQuery, "a write of many rows needs a filter, so that none is ever written by accident").
			With(fault.FieldError{Field: "filter", Code: string(fault.InvalidValue), Detail: "is required here"})
	}
	where := []*predicate.Predicate{filter, g.Rows(access.Read)}
	if g.Rows(a) != g.Rows(access.Read) {
		where = append(where, g.Rows(a))
	}
	return store.Query{Where: where, Limit: e.config.MaxRows + 1}, nil
}

func (e *Engine) each(ctx context.Context, ent *entity, q store.Query, do func(*writing, store.Row) error) (changed int, err error) {
	err = e.write(ctx, true, func(w *writing) error {
		rows, err := w.tx.Select(ent.Entity, q)
		if err != nil {
			return err
		}
		if len(rows) > e.config.MaxRows {
			return tooMany("the filter matches more rows", e.config.MaxRows)
		}
		for _, row := range rows {
			if err := do(w, row); err != nil {
				return err
			}
		}
		changed = len(rows)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return changed, nil
}

func tooMany(what string, limit int) error {
	return fault.New(fault.TooManyRows, "%s than the %d that one request may write; split it", what, limit)
}
