package sqltext

import (
	"fmt"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// Statement is SQL with numbered parameters, and their values.
type Statement struct {
	SQL  []byte
	Args []value.Value

	dialect predicate.Dialect
}

// begin starts a statement in the space of another that is no longer needed.
func (t *Table) begin(space []byte) *Statement {
	return &Statement{SQL: space[:0], dialect: t.dialect}
}

func (s *Statement) add(texts ...string) {
	for _, t := range texts {
		s.SQL = append(s.SQL, t...)
	}
}

// bind binds a value and writes its placeholder.
func (s *Statement) bind(v value.Value) {
	s.Args = append(s.Args, v)
	s.add(s.dialect.Placeholder(len(s.Args)))
}

// Select returns the statement of a query for whole rows, written into space.
func (t *Table) Select(space []byte, q store.Query) (*Statement, error) {
	if q.After != nil && len(q.After) != len(q.Sort)+1 {
		return nil, fmt.Errorf("select from %s: a keyset of %d cells for %d sort keys and the id", t.Entity.Table, len(q.After), len(q.Sort))
	}
	s := t.begin(space)
	s.add("SELECT ", t.List, " FROM ", t.Name)
	s.where(t, q)
	s.order(t, q.Sort)
	s.limit(q.Limit, q.Offset)
	return s, nil
}

// Count returns the statement that counts what the query's Where and Deleted select.
func (t *Table) Count(space []byte, q store.Query) *Statement {
	s := t.begin(space)
	s.add("SELECT count(*) FROM ", t.Name)
	s.where(t, store.Query{Where: q.Where, Deleted: q.Deleted})
	return s
}

// Update returns the statement that sets the named cells of the row with that id.
func (t *Table) Update(space []byte, row store.Row, fields []int) *Statement {
	s := t.begin(space)
	s.add("UPDATE ", t.Name, " SET ")
	for i, f := range fields {
		if i > 0 {
			s.add(", ")
		}
		s.add(t.Columns[f], " = ")
		s.bind(row[f])
	}
	s.add(" WHERE ", t.ID, " = ")
	s.bind(row[t.Entity.ID])
	return s
}

// Taken returns the statement that answers, for each of the fields, whether a
// row has the given one's value there.
func (t *Table) Taken(row store.Row, fields []int) *Statement {
	s := t.begin(nil)
	for i, f := range fields {
		s.add([]string{"SELECT ", ", "}[min(i, 1)], "EXISTS (SELECT 1 FROM ", t.Name, " WHERE ", t.Columns[f], " = ")
		s.bind(row[f])
		s.add(")")
	}
	return s
}

func (s *Statement) where(t *Table, q store.Query) {
	glue := " WHERE "
	if seen := t.seen(q.Deleted); seen != "" {
		s.add(glue, seen)
		glue = " AND "
	}
	for _, p := range q.Where {
		text, args := p.SQL(s.dialect, s.Args)
		s.Args = args
		s.add(glue, "(", text, ")")
		glue = " AND "
	}
	if q.After != nil {
		s.add(glue)
		s.after(t, q.Sort, q.After)
	}
}

// after writes the condition of the rows behind the one whose keys are given:
// key by key, "behind in this one, or equal in it and behind in the rest". A
// NULL is last in either direction, so nothing is behind it in its own key.
func (s *Statement) after(t *Table, sort []store.SortKey, last []value.Value) {
	if len(sort) == 0 {
		s.add(t.ID, " > ")
		s.bind(last[0])
		return
	}
	column, v := t.Columns[sort[0].Field], last[0]
	if v.IsNull() {
		s.add("(", column, " IS NULL AND ")
		s.after(t, sort[1:], last[1:])
		s.add(")")
		return
	}
	op := " > "
	if sort[0].Desc {
		op = " < "
	}
	s.add("(", column, op)
	s.bind(v)
	s.add(" OR ", column, " IS NULL OR (", column, " = ")
	s.bind(v)
	s.add(" AND ")
	s.after(t, sort[1:], last[1:])
	s.add("))")
}

func (s *Statement) order(t *Table, sort []store.SortKey) {
	s.add(" ORDER BY ")
	for _, k := range sort {
		direction := " NULLS LAST, "
		if k.Desc {
			direction = " DESC NULLS LAST, "
		}
		s.add(t.Columns[k.Field], direction)
	}
	s.add(t.ID)
}

// unlimited stands for no limit where an OFFSET needs one before it: more rows
// than a table can have, and no overflow where the two are added.
const unlimited = 1 << 62

func (s *Statement) limit(limit, offset int) {
	if limit <= 0 && offset <= 0 {
		return
	}
	if limit <= 0 {
		limit = unlimited
	}
	s.add(" LIMIT ")
	s.bind(value.OfInt(int64(limit)))
	if offset > 0 {
		s.add(" OFFSET ")
		s.bind(value.OfInt(int64(offset)))
	}
}
