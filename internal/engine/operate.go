package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// Request is one use of an operation.
type Request struct {
	ID    string // of the row; "" where the operation is on none
	Input []byte // the body as sent, one JSON object; nil: none
	Options
}

// Done is what came of an operation.
type Done struct {
	Outcome *Outcome // of an operation that writes one row; nil where its handler made none
	Changed int      // rows written, of an operation on many
	Reply   []byte   // JSON, of an operation that reads; nil: nothing
	Again   bool     // an Idempotency-Key answered it; nothing was written
}

// Operate takes an operation found by Operation. It is judged like a write of
// its action, in the same order, and writes its row once, with one event. Faults:
// those of Patch, idempotency_mismatch, and whatever fault a handler returns;
// any other error of a handler, and a panic, are internal.
func (e *Engine) Operate(ctx context.Context, g *access.Grant, op *Operation, r Request) (*Done, error) {
	ent, err := e.entity(g, op.action)
	if err != nil {
		return nil, err
	}
	pre, err := parsePrecondition(r.Options)
	if err != nil {
		return nil, err
	}
	if !op.OnRow() {
		if err := pre.check(nil, nil); err != nil {
			return nil, err
		}
	}
	use := &use{engine: e, ent: ent, grant: g, op: op, Request: r, pre: pre}
	if op.Reads() {
		return use.read(ctx)
	}
	key, err := newKey(g.Principal, r.Options)
	if err != nil {
		return nil, err
	}
	var done *Done
	err = e.work(ctx, op.do != nil, func(ctx context.Context, w *writing) (err error) {
		done, err = use.write(ctx, w, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// use is one use of an operation. It is not changed by its runs, of which there
// may be several.
type use struct {
	engine *Engine
	ent    *entity
	grant  *access.Grant
	op     *Operation
	Request
	pre precondition
}

func (u *use) write(ctx context.Context, w *writing, key *key) (*Done, error) {
	before, err := w.told(key)
	if err != nil {
		return nil, err
	}
	if before != nil {
		return u.again(w, before)
	}
	done, err := u.take(ctx, w)
	if err != nil {
		return nil, err
	}
	kept := told{Changed: done.Changed, IDs: []string{}}
	if done.Outcome != nil {
		kept.IDs = append(kept.IDs, u.ent.idText(done.Outcome.ID))
	}
	return done, w.keep(key, kept)
}

// again answers a request that was answered before.
func (u *use) again(w *writing, before *told) (*Done, error) {
	done := &Done{Again: true, Changed: before.Changed}
	if len(before.IDs) == 0 {
		return done, nil
	}
	var err error
	done.Outcome, err = w.reread(u.grant, before.IDs[0])
	return done, err
}

func (u *use) take(ctx context.Context, w *writing) (*Done, error) {
	var old store.Row
	if u.op.OnRow() {
		var err error
		if old, err = w.changeable(u.ent, u.grant, u.ID, u.pre, u.op.action); err != nil {
			return nil, err
		}
	}
	if u.op.do != nil {
		return u.handle(ctx, w, old)
	}
	row, sent, err := u.set(w, old)
	if err != nil {
		return nil, err
	}
	out, err := u.save(w, old, row, sent)
	return &Done{Outcome: out}, err
}

// set makes of the row what the schema declares. Each script sees the row as it
// was, so that their order decides nothing.
func (u *use) set(w *writing, old store.Row) (row store.Row, sent []string, err error) {
	row = slices.Clone(old)
	var faults []fault.FieldError
	for _, a := range u.op.set {
		v := a.value
		if a.program != nil {
			v, err = a.program.RunAssignment(script.Operation{Row: old, User: u.grant.User(), Tenant: u.engine.config.Tenant, Now: w.now})
			if err != nil {
				return nil, nil, fault.New(fault.Internal, "what operation %q of %s sets could not be evaluated; nothing was written", u.op.Name, u.ent.Name).Because(err)
			}
		}
		row[a.field] = v
		sent = append(sent, u.ent.Fields[a.field].Name)
		faults = append(faults, u.ent.validate(a.field, v)...)
	}
	if len(faults) == 0 {
		return row, sent, nil
	}
	return nil, nil, u.discreet(u.ent, fault.New(fault.Invalid, "the row would not be valid: see errors for each field").With(bounded(faults)...))
}

// discreet returns a fault as this caller may be told it: one that speaks of a
// field which the caller does not read unmasked says only that there is one.
func (u *use) discreet(ent *entity, f *fault.Fault) *fault.Fault {
	g := u.grantOn(ent)
	hidden := func(one fault.FieldError) bool {
		i, ok := ent.Field(one.Field)
		return ok && !g.ReadsPlain(i)
	}
	if !slices.ContainsFunc(f.Errors, hidden) {
		return f
	}
	told := slices.DeleteFunc(slices.Clone(f.Errors), hidden)
	return fault.New(f.Code, "operation %q cannot be taken on the data as it is; nothing was written", u.op.Name).With(told...).Because(f)
}

// grantOn is what the caller may do with any entity.
func (u *use) grantOn(ent *entity) *access.Grant {
	if ent == u.ent {
		return u.grant
	}
	return u.engine.grant(ent, u.grant.Principal)
}

// save writes the operation's own row and publishes it as the operation says.
// The row as written is judged by the caller's rules, as after any write.
func (u *use) save(w *writing, old, row store.Row, sent []string) (*Outcome, error) {
	ent, g := u.ent, u.grant
	ent.stamp(row, g.Principal, w.now, false)
	if err := w.save(ent, g, old, row); err != nil {
		return nil, err
	}
	c := &change{op: schema.Update, fine: string(u.op.Event), before: old, after: row, sent: sent, custom: u.op.Operation}
	if err := w.publish(ent, g, c); err != nil {
		return nil, err
	}
	return ent.outcome(g, row[ent.ID], row), nil
}

// handle has the handler do the work on a transaction of its own.
func (u *use) handle(ctx context.Context, w *writing, old store.Row) (*Done, error) {
	w.left = map[rowKey]store.Row{}
	t := newTx(u, w.tx, old)
	t.w = w
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	done := &Done{Changed: t.writes}
	var err error
	switch {
	case t.made != nil:
		done.Outcome, err = u.made(w, t.made)
	case t.gone != nil:
		done.Outcome = t.gone
	case old != nil:
		done.Outcome, err = u.save(w, old, t.row, t.sent)
	}
	if err != nil {
		return nil, err
	}
	w.settle()
	return done, nil
}

// made is the row that the handler made, as it leaves it: it may have changed it
// since, under no rules but the schema's.
func (u *use) made(w *writing, made *Outcome) (*Outcome, error) {
	row := w.left[rowKey{u.ent.Name, u.ent.idText(made.ID)}]
	if row == nil {
		return &Outcome{Grant: u.grant, ID: made.ID}, nil
	}
	return u.ent.outcome(u.grant, made.ID, row), u.ent.leave(u.grant, row)
}

// remove deletes the operation's own row. Channels are told deleted, whatever the
// operation is told as: no row is left to show.
func (u *use) remove(w *writing, old store.Row) (*Outcome, error) {
	if err := w.erase(u.ent, u.grant, old, access.Delete); err != nil {
		return nil, err
	}
	fine := ""
	if u.op.Event != "" {
		fine = string(schema.RealtimeDeleted)
	}
	c := &change{op: schema.Delete, fine: fine, before: old, custom: u.op.Operation}
	return &Outcome{Grant: u.grant, ID: old[u.ent.ID]}, w.publish(u.ent, u.grant, c)
}

// read has the handler answer from one snapshot.
func (u *use) read(ctx context.Context) (*Done, error) {
	ctx, cancel := context.WithTimeout(ctx, u.engine.config.MaxQuery)
	defer cancel()
	done := &Done{}
	err := u.engine.config.Store.View(ctx, func(r store.Reader) error {
		var row store.Row
		if u.op.OnRow() {
			var err error
			if row, err = u.seen(r); err != nil {
				return err
			}
		}
		t := newTx(u, r, row)
		err := t.run(ctx)
		done.Reply = t.reply
		return err
	})
	if err != nil {
		return nil, asFault(err)
	}
	return done, nil
}

// seen returns the row of an operation that reads, if the caller may read it and
// take the operation's action on it.
func (u *use) seen(r store.Reader) (store.Row, error) {
	id, err := u.ent.id(u.ID)
	if err != nil {
		return nil, err
	}
	row, err := r.Get(u.ent.Entity, id)
	if errors.Is(err, store.ErrNotFound) || (err == nil && (u.ent.deleted(row) || !passes(u.grant, access.Read, row))) {
		return nil, u.ent.notFound()
	}
	if err != nil {
		return nil, err
	}
	if err := u.pre.check(u.grant, row); err != nil {
		return nil, err
	}
	return row, u.ent.may(u.grant, u.op.action, row)
}
