package sqlite

import (
	"context"
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// List implements store.Queue.
func (q queue) List(ctx context.Context, f store.DeliveryFilter) (ds []*store.Delivery, err error) {
	limit := f.Limit
	if limit <= 0 {
		limit = math.MaxInt32
	}
	err = q.view(ctx, func(r *reader) error {
		show := func(sql, after string) error {
			return r.each(sql, func(st *sqlite3.Stmt) { ds = append(ds, r.scanDelivery(st, 0)) },
				text(after), text(f.Target), number(limit-len(ds)))
		}
		after := f.After
		if !f.AfterLive && (f.Status == 0 || f.Status == store.Failed) {
			if err := show(listSQL(store.Failed, f.Target), after); err != nil {
				return err
			}
		}
		if f.Status == store.Failed || len(ds) == limit {
			return nil
		}
		if !f.AfterLive {
			after = "" // the live ones begin behind the last that failed
		}
		return show(listSQL(f.Status, f.Target), after)
	})
	return ds, err
}

// listSQL returns the statement that lists by id what has the status, 0: all but
// the failed, of one target or of all. Its parameters are the id to begin
// after, the target and the limit.
func listSQL(status store.DeliveryStatus, target string) string {
	index, which := "_rowcast_deliveries_id", "status <> 3"
	switch status {
	case store.Failed:
		index, which = "_rowcast_deliveries_failed_id", "status = 3"
	case store.Claimed:
		index, which = "_rowcast_deliveries_claimed", "status = 2"
	case store.Pending:
		which = "status = 1"
	}
	if target != "" {
		which += " AND target = ?2"
	}
	return `SELECT ` + deliveryColumns + ` FROM _rowcast_deliveries INDEXED BY ` + index + ` WHERE id > ?1 AND ` + which +
		` ORDER BY id LIMIT ?3`
}

// What is counted stands in the indexes; only the few that are claimed are looked up.
const (
	pendingDepths = `SELECT target, count(*), sum(turn = 9223372036854775807), min(due)
		FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_pending WHERE status = 1 GROUP BY target`
	claimedDepths = `SELECT target, count(*)
		FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_claimed WHERE status = 2 GROUP BY target`
	failedDepths = `SELECT target, count(*)
		FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_failed WHERE status = 3 GROUP BY target`
)

// Depths implements store.Queue.
func (q queue) Depths(ctx context.Context) (depths []store.Depth, err error) {
	places := map[string]int{}
	of := func(st *sqlite3.Stmt) *store.Depth {
		target := st.ColumnText(0)
		at, known := places[target]
		if !known {
			at = len(depths)
			places[target] = at
			depths = append(depths, store.Depth{Target: target})
		}
		return &depths[at]
	}
	err = q.view(ctx, func(r *reader) error {
		err := r.each(pendingDepths, func(st *sqlite3.Stmt) {
			d := of(st)
			d.Pending, d.Blocked, d.OldestDue = st.ColumnInt64(1), st.ColumnInt64(2), value.OfInt(st.ColumnInt64(3)).Time()
		})
		if err == nil {
			err = r.each(claimedDepths, func(st *sqlite3.Stmt) { of(st).Claimed = st.ColumnInt64(1) })
		}
		if err == nil {
			err = r.each(failedDepths, func(st *sqlite3.Stmt) { of(st).Failed = st.ColumnInt64(1) })
		}
		return err
	})
	return depths, err
}
