package predicate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// testDialect is SQLite's, as a driver renders it.
type testDialect struct{}

func (testDialect) Column(f *schema.Field) string {
	return `"` + strings.ReplaceAll(f.Name, `"`, `""`) + `"`
}
func (testDialect) Placeholder(n int) string { return fmt.Sprintf("?%d", n) }
func (testDialect) Like(column string, p *Pattern, bind func(value.Value) string) string {
	return fmt.Sprintf("rowcast_like(%s, %s, %d)", bind(value.OfText(p.Source())), column, map[bool]int{false: 0, true: 1}[p.Fold()])
}
func (testDialect) Has(kind, column string, n int) string {
	// Over text, not blobs: SQLite's substr gives NULL for an empty blob. For
	// UTF-8 it is the same, since no code point begins inside another.
	switch kind {
	case "prefix":
		return fmt.Sprintf("substr(%s, 1, length(?%d)) = ?%d", column, n, n)
	case "suffix":
		return fmt.Sprintf("substr(%s, length(%s) - length(?%d) + 1) = ?%d", column, column, n, n)
	default:
		return fmt.Sprintf("instr(%s, ?%d) > 0", column, n)
	}
}

// database is one table of one entity in a real SQLite and a real PostgreSQL.
type database struct {
	*sqlite3.Conn
	entity   *schema.Entity
	postgres *postgres
}

func openDatabase(t testing.TB, e *schema.Entity, rows [][]value.Value) *database {
	t.Helper()
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := conn.CreateFunction("rowcast_like", 3, sqlite3.DETERMINISTIC|sqlite3.INNOCUOUS, sqlLike); err != nil {
		t.Fatal(err)
	}
	columns := []string{}
	for _, f := range e.Fields {
		kind := map[value.Class]string{value.Int: "INTEGER", value.Float: "REAL", value.Text: "TEXT", value.Blob: "BLOB"}[f.Type.Class()]
		columns = append(columns, testDialect{}.Column(f)+" "+kind)
	}
	if err := conn.Exec("CREATE TABLE t (" + strings.Join(columns, ", ") + ")"); err != nil {
		t.Fatal(err)
	}
	db := &database{conn, e, openPostgres(t, e, nil)}
	db.insert(t, rows)
	return db
}

// empty removes the rows.
func (db *database) empty(t testing.TB) {
	t.Helper()
	if err := db.Exec("DELETE FROM t"); err != nil {
		t.Fatal(err)
	}
	db.postgres.exec(t, "DELETE FROM "+db.postgres.table)
}

func sqlLike(ctx sqlite3.Context, args ...sqlite3.Value) {
	if args[1].Type() == sqlite3.NULL {
		return
	}
	pattern, ok := ctx.GetAuxData(0).(*Pattern)
	if !ok {
		pattern = CompileLike(args[0].Text(), args[2].Bool())
		ctx.SetAuxData(0, pattern)
	}
	ctx.ResultBool(pattern.Match(args[1].Text()))
}

// insert writes the rows, in order, with rowids from 1.
func (db *database) insert(t testing.TB, rows [][]value.Value) {
	t.Helper()
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(db.entity.Fields)), ", ")
	stmt, _, err := db.Prepare("INSERT INTO t VALUES (" + marks + ")")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stmt.Close() }() // its error is that of its last run
	for _, row := range rows {
		bindAll(t, stmt, row)
		if err := stmt.Exec(); err != nil {
			t.Fatal(err)
		}
	}
	db.postgres.insert(t, rows)
}

// truths asks SQLite for the predicate's truth of every row.
func (db *database) truths(t testing.TB, p *Predicate) []Truth {
	t.Helper()
	text, args := p.SQL(testDialect{}, nil)
	stmt, _, err := db.Prepare("SELECT (" + text + ") FROM t ORDER BY rowid")
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, text)
	}
	defer func() { _ = stmt.Close() }() // its error is that of its last run
	bindAll(t, stmt, args)
	var out []Truth
	for stmt.Step() {
		switch {
		case stmt.ColumnType(0) == sqlite3.NULL:
			out = append(out, Maybe)
		case stmt.ColumnInt64(0) == 1:
			out = append(out, True)
		default:
			out = append(out, False)
		}
	}
	if err := stmt.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func bindAll(t testing.TB, stmt *sqlite3.Stmt, args []value.Value) {
	t.Helper()
	for i, v := range args {
		var err error
		switch v.Class() {
		case value.Null:
			err = stmt.BindNull(i + 1)
		case value.Int:
			err = stmt.BindInt64(i+1, v.Int())
		case value.Float:
			err = stmt.BindFloat(i+1, v.Float())
		case value.Text:
			err = stmt.BindText(i+1, v.Text())
		default:
			err = stmt.BindBlob(i+1, []byte(v.Text()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// sameTruths fails unless memory, SQLite and PostgreSQL give every row the same truth.
func sameTruths(t testing.TB, db *database, rows [][]value.Value, p *Predicate) {
	t.Helper()
	text, args := p.SQL(testDialect{}, nil)
	for engine, got := range map[string][]Truth{"SQLite": db.truths(t, p), "PostgreSQL": db.postgres.truths(t, p)} {
		if len(got) != len(rows) {
			t.Fatalf("%s judged %d rows of %d", engine, len(got), len(rows))
		}
		for i, row := range rows {
			if want := p.Eval(row); got[i] != want {
				t.Fatalf("row %v\n%s %v\n%s says %s, memory says %s", row, text, args, engine, got[i], want)
			}
		}
	}
}
