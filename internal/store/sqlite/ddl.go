package sqlite

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// createTable returns the table of an entity. A given id is the table itself
// (WITHOUT ROWID: one tree to write instead of two); a drawn one is the rowid,
// with AUTOINCREMENT so that a number is never used for another row.
func createTable(t *sqltext.Table) string {
	if t.Draws {
		return t.Create(sqlType, " PRIMARY KEY AUTOINCREMENT") + " STRICT"
	}
	return t.Create(sqlType, " PRIMARY KEY") + " STRICT, WITHOUT ROWID"
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

// createIndex returns the index's name and the statement that makes it.
func createIndex(t *sqltext.Table, ix sqltext.Index) (name, ddl string) {
	base, suffix := ix.Name(t.Entity)
	name, kind := base+suffix, "INDEX "
	if ix.Unique {
		kind = "UNIQUE INDEX "
	}
	return name, "CREATE " + kind + sqltext.Quote(name) + " ON " + t.Name + " (" + t.Keys(ix) + ")"
}

func isUniqueName(table, name string) bool {
	return strings.HasPrefix(name, table+":") && strings.HasSuffix(name, sqltext.UniqueSuffix)
}
