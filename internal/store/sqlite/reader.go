package sqlite

import (
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

var errReaderEnded = errors.New("this reader was used after its View or Write had ended")

// reader implements store.Reader on a connection that is in a transaction. It
// belongs to one goroutine.
type reader struct {
	store *Store
	conn  *conn // nil once the transaction has ended
	// lost is the error that took the transaction away. Whatever ran after it
	// would run, and commit, on its own.
	lost error
}

var _ store.Reader = (*reader)(nil)

// use returns the connection, or why it may no longer be used.
func (r *reader) use() (*conn, error) {
	if r.conn == nil {
		return nil, errReaderEnded
	}
	return r.conn, r.lost
}

// failed wraps an error and notices a transaction that went with it.
func (r *reader) failed(verb, table string, err error) error {
	err = fail(verb+" "+table, err)
	if r.lost == nil && r.conn.db.GetAutocommit() {
		r.lost = err
	}
	return err
}

// settle resets a statement and returns what it failed with, if anything;
// other is an error that came up beside the statement.
func (r *reader) settle(verb, table string, st *sqlite3.Stmt, other error) error {
	err := st.Err()
	if reset := st.Reset(); err == nil {
		err = reset
	}
	if err != nil {
		return r.failed(verb, table, err)
	}
	return other
}

// Get implements store.Reader.
func (r *reader) Get(e *schema.Entity, id value.Value) (row store.Row, err error) {
	c, err := r.use()
	if err != nil {
		return nil, err
	}
	st, err := c.stmtOf(r.store.table(e).Get)
	if err != nil {
		return nil, r.failed("get from", e.Table, err)
	}
	defer func() { err = r.settle("get from", e.Table, st, err) }()
	if err := bind(st, 1, id); err != nil {
		return nil, err
	}
	if !st.Step() {
		return nil, store.ErrNotFound
	}
	return readRow(st, e)
}

// GetMany implements store.Reader. A seek each is as fast as a list of
// parameters, and needs one statement whatever the number.
func (r *reader) GetMany(e *schema.Entity, ids []value.Value) ([]store.Row, error) {
	rows := make([]store.Row, 0, len(ids))
	seen := make(map[value.Value]struct{}, len(ids))
	for _, id := range ids {
		if _, twice := seen[id]; twice {
			continue
		}
		seen[id] = struct{}{}
		row, err := r.Get(e, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}
