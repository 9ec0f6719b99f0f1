package sqlite

import (
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// tx implements store.Tx on the writer's connection.
type tx struct {
	reader
	logged []*store.LogRow
}

var _ store.Tx = (*tx)(nil)

// Insert implements store.Tx.
func (t *tx) Insert(e *schema.Entity, row store.Row) (err error) {
	c, err := t.use()
	if err != nil {
		return err
	}
	p := t.store.plan(e)
	if len(row) != len(p.columns) {
		return fmt.Errorf("insert into %s: %d cells for %d fields", e.Table, len(row), len(p.columns))
	}
	if row[e.ID].IsNull() && !p.drawn {
		return fmt.Errorf("insert into %s: the id is NULL", e.Table)
	}
	st, err := c.stmtOf(p.insert)
	if err != nil {
		return t.failed("insert into", e.Table, err)
	}
	if err := bindAll(st, row); err != nil {
		return fmt.Errorf("insert into %s: %w", e.Table, err)
	}
	if err := st.Exec(); err != nil {
		return t.refused("insert into", e, err)
	}
	if row[e.ID].IsNull() {
		return t.drew(e, row)
	}
	return nil
}

// drew sets the id that SQLite drew.
func (t *tx) drew(e *schema.Entity, row store.Row) error {
	id := t.conn.db.LastInsertRowID()
	if e.Fields[e.ID].Type == value.Integer && id > math.MaxInt32 {
		return fmt.Errorf("insert into %s: the numbers of an int id are used up; declare the id as bigint", e.Table)
	}
	row[e.ID] = value.OfInt(id)
	return nil
}

// Update implements store.Tx.
func (t *tx) Update(e *schema.Entity, row store.Row, fields []int) error {
	c, err := t.use()
	if err != nil || len(fields) == 0 {
		return err
	}
	p := t.store.plan(e)
	s := selection{sql: c.scratch[:0]}
	s.add("UPDATE ", p.table, " SET ")
	for i, f := range fields {
		if i > 0 {
			s.add(", ")
		}
		s.add(p.columns[f], " = ?")
	}
	s.add(" WHERE ", p.id, " = ?")
	c.scratch = s.sql
	st, err := c.stmt(s.sql)
	if err != nil {
		return t.failed("update", e.Table, err)
	}
	for i, f := range fields {
		if err := bind(st, i+1, row[f]); err != nil {
			return fmt.Errorf("update %s, field %s: %w", e.Table, e.Fields[f].Name, err)
		}
	}
	return t.change("update", e, st, len(fields)+1, row[e.ID])
}

// Delete implements store.Tx.
func (t *tx) Delete(e *schema.Entity, id value.Value) error {
	c, err := t.use()
	if err != nil {
		return err
	}
	st, err := c.stmtOf(t.store.plan(e).remove)
	if err != nil {
		return t.failed("delete from", e.Table, err)
	}
	return t.change("delete from", e, st, 1, id)
}

// change runs a statement on the one row with that id.
func (t *tx) change(verb string, e *schema.Entity, st *sqlite3.Stmt, param int, id value.Value) error {
	if err := bind(st, param, id); err != nil {
		return fmt.Errorf("%s %s, id: %w", verb, e.Table, err)
	}
	if err := st.Exec(); err != nil {
		return t.refused(verb, e, err)
	}
	if t.conn.db.Changes() == 0 {
		return store.ErrNotFound
	}
	return nil
}

// refused turns a unique constraint's error into a conflict.
func (t *tx) refused(verb string, e *schema.Entity, err error) error {
	if isUnique(err) {
		return &store.ConflictError{Entity: e, Field: conflicting(e, err.Error())}
	}
	return t.failed(verb, e.Table, err)
}
