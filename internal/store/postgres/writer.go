package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
)

// retries is how often a work runs again that lost against others.
const retries = 3

// Write implements store.Store. Work that has not begun when ctx ends never
// runs. Work that has begun has an outcome, and that is what is returned; only
// where the connection breaks while it is committed it may be ErrUnknown.
func (s *Store) Write(ctx context.Context, work store.Work) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	// Works have their own bound below the pool's, so that those that wait for
	// each other's rows leave connections to who reads.
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for again, patient := 0, false; ; {
		err := s.attempt(ctx, work, patient)
		switch {
		case isLate(err):
			patient = true
		case err == nil || again == retries || !sqlstate.Lost(err):
			return err
		default:
			again++
		}
	}
}

// attempt runs the work once, in a transaction of its own.
func (s *Store) attempt(ctx context.Context, work store.Work, patient bool) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer s.abandon(conn)
	limit := s.config.budget
	if work.Alone {
		limit = orDefault(work.Deadline, defaultDeadline)
	}
	end := time.Now().Add(limit)
	ctx = context.WithoutCancel(ctx)
	statements, cancel := context.WithDeadline(ctx, end.Add(grace))
	defer cancel()
	t := &tx{patient: patient, reader: reader{store: s, ctx: statements, conn: conn, before: s.sql.begin(limit), lock: " FOR UPDATE", frontier: -1}}
	err = s.work(ctx, work, t, end)
	if late := t.arrive(); isLate(late) || err == nil { // what was refused first counts
		err = late
	}
	t.conn = nil
	switch {
	case err != nil:
		return err
	case t.lost != nil: // the work went on after it
		return t.lost
	case work.Alone && time.Now().After(end):
		return fmt.Errorf("%w: the work needed more than %v", store.ErrTimeout, limit)
	}
	return s.commit(statements, conn, t)
}

// work calls Run under its bound of time and contains a panic.
func (s *Store) work(ctx context.Context, work store.Work, t *tx, end time.Time) (err error) {
	if work.Alone {
		bounded, cancel := context.WithDeadline(ctx, end)
		defer cancel()
		ctx = bounded
	}
	defer func() {
		if p := recover(); p != nil {
			s.config.Logger.Error("a write panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("write panicked: %v", p)
		}
	}()
	return work.Run(ctx, t)
}

// commit sends what was queued, the log rows and COMMIT in one round trip: between
// drawing the numbers and giving them free lies nothing that an instance could
// stop in.
func (s *Store) commit(ctx context.Context, conn *pgxpool.Conn, t *tx) error {
	begun := conn.Conn().PgConn().TxStatus() != 'I'
	if !begun && len(t.pending) == 0 && len(t.queued) == 0 {
		return nil // the work did nothing
	}
	before := append(t.take(), s.queueInsert(t.queued)...)
	batch := batchOf(before)
	if len(t.pending) > 0 {
		insert, err := s.logStatement(t.pending)
		if err != nil {
			return err
		}
		batch.Queue(insert.sql, insert.args...)
	}
	batch.Queue("COMMIT")
	failpoint.Hit(failpoint.BeforeCommit)
	if err := finish(conn.SendBatch(ctx, batch), before, t.pending); err != nil {
		return s.unsure(ctx, conn, t, err)
	}
	failpoint.Hit(failpoint.AfterCommit)
	t.logged = append(t.logged, t.pending...)
	s.committed(t.logged)
	return nil
}

// finish reads the answers to the batch of commit.
func finish(results pgx.BatchResults, before []statement, rows []*store.LogRow) (err error) {
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	if err := answered(results, before); err != nil {
		return err
	}
	if len(rows) > 0 {
		if err := numbered(results, rows); err != nil {
			return err
		}
	}
	tag, err := results.Exec()
	if err == nil && tag.String() != "COMMIT" {
		err = errors.New("the database rolled the transaction back")
	}
	return err
}

// numbered takes the numbers that the log rows have got.
func numbered(results pgx.BatchResults, rows []*store.LogRow) error {
	found, err := results.Query()
	if err != nil {
		return err
	}
	i := 0
	_, err = drain(found, func(r pgx.Rows) error {
		defer func() { i++ }()
		return r.Scan(&rows[i].Seq)
	})
	return err
}

// unsure finds out what became of a transaction whose COMMIT was not answered.
// A refusal of the server's is certain, and so is a log row that is found; a row
// that is not found may still be on its way.
func (s *Store) unsure(ctx context.Context, conn *pgxpool.Conn, t *tx, cause error) error {
	err := fail("commit", cause)
	if !conn.Conn().IsClosed() || pgconn.SafeToRetry(cause) {
		return err
	}
	if rows := slices.Concat(t.logged, t.pending); len(rows) > 0 {
		var stands bool
		if asked := s.db.pool.QueryRow(ctx, s.sql.written, rows[0].EventID).Scan(&stands); asked == nil && stands {
			s.config.Logger.Warn("the connection broke at a commit, and the write stands", "err", cause)
			s.signal()
			return nil
		}
	}
	return fmt.Errorf("%w: %w", store.ErrUnknown, err)
}

// committed hands on what stands, before its writer is answered.
func (s *Store) committed(rows []*store.LogRow) {
	if len(rows) == 0 {
		return
	}
	s.config.Committed(rows)
	s.signal()
}

// signal has everybody look: here at once, elsewhere by NOTIFY.
func (s *Store) signal() {
	s.config.Look()
	s.db.teller.committed(s)
}
