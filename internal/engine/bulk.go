package engine

import (
	"context"
	"fmt"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// Bulk inserts many rows in one transaction and returns their ids in order.
// again says that an Idempotency-Key answered it and nothing was written. All
// invalid rows are reported together, each field as [index].name, the first
// hundred faults of them. Faults as for Create, and too_many_rows.
func (e *Engine) Bulk(ctx context.Context, g *access.Grant, bs []Body, o Options) (ids []value.Value, again bool, err error) {
	ent, err := e.entity(g, access.Create)
	if err != nil {
		return nil, false, err
	}
	key, err := newKey(g.Principal, o)
	if err != nil {
		return nil, false, err
	}
	if err := absent(o); err != nil {
		return nil, false, err
	}
	if len(bs) > e.config.MaxRows {
		return nil, false, tooMany("the body holds more rows", e.config.MaxRows)
	}
	rows, inputs, err := e.drafts(ent, g, bs)
	if err != nil {
		return nil, false, err
	}
	err = e.write(ctx, true, func(w *writing) (err error) {
		ids, again, err = w.bulk(ent, g, rows, inputs, key)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return ids, again, nil
}

func (e *Engine) drafts(ent *entity, g *access.Grant, bs []Body) ([]store.Row, []*input, error) {
	rows, inputs := make([]store.Row, len(bs)), make([]*input, len(bs))
	var faults []fault.FieldError
	for i, b := range bs {
		rows[i], inputs[i] = e.draft(ent, g, b)
		faults = append(faults, within(fmt.Sprintf("[%d]", i), inputs[i].faults)...)
		if len(faults) >= maxFaults {
			break
		}
	}
	if len(faults) > 0 {
		return nil, nil, fault.New(fault.Invalid, "some rows are not valid: see errors; nothing was written").With(bounded(faults)...)
	}
	return rows, inputs, nil
}

func (w *writing) bulk(ent *entity, g *access.Grant, rows []store.Row, inputs []*input, key *key) ([]value.Value, bool, error) {
	told, err := w.told(key)
	if err != nil {
		return nil, false, err
	}
	ids := make([]value.Value, 0, len(rows))
	if told != nil {
		for _, text := range told.IDs {
			id, err := ent.ParseID(text)
			if err != nil {
				return nil, false, err
			}
			ids = append(ids, id)
		}
		return ids, true, nil
	}
	outs := make([]*Outcome, 0, len(rows))
	for i, row := range rows {
		c := created(inputs[i])
		c.bulk = true
		out, err := w.create(ent, g, row, c)
		if err != nil {
			return nil, false, inside(fmt.Sprintf("[%d]", i), err)
		}
		outs, ids = append(outs, out), append(ids, out.ID)
	}
	return ids, false, w.remember(key, outs...)
}

// inside returns the fault with the place of its part of the request.
func inside(place string, err error) error {
	f, ok := fault.Of(err)
	if !ok {
		return err
	}
	placed := *f
	placed.Message = place + ": " + f.Message
	placed.Errors = within(place, f.Errors)
	return &placed
}

func within(place string, faults []fault.FieldError) []fault.FieldError {
	out := make([]fault.FieldError, len(faults))
	for i, f := range faults {
		f.Field = place + "." + f.Field
		out[i] = f
	}
	return out
}
