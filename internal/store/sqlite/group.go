package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/store"
)

// group runs requests in one transaction. It belongs to the writer's goroutine.
type group struct {
	store    *Store
	conn     *conn
	outcomes []error
	rows     []*store.LogRow // appended by the works that stand
}

// errLost is the outcome of a group whose transaction went away under it.
var errLost = errors.New("transaction lost")

// run commits all requests that succeed in one transaction and answers each.
// An outcome is told only after the commit, a refusal too: it may rest on a row
// of the same group that a failing commit would take back.
func (g *group) run(batch []*request) {
	err := g.attempt(batch)
	if errors.Is(err, errLost) {
		if len(batch) > 1 {
			for _, r := range batch {
				g.run([]*request{r})
			}
			return
		}
		if g.outcomes[0] != nil {
			err = g.outcomes[0] // says more than that the transaction went with it
		}
	}
	for i, r := range batch {
		if err != nil {
			g.outcomes[i] = err
		}
		r.done <- g.outcomes[i]
	}
}

// attempt runs the batch as one transaction and leaves an outcome for each. An
// error means that nothing was committed.
func (g *group) attempt(batch []*request) error {
	g.outcomes = append(g.outcomes[:0], make([]error, len(batch))...)
	clear(g.rows)
	g.rows = g.rows[:0]
	if err := g.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return fail("begin a transaction", err)
	}
	for i, r := range batch {
		if err := g.savepoint(i, r); err != nil {
			return errors.Join(errLost, err, g.rollback())
		}
	}
	failpoint.Hit(failpoint.BeforeCommit)
	if err := g.conn.exec("COMMIT"); err != nil {
		err = fail("commit", err)
		return errors.Join(err, g.rollback())
	}
	failpoint.Hit(failpoint.AfterCommit)
	if len(g.rows) > 0 {
		g.store.config.Committed(append([]*store.LogRow(nil), g.rows...))
	}
	return nil
}

// savepoint runs one work so that its failure undoes only its own changes. The
// error says that the whole transaction is lost.
func (g *group) savepoint(i int, r *request) error {
	if err := g.conn.exec("SAVEPOINT work"); err != nil {
		return fail("set a savepoint", err)
	}
	t := &tx{reader: reader{store: g.store, conn: g.conn}}
	g.outcomes[i] = g.work(r, t)
	if g.conn.db.GetAutocommit() {
		if t.lost == nil {
			t.lost = errors.New("something ended the transaction")
		}
		g.outcomes[i] = t.lost
		return t.lost
	}
	if g.outcomes[i] != nil {
		if err := g.conn.exec("ROLLBACK TO work"); err != nil {
			return fail("roll back to a savepoint", err)
		}
	} else {
		g.rows = append(g.rows, t.logged...)
	}
	if err := g.conn.exec("RELEASE work"); err != nil {
		return fail("release a savepoint", err)
	}
	return nil
}

// work calls Run under its bound of time and contains a panic.
func (g *group) work(r *request, t *tx) (err error) {
	limit := g.store.config.budget
	ctx := context.WithoutCancel(r.ctx)
	if r.work.Alone {
		limit = orDefault(r.work.Deadline, defaultDeadline)
		bounded, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		ctx = bounded
	}
	bound := &budget{Context: context.Background(), end: time.Now().Add(limit)}
	free := g.conn.db.SetInterrupt(bound)
	defer func() {
		if p := recover(); p != nil {
			g.store.config.Logger.Error("a write panicked", "panic", p, "stack", string(debug.Stack()))
			g.conn.resetAll()
			err = fmt.Errorf("write panicked: %v", p)
		}
		t.conn = nil
		g.conn.db.SetInterrupt(free)
	}()
	if err := r.work.Run(ctx, t); err != nil {
		return err
	}
	if r.work.Alone && bound.Err() != nil {
		return fmt.Errorf("%w: the work needed more than %v", store.ErrTimeout, limit)
	}
	return nil
}

// rollback ends a transaction that cannot be committed.
func (g *group) rollback() error {
	if g.conn.db.GetAutocommit() {
		return nil
	}
	g.conn.resetAll()
	if err := g.conn.exec("ROLLBACK"); err != nil {
		return fail("roll back", err)
	}
	return nil
}
