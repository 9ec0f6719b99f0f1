package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// A plan is made once, when the tables may be empty, and kept until the server
// next counts their rows, which may be minutes and hundreds of thousands of rows
// later. So what is run at each look goes by the index however many there are.
func TestLooksGoByTheIndexHoweverFewRowsThereAre(t *testing.T) {
	for _, rows := range []int{0, 100, 1000, 5000} {
		t.Run(fmt.Sprint(rows), func(t *testing.T) {
			url := pgtest.Database(t)
			s := open(t, Config{URL: url, Namespace: "shop"})
			if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{item, drawn}}); err != nil {
				t.Fatal(err)
			}
			conn := connect(t, url)
			for _, sql := range []string{
				"ALTER TABLE shop.items SET (autovacuum_enabled = off)",
				"ALTER TABLE shop._rowcast_log SET (autovacuum_enabled = off)",
				"INSERT INTO shop.items SELECT 'row' || n, n FROM generate_series(1, $) AS n",
				"INSERT INTO shop._rowcast_log (event_id, entity, operation, fine, topic, subject, actor, time, sent, differs, origin, guard)" +
					" SELECT 'e' || n, 'item', 1, 'created', '', 'row' || n, '', now(), '[]', '[]', '', '{}' FROM generate_series(1, $) AS n",
				"SET plan_cache_mode = force_generic_plan",
			} {
				exec(t, conn, strings.ReplaceAll(sql, "$", fmt.Sprint(rows)))
			}
			for name, look := range map[string]struct{ sql, args string }{
				"the log":                   {s.sql.logSelect, "1, 501"},
				"rows":                      {s.plan(item).getMany, "'{a,b}'"},
				"rows whose keys are drawn": {s.plan(drawn).getMany, "'{1,2}'"},
				"the end of the log":        {s.sql.head, ""},
				"a position":                {s.sql.at, "1"},
			} {
				if plan := planOf(t, conn, look.sql, look.args); strings.Contains(plan, "Seq Scan") || strings.Contains(plan, "Sort") {
					t.Errorf("%s:\n%s", name, plan)
				}
			}
		})
	}
}

// planOf returns the plan of a prepared statement.
func planOf(t *testing.T, c *pgx.Conn, sql, args string) string {
	t.Helper()
	exec(t, c, "PREPARE look AS "+sql)
	defer exec(t, c, "DEALLOCATE look")
	if args != "" {
		args = "(" + args + ")"
	}
	rows, err := c.Query(t.Context(), "EXPLAIN EXECUTE look"+args, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// The names in the statement are its own, whatever tables and columns are called.
func TestRowsAreFoundWhateverTheirTableIsCalled(t *testing.T) {
	s := open(t, Config{URL: pgtest.Database(t), Namespace: "shop"})
	for _, name := range []string{"wanted", "found", "one"} {
		e := &schema.Entity{Name: name, Table: name, Fields: []*schema.Field{
			{Name: "key", Type: value.String}, {Name: "wanted", Type: value.String, Index: 1}, {Name: "found", Type: value.String, Index: 2},
		}}
		if _, err := s.Migrate(t.Context(), store.Plan{Entities: []*schema.Entity{e}}); err != nil {
			t.Fatal(err)
		}
		err := s.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
			for _, id := range []string{"a", "b"} {
				if err := tx.Insert(e, store.Row{value.OfText(id), value.OfText("x"), value.OfText("y")}); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		err = s.View(t.Context(), func(r store.Reader) error {
			rows, err := r.GetMany(e, []value.Value{value.OfText("b"), value.OfText("c")})
			if err == nil && (len(rows) != 1 || rows[0][0].Text() != "b" || rows[0][2].Text() != "y") {
				t.Errorf("%s: got %v, want the one row b", name, rows)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
