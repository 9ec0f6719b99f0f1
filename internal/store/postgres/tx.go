package postgres

import (
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/tables"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// tx implements store.Tx.
type tx struct {
	reader
	patient bool               // no write is put off
	writes  int                // so far
	numbers map[*plan]*numbers // drawn ahead
	pending []*store.LogRow    // appended, and not sent yet
	logged  []*store.LogRow    // appended and sent
	queued  []*store.Delivery  // for the queue, and not sent yet
}

var _ store.Tx = (*tx)(nil)

// Insert implements store.Tx. A conflict is no error to PostgreSQL, so that the
// transaction stands and the work may go on.
func (t *tx) Insert(e *schema.Entity, row store.Row) error {
	p := t.store.plan(e)
	if len(row) != len(e.Fields) {
		return fmt.Errorf("insert into %s: %d cells for %d fields", e.Table, len(row), len(e.Fields))
	}
	drawing := row[e.ID].IsNull()
	if drawing && !p.Draws {
		return fmt.Errorf("insert into %s: the id is NULL", e.Table)
	}
	if err := p.fits(row, p.All()); err != nil {
		return fmt.Errorf("insert into %s: %w", e.Table, err)
	}
	if t.later() {
		return t.insertLater(p, row, drawing)
	}
	if drawing {
		return t.draw(p, row)
	}
	if p.Draws {
		t.before = append(t.before, p.moveOn(row))
	}
	n, err := t.query("insert into "+e.Table, p.insert, cells(row), nil)
	if err == nil && n == 0 {
		return t.conflict(p, row)
	}
	return p.tooLong(row, p.All(), err)
}

// insertLater puts an insert off. A key that the database draws is drawn ahead.
func (t *tx) insertLater(p *plan, row store.Row, drawing bool) error {
	if drawing {
		key, ok, err := t.number(p)
		if err != nil {
			return err
		}
		if !ok {
			return t.draw(p, row)
		}
		row[p.Entity.ID] = key
	}
	insert := statement{sql: p.insert, args: cells(row), one: true}
	if p.Draws && !drawing {
		return t.putOff(p.moveOn(row), insert)
	}
	return t.putOff(insert)
}

// moveOn moves the sequence past a key that is given.
func (p *plan) moveOn(row store.Row) statement {
	return statement{sql: p.advance, args: []any{row[p.Entity.ID].Int()}}
}

// draw inserts a row whose id the database draws.
func (t *tx) draw(p *plan, row store.Row) error {
	e := p.Entity
	rest := make([]value.Value, 0, len(row))
	for i, v := range row {
		if i != e.ID {
			rest = append(rest, v)
		}
	}
	var id int64
	n, err := t.query("insert into "+e.Table, p.insertDrawn, cells(rest), func(rows pgx.Rows) error { return rows.Scan(&id) })
	switch {
	case err != nil:
		return p.tooLong(row, p.All(), err)
	case n == 0:
		return t.conflict(p, row)
	}
	row[e.ID] = value.OfInt(id)
	return usedUp(e, id)
}

func usedUp(e *schema.Entity, id int64) error {
	if e.Fields[e.ID].Type == value.Integer && id > math.MaxInt32 {
		return fmt.Errorf("insert into %s: the numbers of an int id are used up; declare the id as bigint", e.Table)
	}
	return nil
}

// conflict finds the field whose value another row has.
func (t *tx) conflict(p *plan, row store.Row) error {
	found := &store.ConflictError{Entity: p.Entity, Field: -1}
	fields := append([]int{p.Entity.ID}, p.unique...)
	s := p.Taken(row, fields)
	_, err := t.query("insert into "+p.Entity.Table, string(s.SQL), cells(s.Args), func(rows pgx.Rows) error {
		for i, raw := range rows.RawValues() {
			if raw[0] != 0 && found.Field < 0 {
				found.Field = fields[i]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return found
}

// Update implements store.Tx.
func (t *tx) Update(e *schema.Entity, row store.Row, fields []int) error {
	if len(fields) == 0 {
		return nil
	}
	p := t.store.plan(e)
	if err := p.fits(row, fields); err != nil {
		return fmt.Errorf("update %s: %w", e.Table, err)
	}
	s := p.Update(nil, row, fields)
	switch {
	case t.later():
		return t.putOff(statement{sql: string(s.SQL), args: cells(s.Args), one: true})
	case p.indexed(fields):
		return p.tooLong(row, fields, t.guarded(p, string(s.SQL), cells(s.Args)))
	}
	return p.tooLong(row, fields, t.changed(t.query("update "+e.Table, string(s.SQL), cells(s.Args), nil)))
}

// indexed reports whether a change of the fields can meet a unique constraint.
func (p *plan) indexed(fields []int) bool {
	for _, f := range fields {
		if p.Entity.Fields[f].Unique || f == p.Entity.ID {
			return true
		}
	}
	return false
}

func (t *tx) changed(n int64, err error) error {
	if err == nil && n == 0 {
		return store.ErrNotFound
	}
	return err
}

// guarded runs an update behind a savepoint, so that a conflict leaves the
// transaction standing.
func (t *tx) guarded(p *plan, sql string, args []any) error {
	t.before = append(t.before, statement{sql: "SAVEPOINT work"})
	n, err := t.query("update "+p.Entity.Table, sql, args, nil)
	if name, ok := t.constraint(err); ok {
		t.lost = nil
		if _, err := t.query("roll back to a savepoint", "ROLLBACK TO SAVEPOINT work", nil, nil); err != nil {
			return err
		}
		return &store.ConflictError{Entity: p.Entity, Field: p.conflicting(name)}
	}
	if err == nil {
		t.before = append(t.before, statement{sql: "RELEASE SAVEPOINT work"})
	}
	return t.changed(n, err)
}

// conflicting returns the field that a unique index of rowcast's is on.
func (p *plan) conflicting(constraint string) int {
	for _, f := range p.unique {
		if tables.IndexName(p.Entity, sqltext.Index{Fields: []int{f}, Unique: true}) == constraint {
			return f
		}
	}
	return -1
}

// Delete implements store.Tx.
func (t *tx) Delete(e *schema.Entity, id value.Value) error {
	remove := t.store.plan(e).Delete
	if t.later() {
		return t.putOff(statement{sql: remove, args: []any{cell{id}}, one: true})
	}
	return t.changed(t.query("delete from "+e.Table, remove, []any{cell{id}}, nil))
}
