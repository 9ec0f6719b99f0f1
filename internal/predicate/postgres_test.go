package predicate

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// postgresDialect is PostgreSQL's, as a driver renders it.
type postgresDialect struct{ testDialect }

func (postgresDialect) Placeholder(n int) string { return "$" + strconv.Itoa(n) }

func (d postgresDialect) Like(column string, p *Pattern, bind func(value.Value) string) string {
	pattern, from, to := p.StandardLike()
	text := bind(value.OfText(pattern))
	return fmt.Sprintf("translate(%s, %s, %s) LIKE %s", column, bind(value.OfText(from)), bind(value.OfText(to)), text)
}

func (d postgresDialect) Has(kind, column string, n int) string {
	switch kind {
	case "prefix":
		return fmt.Sprintf("starts_with(%s, $%d::text)", column, n)
	case "suffix":
		return fmt.Sprintf("right(%s, length($%d::text)) = $%d::text", column, n, n)
	}
	return fmt.Sprintf("strpos(%s, $%d::text) > 0", column, n)
}

// postgres is a table in a real PostgreSQL.
type postgres struct {
	*pgx.Conn
	table string
}

var postgresTables atomic.Int64

// openPostgres makes a table with the rows, numbered in order.
func openPostgres(t testing.TB, e *schema.Entity, rows [][]value.Value) *postgres {
	t.Helper()
	config, err := pgx.ParseConfig(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec // each statement is another
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	columns := []string{"row_number bigint"}
	for _, f := range e.Fields {
		columns = append(columns, testDialect{}.Column(f)+" "+postgresType(f))
	}
	db := &postgres{conn, fmt.Sprint("t", postgresTables.Add(1))}
	db.exec(t, "CREATE TABLE "+db.table+" ("+strings.Join(columns, ", ")+")")
	db.insert(t, rows)
	return db
}

func postgresType(f *schema.Field) string {
	switch f.Type {
	case value.Boolean:
		return "boolean"
	case value.Timestamp, value.DateTime:
		return "timestamptz"
	default:
	}
	return map[value.Class]string{value.Int: "bigint", value.Float: "float8", value.Text: `text COLLATE "C"`, value.Blob: "bytea"}[f.Type.Class()]
}

func (db *postgres) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func (db *postgres) insert(t testing.TB, rows [][]value.Value) {
	t.Helper()
	batch := &pgx.Batch{}
	for i, row := range rows {
		marks := []string{strconv.Itoa(i)}
		for n := range row {
			marks = append(marks, "$"+strconv.Itoa(n+1))
		}
		batch.Queue("INSERT INTO "+db.table+" VALUES ("+strings.Join(marks, ", ")+")", arguments(row)...)
	}
	if err := db.SendBatch(t.Context(), batch).Close(); err != nil {
		t.Fatal(err)
	}
}

// argument is a value in whatever form PostgreSQL asks for.
type argument struct{ value.Value }

func (a argument) Int64Value() (pgtype.Int8, error) {
	return pgtype.Int8{Int64: a.Int(), Valid: !a.IsNull()}, nil
}
func (a argument) BoolValue() (pgtype.Bool, error) {
	return pgtype.Bool{Bool: a.Bool(), Valid: !a.IsNull()}, nil
}
func (a argument) Float64Value() (pgtype.Float8, error) {
	return pgtype.Float8{Float64: a.Float(), Valid: !a.IsNull()}, nil
}
func (a argument) TextValue() (pgtype.Text, error) {
	return pgtype.Text{String: a.Text(), Valid: !a.IsNull()}, nil
}
func (a argument) TimestamptzValue() (pgtype.Timestamptz, error) {
	return pgtype.Timestamptz{Time: time.UnixMicro(a.Int()).UTC(), Valid: !a.IsNull()}, nil
}
func (a argument) BytesValue() ([]byte, error) {
	if a.IsNull() {
		return nil, nil
	}
	return []byte(a.Text()), nil
}

func arguments(values []value.Value) []any {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = argument{v}
	}
	return args
}

// truths asks PostgreSQL for the predicate's truth of every row.
func (db *postgres) truths(t testing.TB, p *Predicate) (out []Truth) {
	t.Helper()
	text, args := p.SQL(postgresDialect{}, nil)
	rows, err := db.Query(t.Context(), "SELECT ("+text+")::boolean FROM "+db.table+" ORDER BY row_number", arguments(args)...)
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, text)
	}
	defer rows.Close()
	for rows.Next() {
		var answer *bool
		if err := rows.Scan(&answer); err != nil {
			t.Fatal(err)
		}
		if answer == nil {
			out = append(out, Maybe)
		} else {
			out = append(out, truth(*answer))
		}
	}
	if rows.Err() != nil {
		t.Fatalf("%v\n%.2000s", rows.Err(), text)
	}
	return out
}
