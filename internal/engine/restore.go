package engine

import (
	"context"
	"slices"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Restore brings back a soft-deleted row. A live one is not_deleted, which is
// what every row of an entity without softdelete is. Other faults: forbidden,
// not_found, precondition_failed, row_refused (also for the row as it comes
// back), conflict, event_condition_failed, and those of the datastore.
func (e *Engine) Restore(ctx context.Context, g *access.Grant, id string, o Options) (*Outcome, error) {
	ent, err := e.entity(g, access.Restore)
	if err != nil {
		return nil, err
	}
	pre, err := parsePrecondition(o)
	if err != nil {
		return nil, err
	}
	return e.one(ctx, func(w *writing) (*Outcome, error) { return w.restore(ent, g, id, pre) })
}

func (w *writing) restore(ent *entity, g *access.Grant, id string, pre precondition) (*Outcome, error) {
	old, err := w.find(ent, g, id)
	if err != nil {
		return nil, err
	}
	if err := pre.check(g, old); err != nil {
		return nil, err
	}
	if err := ent.may(g, access.Restore, old); err != nil {
		return nil, err
	}
	if !ent.deleted(old) {
		return nil, fault.New(fault.NotDeleted, "this row of %s is not deleted; there is nothing to restore", ent.Name)
	}
	row := slices.Clone(old)
	row[ent.deletedBy], row[ent.deletedOn] = value.Value{}, value.Value{}
	ent.stamp(row, g.Principal, w.now, false)
	if err := w.save(ent, g, old, row); err != nil {
		return nil, err
	}
	c := &change{op: schema.Update, fine: "restored", before: old, after: row, hidden: true}
	if err := w.publish(ent, g, c); err != nil {
		return nil, err
	}
	return ent.outcome(g, row[ent.ID], row), nil
}
