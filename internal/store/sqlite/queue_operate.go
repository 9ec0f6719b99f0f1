package sqlite

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

const (
	standingColumns = `SELECT seq, id, target, entity, subject, ordered, status FROM _rowcast_deliveries `
	standingByID    = standingColumns + `WHERE id = ?1`
	standingInRange = standingColumns + `INDEXED BY _rowcast_deliveries_failed
		WHERE status = 3 AND target = ?1 AND created >= ?2 AND created < ?3 ORDER BY created, seq LIMIT ?4`
	requeuedSet = `UPDATE _rowcast_deliveries SET status = 1, attempts = 0, due = ?2, turn = ?3 WHERE seq = ?1`
)

// standing is what an operator's wish needs to know of a delivery.
type standing struct {
	rowKey
	id      string
	seq     int64
	ordered bool
	status  store.DeliveryStatus
}

func (r *reader) standings(sql string, args ...value.Value) (found []standing, err error) {
	err = r.each(sql, func(st *sqlite3.Stmt) {
		found = append(found, standing{
			seq: st.ColumnInt64(0), id: st.ColumnText(1), ordered: st.ColumnBool(5), status: store.DeliveryStatus(st.ColumnInt64(6)),
			rowKey: rowKey{target: st.ColumnText(2), entity: st.ColumnText(3), subject: st.ColumnText(4)},
		})
	}, args...)
	return found, err
}

// Requeue implements store.Queue.
func (q queue) Requeue(ctx context.Context, r store.Requeue) (m store.Moved, err error) {
	err = q.write(ctx, func(t *tx) (err error) {
		if len(r.IDs) > 0 {
			m, err = t.requeueIDs(r, q.now())
		} else {
			m, err = t.requeueRange(r, q.now())
		}
		return err
	})
	if err != nil {
		return store.Moved{}, err
	}
	return m, nil
}

func (t *tx) requeueIDs(r store.Requeue, now time.Time) (m store.Moved, err error) {
	return t.move(r.IDs, func(s standing) (reason string, err error) {
		switch {
		case s.status == store.Pending:
			return store.ReasonPending, nil
		case s.status == store.Claimed:
			return store.ReasonClaimed, nil
		case !slices.Contains(r.Declared, s.target):
			return store.ReasonTarget, nil
		}
		return "", t.requeue(s, len(m.IDs)+1, r.Pace, now)
	}, &m)
}

// move does to each delivery of the ids what a wish says, or notes the reason
// that it returns.
func (t *tx) move(ids []string, wish func(standing) (reason string, err error), m *store.Moved) (store.Moved, error) {
	seen := make(map[string]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		found, err := t.standings(standingByID, text(id))
		if err != nil {
			return *m, err
		}
		if len(found) == 0 {
			m.Refused = append(m.Refused, store.Unmoved{ID: id, Reason: store.ReasonUnknown})
			continue
		}
		reason, err := wish(found[0])
		if err != nil {
			return *m, err
		}
		note(m, found[0], reason)
	}
	return *m, nil
}

func note(m *store.Moved, s standing, reason string) {
	if reason != "" {
		m.Refused = append(m.Refused, store.Unmoved{ID: s.id, Reason: reason})
		return
	}
	m.IDs = append(m.IDs, s.id)
	if !slices.Contains(m.Targets, s.target) {
		m.Targets = append(m.Targets, s.target)
	}
}

// requeueRange refuses a target that is not declared as a whole, and names of
// its deliveries those that it would have moved.
func (t *tx) requeueRange(r store.Requeue, now time.Time) (m store.Moved, err error) {
	since, until := int64(math.MinInt64), int64(math.MaxInt64)
	if !r.Since.IsZero() {
		since = r.Since.UnixMicro()
	}
	if !r.Until.IsZero() {
		until = r.Until.UnixMicro()
	}
	limit := r.Limit
	if limit <= 0 {
		limit = math.MaxInt32
	}
	found, err := t.standings(standingInRange, text(r.Target), value.OfInt(since), value.OfInt(until), number(limit+1))
	if err != nil {
		return m, err
	}
	reason := ""
	if !slices.Contains(r.Declared, r.Target) {
		reason = store.ReasonTarget
	}
	more := len(found) > limit
	for i, s := range found[:min(len(found), limit)] {
		if reason == "" {
			if err := t.requeue(s, i+1, r.Pace, now); err != nil {
				return m, err
			}
		}
		note(&m, s, reason)
	}
	m.More = more && reason == ""
	return m, nil
}

// requeue makes the n-th of some failed deliveries, counted from 1, pending again.
func (t *tx) requeue(s standing, n int, pace time.Duration, now time.Time) error {
	due := now.Add(time.Duration(n) * pace).UnixMicro()
	turn := due
	if s.ordered {
		waits, err := t.behind(s.rowKey, s.seq)
		if err != nil {
			return err
		}
		if waits {
			turn = blocked
		}
	}
	_, err := t.do(requeuedSet, value.OfInt(s.seq), value.OfInt(due), value.OfInt(turn))
	return err
}

// Skip implements store.Queue.
func (q queue) Skip(ctx context.Context, ids []string) (m store.Moved, err error) {
	err = q.write(ctx, func(t *tx) (err error) {
		m = store.Moved{}
		m, err = t.move(ids, func(s standing) (reason string, err error) {
			if s.status == store.Claimed {
				return store.ReasonClaimed, nil
			}
			if _, err = t.do(deliveryDelete, value.OfInt(s.seq)); err == nil && s.ordered {
				err = t.unblock(s.rowKey, q.now().UnixMicro())
			}
			return "", err
		}, &m)
		return err
	})
	if err != nil {
		return store.Moved{}, err
	}
	return m, nil
}
