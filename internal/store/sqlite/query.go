package sqlite

import (
	"fmt"
	"strconv"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// selection builds one SELECT: the text with numbered parameters, and their values.
type selection struct {
	sql  []byte
	args []value.Value
}

func (s *selection) add(texts ...string) {
	for _, t := range texts {
		s.sql = append(s.sql, t...)
	}
}

// arg binds a value and writes its placeholder.
func (s *selection) arg(v value.Value) {
	s.args = append(s.args, v)
	s.sql = append(s.sql, '?')
	s.sql = strconv.AppendInt(s.sql, int64(len(s.args)), 10)
}

// where writes what q selects, less the keyset.
func (s *selection) where(p *plan, q store.Query) {
	glue := " WHERE "
	if live := p.live(q.Deleted); live != "" {
		s.add(glue, live)
		glue = " AND "
	}
	for _, pred := range q.Where {
		text, args := pred.SQL(dialect{}, s.args)
		s.args = args
		s.add(glue, "(", text, ")")
		glue = " AND "
	}
	if q.After != nil {
		s.add(glue)
		s.after(p, q.Sort, q.After)
	}
}

// after writes the condition of the rows behind the one whose keys are given:
// key by key, "behind in this one, or equal in it and behind in the rest". A
// NULL is last in either direction, so nothing is behind it in its own key.
func (s *selection) after(p *plan, sort []store.SortKey, last []value.Value) {
	if len(sort) == 0 {
		s.add(p.id, " > ")
		s.arg(last[0])
		return
	}
	column, v := p.columns[sort[0].Field], last[0]
	s.add("(")
	if !v.IsNull() {
		op := " > "
		if sort[0].Desc {
			op = " < "
		}
		s.add(column, op)
		s.arg(v)
		s.add(" OR ", column, " IS NULL OR ")
	}
	s.add("(", column, " IS ")
	s.arg(v)
	s.add(" AND ")
	s.after(p, sort[1:], last[1:])
	s.add("))")
}

func (s *selection) order(p *plan, sort []store.SortKey) {
	s.add(" ORDER BY ")
	for _, k := range sort {
		direction := " NULLS LAST, "
		if k.Desc {
			direction = " DESC NULLS LAST, "
		}
		s.add(p.columns[k.Field], direction)
	}
	s.add(p.id)
}

func (s *selection) limit(limit, offset int) {
	if limit <= 0 && offset <= 0 {
		return
	}
	if limit <= 0 {
		limit = -1 // SQLite knows no OFFSET without a LIMIT
	}
	s.add(" LIMIT ")
	s.arg(value.OfInt(int64(limit)))
	if offset > 0 {
		s.add(" OFFSET ")
		s.arg(value.OfInt(int64(offset)))
	}
}

// Select implements store.Reader.
func (r *reader) Select(e *schema.Entity, q store.Query) (rows []store.Row, err error) {
	c, err := r.use()
	if err != nil {
		return nil, err
	}
	if q.After != nil && len(q.After) != len(q.Sort)+1 {
		return nil, fmt.Errorf("select from %s: a keyset of %d cells for %d sort keys and the id", e.Table, len(q.After), len(q.Sort))
	}
	p := r.store.plan(e)
	s := selection{sql: c.scratch[:0]}
	s.add("SELECT ")
	for i, column := range p.columns {
		if i > 0 {
			s.add(", ")
		}
		s.add(column)
	}
	s.add(" FROM ", p.table)
	s.where(p, q)
	s.order(p, q.Sort)
	s.limit(q.Limit, q.Offset)
	c.scratch = s.sql
	return r.rows(s, e)
}

// rows runs a selection of whole rows.
func (r *reader) rows(s selection, e *schema.Entity) (rows []store.Row, err error) {
	st, err := r.conn.stmt(s.sql)
	if err != nil {
		return nil, r.failed("select from", e.Table, err)
	}
	defer func() { err = r.settle("select from", e.Table, st, err) }()
	if err := bindAll(st, s.args); err != nil {
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
	p := r.store.plan(e)
	s := selection{sql: c.scratch[:0]}
	s.add("SELECT count(*) FROM ", p.table)
	s.where(p, store.Query{Where: q.Where, Deleted: q.Deleted})
	c.scratch = s.sql
	st, err := c.stmt(s.sql)
	if err != nil {
		return 0, r.failed("count", e.Table, err)
	}
	defer func() { err = r.settle("count", e.Table, st, err) }()
	if err := bindAll(st, s.args); err != nil {
		return 0, err
	}
	if st.Step() {
		n = st.ColumnInt64(0)
	}
	return n, nil
}
