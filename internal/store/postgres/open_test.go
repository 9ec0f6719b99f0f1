package postgres

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/tables"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func exec(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// indexed is item with an index and a unique field.
func indexed() *schema.Entity {
	return &schema.Entity{Name: "item", Table: "items", Indexes: [][]int{{1}}, Fields: []*schema.Field{
		{Name: "id", Type: value.String}, {Name: "n", Type: value.BigInt, Index: 1}, {Name: "code", Type: value.String, Unique: true, Index: 2},
	}}
}

// Instances that start together on an empty database, and again on one whose
// table wants indexes, do not disturb each other.
func TestInstancesMayStartTogether(t *testing.T) {
	url := pgtest.Database(t)
	for _, e := range []*schema.Entity{item, indexed()} {
		var group errgroup.Group
		for range 4 {
			group.Go(func() error {
				s, err := Open(t.Context(), Config{URL: url, Namespace: "shop", Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					return err
				}
				_, err = s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{e}})
				return errors.Join(err, s.Close())
			})
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// An index whose making was interrupted is there and unfit: it is made anew.
func TestAHalfMadeIndexIsMadeAnew(t *testing.T) {
	url := pgtest.Database(t)
	s := newInstance(t, url)
	db := connect(t, url)
	name := tables.IndexName(indexed(), sqltext.Index{Fields: []int{1}})
	exec(t, db, `CREATE INDEX "`+name+`" ON shop.items (n)`)
	exec(t, db, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'shop."`+name+`"'::regclass`)
	report, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{indexed()}})
	if err != nil || !strings.Contains(strings.Join(report.Created, " "), name) {
		t.Errorf("created %v, %v, want the index too", report.Created, err)
	}
	var valid bool
	if err := db.QueryRow(t.Context(), `SELECT indisvalid FROM pg_index WHERE indexrelid = 'shop."`+name+`"'::regclass`).Scan(&valid); err != nil || !valid {
		t.Errorf("the index is fit: %v, %v", valid, err)
	}
}

// A column that would round, cut or order otherwise is refused with the
// statement that converts it, and after the statement it is taken.
func TestForeignColumnsAreRefusedWithTheWayOut(t *testing.T) {
	for _, foreign := range []string{"integer", "numeric", "text", "double precision"} {
		url := pgtest.Database(t)
		s := open(t, Config{URL: url, Namespace: "shop"})
		db := connect(t, url)
		exec(t, db, `CREATE TABLE shop.items (id text COLLATE "C" PRIMARY KEY, n `+foreign+`)`)
		exec(t, db, `INSERT INTO shop.items VALUES ('a', '7')`)
		_, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{item}})
		var refused *store.RefusedError
		if !errors.As(err, &refused) {
			t.Fatalf("%s: %v, want a refusal", foreign, err)
		}
		_, statement, _ := strings.Cut(refused.Problems[0], "run: ")
		exec(t, db, statement)
		if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{item}}); err != nil {
			t.Errorf("%s, converted: %v", foreign, err)
		}
		err = s.View(t.Context(), func(r store.Reader) error {
			row, err := r.Get(item, value.OfText("a"))
			if err == nil && row[1] != value.OfInt(7) {
				t.Errorf("%s: %v", foreign, row)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// Stores of one URL share a pool and a listener, however many there are.
func TestStoresOfOneURLShareTheirConnections(t *testing.T) {
	url := pgtest.Database(t)
	cluster := NewCluster()
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		s, err := cluster.Open(t.Context(), Config{URL: url, Namespace: name, MaxConns: 4, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
	}
	var n int
	err := connect(t, url).QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'rowcast'").Scan(&n)
	if err != nil || n > 5 {
		t.Errorf("%d connections, %v, want 4 and one that listens", n, err)
	}
}

// What only speaks the protocol is refused by name; so is what is too old, of
// another encoding, or a standby.
func TestServersThatAreRefused(t *testing.T) {
	for _, version := range []string{
		"CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)", "PostgreSQL 11.2-YB-2.19.0.0-b0 on x86_64", "PostgreSQL 8.0.2 on i686, Redshift 1.0.12103",
	} {
		if err := genuine(version); err == nil {
			t.Errorf("%s is taken", version)
		}
	}
	if err := genuine("PostgreSQL 17.2 (Debian 17.2-1) on x86_64-pc-linux-gnu"); err != nil {
		t.Errorf("a real one is refused: %v", err)
	}
	for want, f := range map[string]facts{
		"15 or newer": {version: 140012, encoding: "UTF8"}, "encoding": {version: 160000, encoding: "LATIN1"}, "standby": {version: 160000, encoding: "UTF8", standby: true},
	} {
		if err := f.check("PostgreSQL"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want it to say %q", f, err, want)
		}
	}
}

// No error shows the password of the URL.
func TestNoErrorShowsThePassword(t *testing.T) {
	for _, url := range []string{"postgres://u:sesame@127.0.0.1:1/x", "postgres://u:sesame@127.0.0.1:port/x"} {
		_, err := Open(t.Context(), Config{URL: url, Namespace: "a", Logger: slog.New(slog.DiscardHandler)})
		if err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("error %v", err)
		}
	}
}
