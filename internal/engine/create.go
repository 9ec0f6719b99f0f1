package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Create inserts one row. Faults: forbidden, precondition_failed (there is no
// row yet that If-Match could name), invalid, row_refused, conflict,
// idempotency_mismatch, event_condition_failed, and those of the datastore.
func (e *Engine) Create(ctx context.Context, g *access.Grant, b Body, o Options) (*Outcome, error) {
	ent, err := e.entity(g, access.Create)
	if err != nil {
		return nil, err
	}
	key, err := newKey(g.Principal, o)
	if err != nil {
		return nil, err
	}
	if err := absent(o); err != nil {
		return nil, err
	}
	row, in := e.draft(ent, g, b)
	if err := in.invalid(); err != nil {
		return nil, err
	}
	return e.one(ctx, func(w *writing) (*Outcome, error) {
		again, err := w.recall(key, g)
		if err != nil || again != nil {
			return first(again), err
		}
		out, err := w.create(ent, g, row, created(in))
		if err != nil {
			return nil, err
		}
		return out, w.remember(key, out)
	})
}

// created is the change that a create makes of what was sent.
func created(in *input) *change {
	return &change{op: schema.Create, fine: "created", sent: in.sent}
}

// create inserts a draft and publishes it as c, which gets the row. The row as written is judged before
// a conflict is told, so that a caller learns of no row by trying to write where
// it may not; only an id that the store draws must be drawn first.
func (w *writing) create(ent *entity, g *access.Grant, draft store.Row, c *change) (*Outcome, error) {
	row := slices.Clone(draft)
	ent.stamp(row, g.Principal, w.now, true)
	drawn := row[ent.ID].IsNull()
	if !drawn {
		if err := ent.leave(g, row); err != nil {
			return nil, err
		}
	}
	if err := w.tx.Insert(ent.Entity, row); err != nil {
		return nil, ent.inTheWay(g, row, err)
	}
	if drawn {
		if err := ent.leave(g, row); err != nil {
			return nil, err
		}
	}
	c.after = row
	if err := w.publish(ent, g, c); err != nil {
		return nil, err
	}
	return ent.outcome(g, row[ent.ID], row), nil
}

// inTheWay is the fault of an insert. Where the store has yet to draw the id,
// the rules judge what there is of the row: one that needs the id is not met.
func (ent *entity) inTheWay(g *access.Grant, row store.Row, err error) error {
	var conflict *store.ConflictError
	if errors.As(err, &conflict) && row[ent.ID].IsNull() {
		row[ent.ID] = value.NotAtHand()
		if err := ent.leave(g, row); err != nil {
			return err
		}
	}
	return ent.conflict(g, err)
}

func (ent *entity) outcome(g *access.Grant, id value.Value, row store.Row) *Outcome {
	return &Outcome{Grant: g, ID: id, Row: ent.shown(g, row)}
}
