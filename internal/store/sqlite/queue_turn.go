package sqlite

import (
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/value"
)

// The column turn is the place of a pending delivery in its lane:
//
//   - of a target without order, and of a delivery that is not due yet, its due
//     time (positive);
//   - of an ordered target, once it is due: seq + ready (negative), the order of
//     the queue. A claim moves those there whose time has come;
//   - behind an earlier delivery of its row: blocked.
//
// So a claim reads one index from its start and stops at the first delivery
// whose turn has not come, however many wait behind it: it never asks for each
// of them whether an earlier one is there. The price is paid once a delivery of
// an ordered target, when it is queued and when the one before it goes.
//
// Whether a delivery keeps its row's order was frozen when it was queued: one
// that was queued before its target became ordered holds nothing back.
const (
	ready   = math.MinInt64 / 2
	blocked = math.MaxInt64
)

const (
	behindSelect = `SELECT 1 FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_row
		WHERE ordered = 1 AND target = ?1 AND entity = ?2 AND subject = ?3 AND seq < ?4 LIMIT 1`
	unblockSet = `UPDATE _rowcast_deliveries SET turn = CASE WHEN due <= ?4 THEN seq + ?5 ELSE due END
		WHERE status = 1 AND turn = ?6 AND seq = (SELECT seq FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_row
			WHERE ordered = 1 AND target = ?1 AND entity = ?2 AND subject = ?3 ORDER BY seq LIMIT 1)`
)

// behind reports whether an earlier delivery of the row is in the queue.
func (t *tx) behind(row rowKey, seq int64) (found bool, err error) {
	err = t.each(behindSelect,
		func(*sqlite3.Stmt) { found = true }, text(row.target), text(row.entity), text(row.subject), value.OfInt(seq))
	return found, err
}

// unblock lets the first delivery of a row go, after the one before it has gone.
func (t *tx) unblock(row rowKey, now int64) error {
	_, err := t.do(unblockSet,
		text(row.target), text(row.entity), text(row.subject), value.OfInt(now), value.OfInt(ready), value.OfInt(blocked))
	return err
}

// rowKey names a row, to a target that keeps its order.
type rowKey struct{ target, entity, subject string }
