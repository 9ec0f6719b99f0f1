package sqlite

import (
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// Select implements store.Reader.
func (r *reader) Select(e *schema.Entity, q store.Query) (rows []store.Row, err error) {
	c, err := r.use()
	if err != nil {
		return nil, err
	}
	s, err := r.store.table(e).Select(c.scratch, q)
	if err != nil {
		return nil, err
	}
	c.scratch = s.SQL
	st, err := c.stmt(s.SQL)
	if err != nil {
		return nil, r.failed("select from", e.Table, err)
	}
	defer func() { err = r.settle("select from", e.Table, st, err) }()
	if err := bindAll(st, s.Args); err != nil {
		return nil, err
	}
	for st.Step() {
		row, err := readRow(st, e)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Count implements store.Reader.
func (r *reader) Count(e *schema.Entity, q store.Query) (n int64, err error) {
	c, err := r.use()
	if err != nil {
		return 0, err
	}
	s := r.store.table(e).Count(c.scratch, q)
	c.scratch = s.SQL
	st, err := c.stmt(s.SQL)
	if err != nil {
		return 0, r.failed("count", e.Table, err)
	}
	defer func() { err = r.settle("count", e.Table, st, err) }()
	if err := bindAll(st, s.Args); err != nil {
		return 0, err
	}
	if st.Step() {
		n = st.ColumnInt64(0)
	}
	return n, nil
}
