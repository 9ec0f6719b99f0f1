package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// selection builds one SELECT: the text with numbered parameters, and their values.
type selection struct {
	strings.Builder
	args []value.Value
}

func (s *selection) add(texts ...string) {
	for _, t := range texts {
		s.WriteString(t)
	}
}

// arg binds a value and writes its placeholder.
func (s *selection) arg(v value.Value) {
	s.args = append(s.args, v)
	s.WriteString(dialect{}.Placeholder(len(s.args)))
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
	if v.IsNull() {
		s.add("(", column, " IS NULL AND ")
		s.after(p, sort[1:], last[1:])
		s.add(")")
		return
	}
	op := " > "
	if sort[0].Desc {
		op = " < "
	}
	s.add("(", column, op)
	s.arg(v)
	s.add(" OR ", column, " IS NULL OR (", column, " = ")
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
	if limit > 0 {
		s.add(" LIMIT ")
		s.arg(value.OfInt(int64(limit)))
	}
	if offset > 0 {
		s.add(" OFFSET ")
		s.arg(value.OfInt(int64(offset)))
	}
}

// Select implements store.Reader. A transaction locks what it selects, in the
// order of the query: without sort keys, that of the ids.
func (r *reader) Select(e *schema.Entity, q store.Query) (rows []store.Row, err error) {
	if q.After != nil && len(q.After) != len(q.Sort)+1 {
		return nil, fmt.Errorf("select from %s: a keyset of %d cells for %d sort keys and the id", e.Table, len(q.After), len(q.Sort))
	}
	p := r.store.plan(e)
	var s selection
	s.add("SELECT ", p.list, " FROM ", p.table)
	s.where(p, q)
	s.order(p, q.Sort)
	s.limit(q.Limit, q.Offset)
	s.add(r.lock)
	return r.rows(e, "select from", s.String(), cells(s.args)...)
}

// rows runs a selection of whole rows.
func (r *reader) rows(e *schema.Entity, verb, sql string, args ...any) (rows []store.Row, err error) {
	_, err = r.query(verb+" "+e.Table, sql, args, func(found pgx.Rows) error {
		row, err := readRow(found, e)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Count implements store.Reader.
func (r *reader) Count(e *schema.Entity, q store.Query) (n int64, err error) {
	p := r.store.plan(e)
	var s selection
	s.add("SELECT count(*) FROM ", p.table)
	s.where(p, store.Query{Where: q.Where, Deleted: q.Deleted})
	_, err = r.query("count "+e.Table, s.String(), cells(s.args), func(rows pgx.Rows) error { return rows.Scan(&n) })
	return n, err
}

// Get implements store.Reader. A transaction locks the row.
func (r *reader) Get(e *schema.Entity, id value.Value) (store.Row, error) {
	rows, err := r.rows(e, "get from", r.store.plan(e).get+r.lock, cell{id})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, store.ErrNotFound
	}
	return rows[0], nil
}

// GetMany implements store.Reader.
func (r *reader) GetMany(e *schema.Entity, ids []value.Value) ([]store.Row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return r.rows(e, "get from", r.store.plan(e).getMany, list(e, ids))
}

// list makes one argument of the ids that can be the entity's.
func list(e *schema.Entity, ids []value.Value) any {
	if e.Fields[e.ID].Type.Class() == value.Int {
		numbers := make([]int64, 0, len(ids))
		for _, id := range ids {
			if id.Class() == value.Int {
				numbers = append(numbers, id.Int())
			}
		}
		return numbers
	}
	texts := make([]string, 0, len(ids))
	for _, id := range ids {
		if id.Class() == value.Text {
			texts = append(texts, id.Text())
		}
	}
	return texts
}
