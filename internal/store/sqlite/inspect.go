package sqlite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

func declared(c sqltext.Column) string {
	if c.Type == "" {
		return "untyped"
	}
	return c.Type
}

// keeps reports whether the column's affinity keeps every value of the field as
// it is. https://sqlite.org/datatype3.html, section 3.1.
func keeps(c sqltext.Column, f *schema.Field) bool {
	affinity := affinityOf(c.Type)
	switch f.Type.Class() {
	case value.Int:
		return affinity == "INTEGER" || affinity == "NUMERIC"
	case value.Float:
		return affinity == "REAL"
	case value.Text:
		return affinity == "TEXT"
	default:
		return affinity == "BLOB"
	}
}

func affinityOf(typ string) string {
	typ = strings.ToUpper(typ)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(typ, p) {
				return true
			}
		}
		return false
	}
	switch {
	case typ == "ANY":
		return "BLOB"
	case has("INT"):
		return "INTEGER"
	case has("CHAR", "CLOB", "TEXT"):
		return "TEXT"
	case typ == "", has("BLOB"):
		return "BLOB"
	case has("REAL", "FLOA", "DOUB"): //nolint:misspell // SQLite looks for these very letters
		return "REAL"
	}
	return "NUMERIC"
}

// inspect reads a table, or returns nil where there is none of that name.
func inspect(c *conn, name string) (*sqltext.Found, error) {
	t := &sqltext.Found{Columns: map[string]sqltext.Column{}}
	err := c.each(func(st *sqlite3.Stmt) { t.Kind = st.ColumnText(0) },
		`SELECT type FROM sqlite_schema WHERE lower(name) = lower(?) AND type IN ('table', 'view')`, name)
	if err != nil || t.Kind == "" {
		return nil, err
	}
	err = c.each(func(st *sqlite3.Stmt) {
		t.Order = append(t.Order, sqltext.Column{
			Name: st.ColumnText(0), Type: st.ColumnText(1),
			NotNull: st.ColumnBool(2), HasDefault: st.ColumnType(3) != sqlite3.NULL,
			Unique: st.ColumnInt(4) == 1 && st.ColumnInt(5) == 1,
		})
	}, `SELECT name, type, "notnull", dflt_value, pk, (SELECT count(*) FROM pragma_table_info(?1) WHERE pk > 0) FROM pragma_table_info(?1)`, name)
	if err != nil {
		return nil, err
	}
	if t.Kind == "table" {
		err = details(c, t, name)
	}
	for _, have := range t.Order {
		t.Columns[strings.ToLower(have.Name)] = have
	}
	return t, err
}

func details(c *conn, t *sqltext.Found, name string) error {
	unique := map[string]bool{}
	err := c.each(func(st *sqlite3.Stmt) { unique[st.ColumnText(0)] = true },
		`SELECT max(i.name) FROM pragma_index_list(?1) l, pragma_index_info(l.name) i
		WHERE l."unique" AND NOT l.partial GROUP BY l.name HAVING count(*) = 1`, name)
	if err != nil {
		return err
	}
	for i := range t.Order {
		have := &t.Order[i]
		have.Unique = have.Unique || unique[have.Name]
		_, have.Collation, _, _, _, err = c.db.TableColumnMetadata("main", name, have.Name)
		if err != nil {
			return fail("inspect "+name, err)
		}
	}
	return c.each(func(st *sqlite3.Stmt) { t.Rows = st.ColumnBool(0) },
		`SELECT EXISTS (SELECT 1 FROM `+sqltext.Quote(name)+`)`)
}

// indexNames returns the indexes of a table.
func indexNames(c *conn, name string) (names []string, err error) {
	err = c.each(func(st *sqlite3.Stmt) { names = append(names, st.ColumnText(0)) },
		`SELECT name FROM sqlite_schema WHERE type = 'index' AND lower(tbl_name) = lower(?)`, name)
	return names, err
}

// each runs a query and calls fn for its rows.
func (c *conn) each(fn func(*sqlite3.Stmt), sql string, texts ...string) error {
	st, _, err := c.db.Prepare(sql)
	if err != nil {
		return fail("inspect", fmt.Errorf("%s: %w", sql, err))
	}
	err = bindTexts(st, texts...)
	for err == nil && st.Step() {
		fn(st)
	}
	if err = errors.Join(err, st.Err(), st.Close()); err != nil {
		return fail("inspect", err)
	}
	return nil
}
