package engine

import (
	"context"
	"slices"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// Replace is PUT: a field that is not sent takes its default or null, unless it
// is final or the caller cannot read it unmasked; such a one is kept, since the
// caller could not have sent it back. Faults as for Patch.
func (e *Engine) Replace(ctx context.Context, g *access.Grant, id string, b Body, o Options) (*Outcome, error) {
	return e.update(ctx, g, id, b, o, "updated")
}

// Patch merges top-level keys; an object or array is replaced whole. Faults:
// forbidden, not_found, precondition_failed, row_refused, invalid, conflict,
// event_condition_failed, and those of the datastore, judged in this order.
func (e *Engine) Patch(ctx context.Context, g *access.Grant, id string, b Body, o Options) (*Outcome, error) {
	return e.update(ctx, g, id, b, o, "patched")
}

func (e *Engine) update(ctx context.Context, g *access.Grant, id string, b Body, o Options, fine string) (*Outcome, error) {
	ent, err := e.entity(g, access.Update)
	if err != nil {
		return nil, err
	}
	pre, err := parsePrecondition(o)
	if err != nil {
		return nil, err
	}
	in := ent.read(b)
	return e.one(ctx, func(w *writing) (*Outcome, error) {
		old, err := w.changeable(ent, g, id, pre, access.Update)
		if err != nil {
			return nil, err
		}
		return w.update(ent, g, old, in, fine)
	})
}

// changeable returns the live row of that id if the caller may take the action on it.
func (w *writing) changeable(ent *entity, g *access.Grant, id string, pre precondition, a access.Action) (store.Row, error) {
	old, err := w.find(ent, g, id)
	if err != nil {
		return nil, err
	}
	if ent.deleted(old) {
		return nil, ent.notFound()
	}
	if err := pre.check(g, old); err != nil {
		return nil, err
	}
	return old, ent.may(g, a, old)
}

// update writes what the input makes of a row that the caller may change. fine
// is updated (PUT) or patched (PATCH).
func (w *writing) update(ent *entity, g *access.Grant, old store.Row, in *input, fine string) (*Outcome, error) {
	faults := ent.frozen(g, old, in)
	row := slices.Clone(old)
	if fine == "updated" {
		faults = append(faults, w.blank(ent, g, row, in)...)
	}
	if err := in.invalid(faults...); err != nil {
		return nil, err
	}
	for _, c := range in.cells {
		row[c.field] = c.value
	}
	ent.stamp(row, g.Principal, w.now, false)
	if err := w.save(ent, g, old, row); err != nil {
		return nil, err
	}
	c := &change{op: schema.Update, fine: fine, before: old, after: row, sent: in.sent}
	if err := w.publish(ent, g, c); err != nil {
		return nil, err
	}
	return ent.outcome(g, row[ent.ID], row), nil
}

// blank gives the fields that a PUT did not send their default or null.
func (w *writing) blank(ent *entity, g *access.Grant, row store.Row, in *input) (faults []fault.FieldError) {
	for i, f := range ent.Fields {
		if in.given[i] || f.System || f.Final || i == ent.ID || !g.ReadsPlain(i) {
			continue
		}
		row[i] = w.engine.initial(f, g.Principal, w.now)
		faults = append(faults, ent.missing(i, row[i])...)
	}
	return faults
}

// save holds the caller to the row as written and writes what differs.
func (w *writing) save(ent *entity, g *access.Grant, old, row store.Row) error {
	if err := ent.leave(g, row); err != nil {
		return err
	}
	var fields []int
	for i := range row {
		if row[i] != old[i] {
			fields = append(fields, i)
		}
	}
	if len(fields) == 0 {
		return nil // still an event: the caller wrote, and Sent names what was sent
	}
	if err := w.tx.Update(ent.Entity, row, fields); err != nil {
		return ent.conflict(g, err)
	}
	return nil
}
