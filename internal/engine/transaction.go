package engine

import (
	"context"
	"fmt"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// Step is one write of a transaction.
type Step struct {
	Op     string // create, update (merges, as PATCH does), delete
	Entity string
	ID     string // of update and delete
	Data   Body   // of create and update
}

// step is a Step made ready: authorised and read, so that the transaction
// itself does nothing that needs no row.
type step struct {
	Step
	ent   *entity
	grant *access.Grant
	draft store.Row
	in    *input
}

var stepActions = map[string]access.Action{"create": access.Create, "update": access.Update, "delete": access.Delete}

// Transaction takes all steps or none, each guarded as if it came alone. A
// fault names the step as writes[i], and its fields as writes[i].name. The
// outcomes are in the order of the steps; one deleted has no Row.
func (e *Engine) Transaction(ctx context.Context, pr *access.Principal, steps []Step, o Options) ([]*Outcome, error) {
	key, err := newKey(pr, o)
	if err != nil {
		return nil, err
	}
	if err := absent(o); err != nil {
		return nil, err
	}
	if len(steps) > e.config.MaxRows {
		return nil, tooMany("the transaction holds more writes", e.config.MaxRows)
	}
	ready, err := e.ready(pr, steps)
	if err != nil {
		return nil, err
	}
	var outs []*Outcome
	err = e.write(ctx, true, func(w *writing) (err error) {
		grants := make([]*access.Grant, len(ready))
		for i := range ready {
			grants[i] = ready[i].grant
		}
		if outs, err = w.recall(key, grants...); err != nil || outs != nil {
			return err
		}
		if outs, err = w.take(ready); err != nil {
			return err
		}
		return w.remember(key, outs...)
	})
	if err != nil {
		return nil, err
	}
	return outs, nil
}

func (e *Engine) ready(pr *access.Principal, steps []Step) ([]step, error) {
	out := make([]step, len(steps))
	for i, s := range steps {
		prepared, err := e.prepare(pr, s)
		if err != nil {
			return nil, inside(place(i), err)
		}
		out[i] = prepared
	}
	return out, nil
}

func place(i int) string { return fmt.Sprintf("writes[%d]", i) }

func (e *Engine) prepare(pr *access.Principal, s Step) (step, error) {
	action, ok := stepActions[s.Op]
	if !ok {
		return step{}, misshapen("op", "oneof", "must be create, update or delete")
	}
	g, err := e.Grant(pr, s.Entity, action)
	if err != nil {
		return step{}, err
	}
	out := step{Step: s, grant: g, ent: e.byName[s.Entity]}
	switch {
	case s.Op == "create" && s.ID != "":
		return step{}, misshapen("id", "unknown_field", "must be left out of a create: an id of your own goes into data")
	case s.Op != "create" && s.ID == "":
		return step{}, misshapen("id", "required", "must name the row")
	case s.Op == "delete" && s.Data != nil:
		return step{}, misshapen("data", "unknown_field", "must be left out of a delete")
	case s.Op == "create":
		out.draft, out.in = e.draft(out.ent, g, s.Data)
	case s.Op == "update":
		out.in = out.ent.read(s.Data)
	}
	return out, nil
}

func misshapen(field, code, detail string) error {
	return fault.New(fault.Invalid, "%s %s", field, detail).With(fault.FieldError{Field: field, Code: code, Detail: detail})
}

func (w *writing) take(steps []step) ([]*Outcome, error) {
	outs := make([]*Outcome, len(steps))
	w.left = make(map[rowKey]store.Row, len(steps))
	for i := range steps {
		out, err := w.step(&steps[i])
		if err != nil {
			return nil, inside(place(i), err)
		}
		outs[i] = out
	}
	w.settle()
	return outs, nil
}

func (w *writing) step(s *step) (*Outcome, error) {
	switch s.Op {
	case "create":
		if err := s.in.invalid(); err != nil {
			return nil, err
		}
		return w.create(s.ent, s.grant, s.draft, created(s.in))
	case "update":
		old, err := w.changeable(s.ent, s.grant, s.ID, precondition{}, access.Update)
		if err != nil {
			return nil, err
		}
		return w.update(s.ent, s.grant, old, s.in, "patched")
	default:
		old, err := w.removable(s.ent, s.grant, s.ID, precondition{}, access.Delete)
		if err != nil {
			return nil, err
		}
		return w.remove(s.ent, s.grant, old, access.Delete)
	}
}

// settle hands on each row as the transaction leaves it, also where the step
// that left it so is published to nobody: a frame must never show a state
// between two steps, which nobody could have read. A delete hands on none.
func (w *writing) settle() {
	for _, row := range w.log {
		if row.Operation == schema.Delete {
			continue
		}
		row.Row = w.left[rowKey{row.Entity, row.Subject}]
	}
}
