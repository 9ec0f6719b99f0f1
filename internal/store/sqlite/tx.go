package sqlite

import (
	"fmt"
	"math"

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
	table := t.store.table(e)
	if len(row) != len(e.Fields) {
		return fmt.Errorf("insert into %s: %d cells for %d fields", e.Table, len(row), len(e.Fields))
	}
	if row[e.ID].IsNull() && !table.Draws {
		return fmt.Errorf("insert into %s: the id is NULL", e.Table)
	}
	if err := table.Room(row, table.All()); err != nil {
		return err
	}
	st, err := c.stmtOf(table.Insert)
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
	table := t.store.table(e)
	if err := table.Room(row, fields); err != nil {
		return err
	}
	s := table.Update(c.scratch, row, fields)
	c.scratch = s.SQL
	return t.change("update", e, s.SQL, s.Args)
}

// Delete implements store.Tx.
func (t *tx) Delete(e *schema.Entity, id value.Value) error {
	c, err := t.use()
	if err != nil {
		return err
	}
	c.scratch = append(c.scratch[:0], t.store.table(e).Delete...)
	return t.change("delete from", e, c.scratch, []value.Value{id})
}

// change runs a statement on one row.
func (t *tx) change(verb string, e *schema.Entity, sql []byte, args []value.Value) error {
	st, err := t.conn.stmt(sql)
	if err != nil {
		return t.failed(verb, e.Table, err)
	}
	if err := bindAll(st, args); err != nil {
		return fmt.Errorf("%s %s: %w", verb, e.Table, err)
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
