package sqlite

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// fewPending is how many pending deliveries of a target are sorted for a page of
// List. Where there are more, the index of ids is walked, and passes few of others
// for each of the target's.
const fewPending = 1000

const pendingCount = `SELECT count(*) FROM (SELECT 1 FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_pending
	WHERE status = 1 AND target = ?1 LIMIT ?2)`

// List implements store.Queue.
func (q queue) List(ctx context.Context, f store.DeliveryFilter) (ds []*store.Delivery, err error) {
	if f.Limit <= 0 {
		f.Limit = math.MaxInt32
	}
	err = q.view(ctx, func(r *reader) error {
		if !f.AfterLive && (f.Status == 0 || f.Status == store.Failed) {
			if ds, err = r.list("_rowcast_deliveries_failed_id", "status = 3", f); err != nil {
				return err
			}
		}
		if f.Status == store.Failed || len(ds) == f.Limit {
			return nil
		}
		if !f.AfterLive {
			f.After = "" // the live ones begin behind the last that failed
		}
		f.Limit -= len(ds)
		live, err := r.listLive(f)
		ds = append(ds, live...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ds, nil
}

// listLive lists what has not failed.
func (r *reader) listLive(f store.DeliveryFilter) (ds []*store.Delivery, err error) {
	const claimed = "_rowcast_deliveries_claimed"
	if f.Status == store.Claimed {
		return r.list(claimed, "status = 2", f)
	}
	few := false
	if f.Target != "" {
		err := r.each(pendingCount, func(st *sqlite3.Stmt) { few = st.ColumnInt64(0) <= fewPending }, text(f.Target), number(fewPending+1))
		if err != nil {
			return nil, err
		}
	}
	switch {
	case !few && f.Status == store.Pending:
		return r.list("_rowcast_deliveries_id", "status = 1", f)
	case !few:
		return r.list("_rowcast_deliveries_id", "status <> 3", f)
	}
	ds, err = r.list("_rowcast_deliveries_pending", "status = 1", f)
	if err != nil || f.Status == store.Pending {
		return ds, err
	}
	held, err := r.list(claimed, "status = 2", f)
	ds = append(ds, held...)
	slices.SortFunc(ds, func(a, b *store.Delivery) int { return strings.Compare(a.ID, b.ID) })
	return ds[:min(len(ds), f.Limit)], err
}

// list returns by id what an index holds of a status, from behind an id.
func (r *reader) list(index, status string, f store.DeliveryFilter) (ds []*store.Delivery, err error) {
	err = r.each(listSQL(index, status, f.Target != ""), func(st *sqlite3.Stmt) { ds = append(ds, r.scanDelivery(st, 0)) },
		text(f.After), text(f.Target), number(f.Limit))
	return ds, err
}

func listSQL(index, status string, ofTarget bool) string {
	if ofTarget {
		status += " AND target = ?2"
	}
	return `SELECT ` + deliveryColumns + ` FROM _rowcast_deliveries INDEXED BY ` + index + ` WHERE id > ?1 AND ` + status +
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
