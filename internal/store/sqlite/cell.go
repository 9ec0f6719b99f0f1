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
	default:
		return fmt.Errorf("parameter %d is not at hand", param)
	}
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
func readRow(st *sqlite3.Stmt, e *schema.Entity) (store.Row, error) {
	row := make(store.Row, len(e.Fields))
	for i, f := range e.Fields {
		kind := st.ColumnType(i)
		switch want := f.Type.Class(); {
		case kind == sqlite3.NULL:
		case kind == sqlite3.INTEGER && want == value.Int:
			row[i] = value.OfInt(st.ColumnInt64(i))
		case kind == sqlite3.FLOAT && want == value.Float:
			row[i] = value.OfFloat(st.ColumnFloat(i))
		case kind == sqlite3.TEXT && want == value.Text:
			row[i] = value.OfText(st.ColumnText(i))
		case kind == sqlite3.BLOB && want == value.Blob:
			row[i] = value.OfBlob(st.ColumnRawBlob(i))
		default:
			return nil, fmt.Errorf("table %s, column %s holds a %v where the schema says %s: correct the row in the database",
				e.Table, f.Name, kind, f.Type)
		}
	}
	return row, st.Err()
}
