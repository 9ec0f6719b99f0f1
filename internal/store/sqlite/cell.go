package sqlite

import (
	"fmt"
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// bind binds a cell exactly.
func bind(st *sqlite3.Stmt, param int, v value.Value) error {
	switch v.Class() {
	case value.Null:
		return st.BindNull(param)
	case value.Int:
		return st.BindInt64(param, v.Int())
	case value.Float:
		if math.IsNaN(v.Float()) { // SQLite would keep NULL
			return fmt.Errorf("parameter %d is not a number", param)
		}
		return st.BindFloat(param, v.Float())
	case value.Text:
		return st.BindText(param, v.Text())
	case value.Blob:
		return st.BindBlob(param, []byte(v.Text()))
	}
	return fmt.Errorf("parameter %d is not at hand", param)
}

func bindAll(st *sqlite3.Stmt, vs []value.Value) error {
	for i, v := range vs {
		if err := bind(st, i+1, v); err != nil {
			return err
		}
	}
	return nil
}

// readRow decodes the current row of a statement that selects the entity's
// fields in order. A cell of a foreign class was written past rowcast: it is
// reported, because any reading of it would be a guess.
func (c *conn) readRow(st *sqlite3.Stmt, e *schema.Entity) (store.Row, error) {
	cells, err := c.raw(st, len(e.Fields))
	if err != nil {
		return nil, err
	}
	row := make(store.Row, len(e.Fields))
	for i, cell := range cells {
		if cell == nil {
			continue
		}
		class := e.Fields[i].Type.Class()
		v, ok := cellOf(cell, class, st.ColumnType(i) == sqlite3.TEXT)
		if !ok {
			return nil, fmt.Errorf("table %s, column %s holds a %v where the schema says %s: correct the row in the database",
				e.Table, e.Fields[i].Name, st.ColumnType(i), e.Fields[i].Type)
		}
		row[i] = v
	}
	return row, nil
}

// raw reads n columns at once. Texts and blobs are valid until the next step.
func (c *conn) raw(st *sqlite3.Stmt, n int) ([]any, error) {
	if cap(c.cells) < n {
		c.cells = make([]any, n)
	}
	cells := c.cells[:n]
	return cells, st.ColumnsRaw(cells...)
}

func cellOf(cell any, class value.Class, text bool) (value.Value, bool) {
	switch cell := cell.(type) {
	case int64:
		return value.OfInt(cell), class == value.Int
	case float64:
		return value.OfFloat(cell), class == value.Float
	case []byte:
		if text {
			return value.OfText(string(cell)), class == value.Text
		}
		return value.OfBlob(cell), class == value.Blob
	}
	return value.Value{}, false
}
