package sqlite

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
)

// A statement that reads every row of the queue would be fast in every other
// test, and stop a server whose receiver is down for a night.
func TestEveryStatementOfTheQueueFindsItsRowsByAnIndex(t *testing.T) {
	s := open(t, Config{Path: filepath.Join(t.TempDir(), "t.db")})
	const (
		pending = "SEARCH _rowcast_deliveries USING INDEX _rowcast_deliveries_pending (target=?"
		lane    = "SEARCH _rowcast_deliveries USING COVERING INDEX _rowcast_deliveries_pending (target=?"
		byID    = "SEARCH _rowcast_deliveries USING INDEX _rowcast_deliveries_id (id"
		bySeq   = "SEARCH _rowcast_deliveries USING INTEGER PRIMARY KEY (rowid=?)"
		row     = "SEARCH _rowcast_deliveries USING COVERING INDEX _rowcast_deliveries_row (target=? AND entity=? AND subject=?"
		held    = "_rowcast_deliveries_claimed" // scanned, too: there are as many as are in flight
	)
	for sql, want := range map[string]string{
		claimDue: pending + " AND turn<?)", claimOne: byID, claimed: bySeq, comeDue: lane + " AND turn>? AND turn<?)", nextSelect: lane,
		heldSelect: held + " (owner=? AND since<?)", freeOne: byID, freeOwner: held + " (owner=?)", freeOthers: held,
		leaseSelect: byID, deliveryDelete: bySeq, retriedSet: bySeq, givenUpSet: bySeq, behindSelect: row, unblockSet: row,
		sweepFree: held, orphanSelect: held, sweepFail: lane,
		targetAfter:  "SEARCH _rowcast_deliveries USING COVERING INDEX _rowcast_deliveries_pending (target>?)",
		standingByID: byID, standingInRange: "_rowcast_deliveries_failed (target=? AND created>? AND created<?)", requeuedSet: bySeq,
		attemptSelect: "_rowcast_attempts_delivery (delivery=?)", pendingCount: lane,
		pendingDepths: "USING COVERING INDEX _rowcast_deliveries_pending", claimedDepths: held,
		failedDepths: "USING COVERING INDEX _rowcast_deliveries_failed",
		listSQL("_rowcast_deliveries_id", "status <> 3", false):       byID + ">?)",
		listSQL("_rowcast_deliveries_failed_id", "status = 3", false): "_rowcast_deliveries_failed_id (id>?)",
		listSQL("_rowcast_deliveries_pending", "status = 1", true):    pending,
		listSQL("_rowcast_deliveries_claimed", "status = 2", true):    held,
	} {
		plan := explain(t, s, sql)
		if !strings.Contains(plan, want) {
			t.Errorf("%s\n  goes by\n%s  want %s", sql, plan, want)
		}
		sorted := strings.Contains(sql, "ORDER BY id") && strings.Contains(sql, "target")
		if want != held && !sorted && strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("%s\n  sorts:\n%s", sql, plan)
		}
	}
}

// explain returns the query plan, a step a line.
func explain(t *testing.T, s *Store, sql string) string {
	t.Helper()
	var plan strings.Builder
	err := s.View(t.Context(), func(r store.Reader) error {
		return r.(*reader).each("EXPLAIN QUERY PLAN "+sql, func(st *sqlite3.Stmt) { fmt.Fprintln(&plan, st.ColumnText(3)) })
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return plan.String()
}

// Whatever waits behind a dead target, a claim does the same few steps: counted,
// not timed.
func TestABacklogDoesNotSlowAClaim(t *testing.T) {
	const backlog, few = 1_000, 2_000 // a row that is passed takes several steps
	for _, kind := range []struct {
		name    string
		ordered bool
		rows    int
		wait    bool // what is at the head of the lane waits for a retry
	}{
		{"none", false, 0, false},
		{"of a target without order", false, backlog, false},
		{"of as many rows", true, backlog, false},
		{"of one row", true, 1, false},
		{"of one row that waits", true, 1, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			s := open(t, Config{Path: filepath.Join(t.TempDir(), "t.db"), budget: time.Minute})
			if kind.rows > 0 {
				enqueue(t, s, backlog, func(n int) *store.Delivery {
					d := benchDelivery(n, "dead")
					d.Ordered, d.Subject = kind.ordered, fmt.Sprint(n%kind.rows)
					return d
				})
			}
			dead := store.Claim{Owner: "me", Target: "dead", Ordered: kind.ordered, Limit: 1}
			if kind.wait {
				settleFirst(t, s, dead)
			}
			enqueue(t, s, 10, func(n int) *store.Delivery { return benchDelivery(backlog+n, "billing") })
			for _, c := range []store.Claim{dead, {Owner: "me", Target: "billing", Limit: 8}} {
				if steps := claimSteps(t, s, c); steps > few {
					t.Errorf("a claim of %s took %d steps, want at most %d", c.Target, steps, few)
				}
			}
			if swept := sweepSteps(t, s); swept > few {
				t.Errorf("a sweep took %d steps, want at most %d", swept, few)
			}
		})
	}
}

// settleFirst has the first of a lane wait for long.
func settleFirst(t *testing.T, s *Store, c store.Claim) {
	t.Helper()
	ds, err := s.Queue().Claim(t.Context(), c)
	if err != nil || len(ds) != 1 {
		t.Fatalf("claimed %d, %v", len(ds), err)
	}
	wait := store.Settlement{Lease: ds[0].Lease(), Outcome: store.Retried, Wait: 1 << 50}
	if lost, err := s.Queue().Settle(t.Context(), c.Owner, []store.Settlement{wait}); err != nil || len(lost) > 0 {
		t.Fatalf("lost %v, %v", lost, err)
	}
}

func claimSteps(t *testing.T, s *Store, c store.Claim) int {
	return steps(t, s, func() error { _, err := s.Queue().Claim(t.Context(), c); return err })
}

func sweepSteps(t *testing.T, s *Store) int {
	if err := s.Queue().Enlist(t.Context(), store.Instance{Owner: "me", Targets: []string{"dead", "billing"}}); err != nil {
		t.Fatal(err)
	}
	return steps(t, s, func() error { _, err := s.Queue().Sweep(t.Context(), 1000); return err })
}

// steps counts the steps of SQLite's machine that the writer takes for fn.
func steps(t *testing.T, s *Store, fn func() error) (n int) {
	t.Helper()
	count := func() (n int) {
		err := s.administer(t.Context(), func(c *conn) error {
			for _, st := range c.cache {
				n += st.Status(sqlite3.STMTSTATUS_VM_STEP, true)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	count()
	if err := fn(); err != nil {
		t.Fatal(err)
	}
	return count()
}
