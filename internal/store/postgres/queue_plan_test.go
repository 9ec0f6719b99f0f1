package postgres

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/pgtest"
)

// walked is a part of a plan that reads more than it is asked for: the whole
// table, or the whole of its key.
var walked = regexp.MustCompile(`Seq Scan on _rowcast_deliveries|Bitmap|_rowcast_deliveries_pkey on \w+( \w+)?\n\s+[^I\s]`)

// Whatever the queue holds, and whenever the plan was made, a statement walks the
// index that is made for it.
func TestTheQueueIsReadByItsIndexes(t *testing.T) {
	url := pgtest.Database(t)
	q := newQueueing(t, url)
	sql := &q.sql.queue
	ids, epochs := []string{"U1", "U2"}, []int64{1, 1}
	now := time.Now()
	statements := map[string]struct {
		sql  string
		args []any
		uses []string // indexes, in no order
	}{
		"claim":         {sql.claim, []any{"me", "alive", 100, now}, []string{"lane", "pkey"}},
		"claim ordered": {sql.claimOrdered, []any{"me", "alive", 100, int64(0)}, []string{"ordered_lane", "row", "pkey"}},
		"claim one":     {sql.claimOne, []any{"me", "alive", "U1"}, []string{"pkey"}},
		"floors":        {sql.floors, []any{"alive"}, []string{"lane", "ordered_lane"}},
		"next":          {sql.next, []any{[]string{"alive"}, []time.Time{now}}, []string{"lane", "ordered_due", "row"}},
		"held":          {sql.held, []any{"me", int64(0), 10}, []string{"owner"}},
		"settle": {
			sql.settle,
			[]any{"me", ids, epochs, []int16{1, 2}, epochs, []time.Time{now, now}, epochs, []int32{200, 503}, []string{"", "busy"}},
			[]string{"pkey"},
		},
		"free":    {sql.free, []any{"me", ids, epochs}, []string{"pkey"}},
		"lift":    {sql.lift, []any{ids, ids, ids}, []string{"row", "pkey"}},
		"release": {sql.release, []any{"me"}, []string{"owner", "pkey"}},
		"sweep":   {sql.sweepOwners, []any{100}, []string{"owner", "pkey"}},
		"targets": {sql.sweepTargets, []any{100, "gone"}, []string{"lane", "ordered_lane", "pkey"}},
		"move":    {sql.moveIDs, []any{ids}, []string{"pkey"}},
		"requeue": {sql.requeue, []any{ids, epochs}, []string{"pkey"}},
		"skip":    {sql.skip, []any{ids}, []string{"pkey"}},
	}
	check := func(when string) {
		for name, s := range statements {
			plan := explain(t, url, s.sql, s.args...)
			if bad := walked.FindString(plan); bad != "" {
				t.Errorf("%s, %s: %s in\n%s", name, when, bad, plan)
			}
			for _, index := range s.uses {
				if !strings.Contains(plan, "_rowcast_deliveries_"+index+" ") {
					t.Errorf("%s, %s: %s is not used in\n%s", name, when, index, plan)
				}
			}
		}
	}
	check("empty")
	q.put(q.deliveries(3000, "dead", "", 0)...)
	q.put(q.deliveries(3000, "dead in order", "", 300)...)
	q.put(q.deliveries(1000, "alive", "me", 0)...)
	check("full")
	exec(t, connect(t, url), "ANALYZE shop._rowcast_deliveries")
	check("analyzed")
}

// explain returns the plan that a connection keeps for any arguments.
func explain(t *testing.T, url, sql string, args ...any) string {
	t.Helper()
	db := connect(t, url)
	tx, err := db.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), pinned, "5000", "5000"); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL search_path TO shop")
	rows, err := tx.Query(t.Context(), "EXPLAIN (COSTS OFF) "+sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
