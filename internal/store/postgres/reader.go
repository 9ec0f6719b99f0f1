package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
)

var errReaderEnded = errors.New("this reader was used after its View or Write had ended")

// reader implements store.Reader on a connection that is in a transaction. It
// belongs to one goroutine.
type reader struct {
	store *Store
	ctx   context.Context //nolint:containedctx // of the statements: the transaction's own, never a request's alone
	conn  *pgxpool.Conn   // nil once the transaction has ended
	// before is sent ahead of the next statement, in the same round trip; waiting
	// is the size of the values in it that were put off.
	before  []statement
	waiting int
	lock    string // " FOR UPDATE" in a transaction that writes
	// frontier is up to where the log was settled before this snapshot; -1 in a
	// transaction that writes, which sees what it sees.
	frontier int64
	// lost is the error that took the transaction away: all that comes after it
	// would fail with a worse one.
	lost error
}

// statement is one statement with its arguments.
type statement struct {
	sql  string
	args []any
	late bool // who asked for it was answered before it was sent
	one  bool // it must change a row
}

var _ store.Reader = (*reader)(nil)

// query runs a statement and calls each for its rows. It returns how many rows
// it found or changed.
func (r *reader) query(attempt, sql string, args []any, each func(pgx.Rows) error) (int64, error) {
	if r.conn == nil {
		return 0, errReaderEnded
	}
	if r.lost != nil {
		return 0, r.lost
	}
	n, err := r.send(sql, args, each)
	if err == nil {
		return n, nil
	}
	err = fail(attempt, err)
	var own rowError
	if !errors.As(err, &own) {
		r.lost = err
	}
	return 0, err
}

// rowError is an error of whoever reads the rows: the transaction stands.
type rowError struct{ error }

func (e rowError) Unwrap() error { return e.error }

func (r *reader) send(sql string, args []any, each func(pgx.Rows) error) (n int64, err error) {
	if len(r.before) == 0 {
		rows, err := r.conn.Query(r.ctx, sql, args...)
		if err != nil {
			return 0, err
		}
		return drain(rows, each)
	}
	before := r.take()
	batch := batchOf(before)
	batch.Queue(sql, args...)
	results := r.conn.SendBatch(r.ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	if err := answered(results, before); err != nil {
		return 0, err
	}
	rows, err := results.Query()
	if err != nil {
		return 0, err
	}
	return drain(rows, each)
}

func drain(rows pgx.Rows, each func(pgx.Rows) error) (int64, error) {
	defer rows.Close()
	var first error
	for rows.Next() {
		if each != nil && first == nil {
			if err := each(rows); err != nil {
				first = rowError{err}
			}
		}
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	return rows.CommandTag().RowsAffected(), first
}

// constraint returns the unique constraint that refused a statement.
func (r *reader) constraint(err error) (name string, ok bool) {
	var pg *pgconn.PgError
	if isLate(err) || !errors.As(err, &pg) || pg.Code != sqlstate.Unique {
		return "", false
	}
	return pg.ConstraintName, true
}
