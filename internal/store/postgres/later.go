package postgres

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
	"github.com/rowcast/rowcast/internal/value"
)

// A work that writes many rows would pay a round trip for each. So the first
// write of a work waits for its answer, and those after it do not: they are put
// off and travel together, ahead of the next statement whose answer is needed
// and at the latest before the commit. As a rule all is well with them. Where it
// is not, the work is undone and runs once more from its start, and then waits
// for every answer, so that whoever is refused is told at that very call.
const (
	maxLater      = 128      // statements that wait to be sent
	maxLaterBytes = 1 << 20  // of values in them
	firstNumbers  = 4        // keys drawn ahead at first, then twice as many each time
	maxNumbers    = maxLater // and at most so many
)

// lateError is the failure of a statement that was put off.
type lateError struct{ error }

func (e lateError) Unwrap() error { return e.error }

var errNoRow = errors.New("a statement that was put off changed no row")

// later reports whether a write may be put off, and counts it.
func (t *tx) later() bool {
	t.writes++
	return t.writes > 1 && !t.patient
}

// putOff has statements sent ahead of the next one.
func (t *tx) putOff(statements ...statement) error {
	switch {
	case t.conn == nil:
		return errReaderEnded
	case t.lost != nil:
		return t.lost
	}
	for _, s := range statements {
		s.late = true
		t.before = append(t.before, s)
		for _, a := range s.args {
			if c, ok := a.(cell); ok {
				t.waiting += len(c.value.Text())
			}
		}
	}
	if len(t.before) < maxLater && t.waiting < maxLaterBytes {
		return nil
	}
	return t.arrive()
}

// arrive sends what was put off, if anything was.
func (t *tx) arrive() error {
	if t.conn == nil || t.lost != nil || !slices.ContainsFunc(t.before, func(s statement) bool { return s.late }) {
		return t.lost
	}
	before := t.take()
	results := t.conn.SendBatch(t.ctx, batchOf(before))
	err := answered(results, before)
	if closed := results.Close(); err == nil {
		err = closed
	}
	if err != nil {
		t.lost = fail("write", err)
	}
	return t.lost
}

// take empties what is to be sent ahead.
func (r *reader) take() []statement {
	before := r.before
	r.before, r.waiting = nil, 0
	return before
}

func batchOf(statements []statement) *pgx.Batch {
	batch := &pgx.Batch{}
	for _, s := range statements {
		batch.Queue(s.sql, s.args...)
	}
	return batch
}

// answered reads the answers to statements that were sent ahead.
func answered(results pgx.BatchResults, before []statement) error {
	for _, s := range before {
		tag, err := results.Exec()
		switch {
		case err != nil && s.late:
			return late(err)
		case err != nil:
			return err
		case s.one && tag.RowsAffected() == 0:
			return lateError{errNoRow}
		}
	}
	return nil
}

// late marks an error that belongs to the statement: one of the connection, of a
// bound of time or of another transaction's would come again, or has its own way.
func late(err error) error {
	var pg *pgconn.PgError
	wrapped := fail("write", err)
	if !errors.As(err, &pg) || sqlstate.Lost(err) || errors.Is(wrapped, store.ErrTimeout) || errors.Is(wrapped, store.ErrUnavailable) {
		return err
	}
	return lateError{err}
}

func isLate(err error) bool {
	var l lateError
	return errors.As(err, &l)
}

// number draws a key ahead of its row; false where the key has no sequence of
// its own, so that only an insert can draw it.
func (t *tx) number(p *plan) (key value.Value, ok bool, err error) {
	d := t.numbers[p]
	if d == nil {
		if t.numbers == nil {
			t.numbers = map[*plan]*numbers{}
		}
		d = &numbers{ask: firstNumbers}
		t.numbers[p] = d
	}
	if len(d.left) == 0 {
		_, err := t.query("draw keys for "+p.Entity.Table, p.draw, []any{d.ask}, func(rows pgx.Rows) error {
			var n *int64
			if err := rows.Scan(&n); err != nil || n == nil {
				return err
			}
			d.left = append(d.left, *n)
			return nil
		})
		if err != nil || len(d.left) == 0 {
			return key, false, err
		}
		d.ask = min(2*d.ask, maxNumbers)
	}
	n := d.left[0]
	d.left = d.left[1:]
	return value.OfInt(n), true, usedUp(p.Entity, n)
}

// numbers are keys that were drawn ahead.
type numbers struct {
	left []int64
	ask  int // how many to draw next
}
