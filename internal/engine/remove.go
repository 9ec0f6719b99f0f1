package engine

import (
	"context"
	"slices"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Delete removes a row, or marks it where the entity inherits softdelete.
// Faults: forbidden, not_found, precondition_failed, row_refused,
// already_deleted, event_condition_failed, and those of the datastore.
func (e *Engine) Delete(ctx context.Context, g *access.Grant, id string, o Options) (*Outcome, error) {
	return e.remove(ctx, g, id, o, access.Delete)
}

// Purge removes a row for good, soft-deleted or not. Where the entity does not
// inherit softdelete it is a delete for who may purge. Faults as for Delete,
// but for already_deleted.
func (e *Engine) Purge(ctx context.Context, g *access.Grant, id string, o Options) (*Outcome, error) {
	return e.remove(ctx, g, id, o, access.Purge)
}

func (e *Engine) remove(ctx context.Context, g *access.Grant, id string, o Options, a access.Action) (*Outcome, error) {
	ent, err := e.entity(g, a)
	if err != nil {
		return nil, err
	}
	pre, err := parsePrecondition(o)
	if err != nil {
		return nil, err
	}
	return e.one(ctx, func(w *writing) (*Outcome, error) {
		old, err := w.removable(ent, g, id, pre, a)
		if err != nil {
			return nil, err
		}
		return w.remove(ent, g, old, a)
	})
}

// removable returns the row of that id if the caller may delete or purge it.
func (w *writing) removable(ent *entity, g *access.Grant, id string, pre precondition, a access.Action) (store.Row, error) {
	old, err := w.find(ent, g, id)
	if err != nil {
		return nil, err
	}
	gone := a == access.Delete && ent.deleted(old)
	current := old
	if gone {
		current = nil // a GET shows none, so no tag is its
	}
	if err := pre.check(g, current); err != nil {
		return nil, err
	}
	if err := ent.may(g, a, old); err != nil {
		return nil, err
	}
	if gone {
		return nil, fault.New(fault.AlreadyDeleted, "this row of %s is deleted already; restore it or purge it", ent.Name)
	}
	return old, nil
}

func (w *writing) remove(ent *entity, g *access.Grant, old store.Row, a access.Action) (*Outcome, error) {
	if err := w.erase(ent, g, old, a); err != nil {
		return nil, err
	}
	c := &change{op: schema.Delete, fine: "deleted", before: old, hidden: ent.deleted(old)}
	if err := w.publish(ent, g, c); err != nil {
		return nil, err
	}
	return &Outcome{Grant: g, ID: old[ent.ID]}, nil
}

func (w *writing) erase(ent *entity, g *access.Grant, old store.Row, a access.Action) error {
	if a == access.Purge || ent.deletedOn < 0 {
		return w.tx.Delete(ent.Entity, old[ent.ID])
	}
	row := slices.Clone(old)
	row[ent.deletedBy], row[ent.deletedOn] = idOf(g.Principal), value.OfTime(w.now)
	return w.tx.Update(ent.Entity, row, []int{ent.deletedBy, ent.deletedOn})
}
