package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
)

// Head implements store.Reader. It makes the position it returns the one from
// which the log is read on, whatever was known before: who asks begins anew.
func (r *reader) Head() (store.Position, error) {
	last, err := r.position(r.store.sql.head)
	if err != nil {
		return last, err
	}
	base := store.Position{}
	if last.Seq > 0 {
		holders, err := r.holders()
		if err != nil {
			return base, err
		}
		var settled bool
		if base, settled = r.store.barrier.begin(last, holders); !settled {
			r.store.endHung(r.ctx)
			return store.Position{}, store.ErrUnsettled
		}
	}
	if base.Seq == 0 {
		if base, err = r.Floor(); err != nil {
			return base, err
		}
	}
	r.store.barrier.restart(base.Seq)
	return base, nil
}

// Floor implements store.Reader.
func (r *reader) Floor() (store.Position, error) { return r.position(r.store.sql.floor) }

// Find implements store.Reader. What PostgreSQL cannot keep stands nowhere.
func (r *reader) Find(eventID string) (seq int64, found bool, err error) {
	if !keepable(eventID) {
		return 0, false, nil
	}
	p, err := r.position(r.store.sql.find, eventID)
	if err == nil && p.Seq == 0 && eventID != "" {
		p, err = r.Floor()
	}
	return p.Seq, err == nil && p.EventID == eventID && eventID != "", err
}

// At implements store.Reader.
func (r *reader) At(seq int64) (eventID string, found bool, err error) {
	p, err := r.position(r.store.sql.at, seq)
	if err == nil && p.Seq == 0 {
		p, err = r.Floor()
	}
	if err != nil || p.Seq != seq || p.EventID == "" {
		return "", false, err
	}
	return p.EventID, true, nil
}

// position runs a query that answers a number and an event id, at most once.
func (r *reader) position(sql string, args ...any) (p store.Position, err error) {
	_, err = r.query("read the log", sql, args, func(rows pgx.Rows) error { return rows.Scan(&p.Seq, &p.EventID) })
	return p, err
}

// Prune implements store.Store. Log rows go in seq order up to the first that
// is not older than before, or not settled: the floor is one number, so nothing
// above it may be missing. One instance prunes at a time; the others have
// nothing to do.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	settled, err := s.look(ctx)
	if err != nil {
		return false, err
	}
	err = s.Write(ctx, store.Work{Run: func(_ context.Context, t store.Tx) error {
		w, ok := t.(*tx)
		if !ok {
			return errors.New("prune: not a transaction of this driver")
		}
		log, err := w.pruneLog(before, settled, limit)
		if err != nil {
			return err
		}
		kept, err := w.query("prune", s.sql.pruneRecords, []any{s.now(), limit}, nil)
		more = log || limit > 0 && kept >= int64(limit)
		return err
	}})
	return more, err
}

// look moves the frontier as far as it goes now. The poll judges by it whether
// there is something to read, so whoever follows the log is told that it moved.
func (s *Store) look(ctx context.Context) (settled int64, err error) {
	before := s.barrier.settled()
	err = s.View(ctx, func(r store.Reader) error {
		view, ok := r.(*reader)
		if !ok {
			return errors.New("look: not a view of this driver")
		}
		_, err := view.Log(view.frontier, pruneLook)
		return err
	})
	if settled = s.barrier.settled(); settled > before {
		s.config.Look()
	}
	return settled, err
}

// pruneLook is how far ahead of the tail pruning looks: past a day's retention
// there is never anything.
const pruneLook = 1000

func (t *tx) pruneLog(before time.Time, settled int64, limit int) (more bool, err error) {
	floor, err := t.position(t.store.sql.lockFloor)
	if err != nil {
		return false, err
	}
	last, n := store.Position{}, 0
	_, err = t.query("prune", t.store.sql.prefix, []any{before, settled, limit + 1}, func(rows pgx.Rows) error {
		var p store.Position
		var old bool
		if err := rows.Scan(&p.Seq, &p.EventID, &old); err != nil {
			return err
		}
		switch {
		case n < 0: // what follows an event that is kept is kept
		case !old:
			n = -1
		case n == limit:
			more = true
		default:
			last = p
			n++
		}
		return nil
	})
	if err != nil || last.Seq <= floor.Seq {
		return false, err
	}
	if _, err := t.query("prune", t.store.sql.pruneLog, []any{last.Seq}, nil); err != nil {
		return false, err
	}
	_, err = t.query("move the floor", t.store.sql.moveFloor, []any{last.Seq, last.EventID}, nil)
	return more, err
}
