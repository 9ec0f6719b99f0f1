package sqlite

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// createTable returns the table of an entity. A given id is the table itself
// (WITHOUT ROWID: one tree to write instead of two); a drawn one is the rowid,
// with AUTOINCREMENT so that a number is never used for another row.
func createTable(e *schema.Entity) string {
	var b strings.Builder
	b.WriteString("CREATE TABLE " + quote(e.Table) + " (")
	options := " STRICT, WITHOUT ROWID"
	for i, f := range e.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote(f.Name) + " " + sqlType(f))
		if i != e.ID {
			continue
		}
		b.WriteString(" PRIMARY KEY")
		if f.Type.Class() == value.Int {
			b.WriteString(" AUTOINCREMENT")
			options = " STRICT"
		}
	}
	return b.String() + ")" + options
}

// sqlType returns the column type that keeps a field's values exactly.
func sqlType(f *schema.Field) string {
	switch f.Type.Class() {
	case value.Int:
		return "INTEGER"
	case value.Float:
		return "REAL"
	case value.Blob:
		return "BLOB"
	default:
		return "TEXT"
	}
}

// literal returns the SQL of a cell, for DDL, which takes no parameters.
func literal(v value.Value) string {
	switch v.Class() {
	case value.Int:
		return strconv.FormatInt(v.Int(), 10)
	case value.Float:
		return strconv.FormatFloat(v.Float(), 'e', -1, 64)
	case value.Text:
		return "'" + strings.ReplaceAll(v.Text(), "'", "''") + "'"
	case value.Blob:
		return "X'" + hex.EncodeToString([]byte(v.Text())) + "'"
	default:
		return "NULL"
	}
}

// index is one index the schema asks for.
type index struct {
	name  string
	ddl   string
	field int // of a unique one
}

func wantedIndexes(e *schema.Entity, further [][]int) []index {
	var list []index
	for i, f := range e.Fields {
		if f.Unique && i != e.ID {
			ix := newIndex(e, "UNIQUE ", uniqueSuffix, []int{i})
			ix.field = i
			list = append(list, ix)
		}
	}
	for _, fields := range e.Indexes {
		list = append(list, newIndex(e, "", "", fields))
	}
	for _, fields := range further {
		if !served(e, fields) {
			list = append(list, newIndex(e, "", "", fields))
		}
	}
	return list
}

// served reports that the key or a declared index already begins with the fields.
func served(e *schema.Entity, fields []int) bool {
	if len(fields) == 1 && (fields[0] == e.ID || e.Fields[fields[0]].Unique) {
		return true
	}
	for _, ix := range e.Indexes {
		if len(ix) >= len(fields) && slices.Equal(ix[:len(fields)], fields) {
			return true
		}
	}
	return false
}

const uniqueSuffix = ":unique"

func newIndex(e *schema.Entity, kind, suffix string, fields []int) index {
	var names, columns []string
	for _, i := range fields {
		names = append(names, e.Fields[i].Name)
		columns = append(columns, quote(e.Fields[i].Name))
	}
	name := e.Table + ":" + strings.Join(names, ",") + suffix
	return index{name: name, ddl: "CREATE " + kind + "INDEX " + quote(name) + " ON " + quote(e.Table) + " (" + strings.Join(columns, ", ") + ")"}
}

func isUniqueName(table, name string) bool {
	return strings.HasPrefix(name, table+":") && strings.HasSuffix(name, uniqueSuffix)
}
