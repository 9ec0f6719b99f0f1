package sqlite

import (
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

var foreignEntity = newTestEntity("book", "books",
	schema.Field{Name: "id", Type: value.String},
	schema.Field{Name: "title", Type: value.String},
	schema.Field{Name: "pages", Type: value.Integer},
	schema.Field{Name: "price", Type: value.Double})

// Tables that another program made are judged by what they would do to a value.
func TestForeignTables(t *testing.T) {
	for _, c := range []struct {
		name, ddl string
		refused   []string // what the refusal mentions; nil: taken
		warns     string
	}{
		{"of equal types under other names", `CREATE TABLE books (id VARCHAR(26) PRIMARY KEY, title NVARCHAR(80), pages BIGINT, price DOUBLE)`, nil, ""},
		{"with names in another case", `CREATE TABLE Books (ID TEXT PRIMARY KEY, Title TEXT, PAGES INT, Price REAL)`, nil, ""},
		{"with a unique id that is no key", `CREATE TABLE books (id TEXT UNIQUE, title TEXT, pages INT, price REAL)`, nil, ""},
		{"without an id", `CREATE TABLE books (isbn TEXT PRIMARY KEY, title TEXT)`, []string{"books", "no column id"}, ""},
		{"with an id that may repeat", `CREATE TABLE books (id TEXT, title TEXT, pages INT, price REAL)`, []string{"not unique", "CREATE UNIQUE INDEX"}, ""},
		{"with an id unique in a pair alone", `CREATE TABLE books (id TEXT, title TEXT, pages INT, price REAL, PRIMARY KEY (id, title))`, []string{"not unique"}, ""},
		{"with a column of another type", `CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT, pages TEXT, price REAL)`, []string{"pages", "ALTER TABLE", "CAST"}, ""},
		{"with an untyped column", `CREATE TABLE books (id TEXT PRIMARY KEY, title, pages INT, price REAL)`, []string{"title", "untyped"}, ""},
		{"that folds case", `CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT COLLATE NOCASE, pages INT, price REAL)`, []string{"title", "NOCASE"}, ""},
		{"that is a view", `CREATE VIEW books AS SELECT 'x' AS id`, []string{"books", "view"}, ""},
		{"with a column that must be filled", `CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT, pages INT, price REAL, shelf TEXT NOT NULL)`, nil, "shelf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, Config{Path: filepath.Join(t.TempDir(), "t.db")})
			if err := s.administer(t.Context(), func(c2 *conn) error { return c2.db.Exec(c.ddl) }); err != nil {
				t.Fatal(err)
			}
			report, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{foreignEntity}})
			var refused *store.RefusedError
			if c.refused == nil {
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(report.Warnings, "\n"); !strings.Contains(got, c.warns) || (c.warns == "" && got != "") {
					t.Errorf("warnings %q, want one about %q", got, c.warns)
				}
				return
			}
			if !errors.As(err, &refused) {
				t.Fatalf("error = %v, want a refusal", err)
			}
			for _, want := range c.refused {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("refusal %q does not mention %q", err, want)
				}
			}
		})
	}
}

func TestRefusalsStandTogetherAndTheirStatementsWork(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "t.db")})
	run := func(sql string) {
		t.Helper()
		if err := s.administer(t.Context(), func(c *conn) error { return c.db.Exec(sql) }); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run(`CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT COLLATE NOCASE, pages TEXT, price REAL); INSERT INTO books VALUES ('a', 'T', '12', 1.5)`)
	plan := store.Plan{Entities: []*schema.Entity{foreignEntity}}
	_, err := s.Migrate(t.Context(), plan)
	var refused *store.RefusedError
	if !errors.As(err, &refused) || len(refused.Problems) != 2 {
		t.Fatalf("error = %v, want both columns refused", err)
	}
	for _, p := range refused.Problems {
		_, statements, _ := strings.Cut(p, "run: ")
		run(statements)
	}
	if _, err := s.Migrate(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	err = s.View(t.Context(), func(r store.Reader) error {
		row, err := r.Get(foreignEntity, value.OfText("a"))
		if err == nil && (row[1] != value.OfText("T") || row[2] != value.OfInt(12)) {
			t.Errorf("row = %v, want T and 12 pages", row)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCellOfAForeignClassIsReported(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "t.db")})
	if err := s.administer(t.Context(), func(c *conn) error {
		return c.db.Exec(`CREATE TABLE books (id TEXT PRIMARY KEY, title TEXT, pages INT, price REAL); INSERT INTO books VALUES ('a', 't', 'many', 1)`)
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{foreignEntity}}); err != nil {
		t.Fatal(err)
	}
	err := s.View(t.Context(), func(r store.Reader) error {
		_, err := r.Get(foreignEntity, value.OfText("a"))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "pages") || strings.Contains(err.Error(), "many") {
		t.Errorf("error = %v, want one that names the column and not the value", err)
	}
}

func TestStatementCacheStaysBounded(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	s := openOrders(t, Config{Readers: 1})
	var kept int
	err := s.View(t.Context(), func(r store.Reader) error {
		for n := range 2 * statements {
			if err := r.(*reader).conn.exec("SELECT " + strconv.Itoa(n)); err != nil {
				return err
			}
		}
		kept = len(r.(*reader).conn.cache)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if kept > statements {
		t.Errorf("%d statements kept, want at most %d", kept, statements)
	}
	wantRows(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t, ignore)
}
