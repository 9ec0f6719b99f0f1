package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

const (
	claimDue = `SELECT seq, ` + deliveryColumns + `, body FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_pending
		WHERE status = 1 AND target = ?1 AND turn <= ?2 ORDER BY turn, due, seq LIMIT ?3`
	claimOne = `SELECT seq, ` + deliveryColumns + `, body FROM _rowcast_deliveries
		WHERE id = ?1 AND target = ?2 AND status = 1 AND turn < ?3 LIMIT ?4`
	claimed = `UPDATE _rowcast_deliveries SET status = 2, owner = ?2, since = ?3, epoch = epoch + 1 WHERE seq = ?1`
	// comeDue gives deliveries of an ordered target that waited for their time
	// their place in the order of the queue: a bounded number a claim, so that an
	// hour's retries that come due together do not make one claim a long one.
	comeDue = `UPDATE _rowcast_deliveries SET turn = seq + ?3 WHERE seq IN
		(SELECT seq FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_pending
		WHERE status = 1 AND target = ?1 AND turn > 0 AND turn <= ?2 ORDER BY turn LIMIT ?4)`
	heldSelect = `SELECT ` + deliveryColumns + `, body FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_claimed
		WHERE status = 2 AND owner = ?1 AND since <= ?2 ORDER BY since, seq LIMIT ?3`
	nextSelect = `SELECT turn FROM _rowcast_deliveries INDEXED BY _rowcast_deliveries_pending
		WHERE status = 1 AND target = ?1 ORDER BY turn LIMIT 1`
	// freeSet makes a leased delivery pending and due, in the place it had.
	freeSet   = `UPDATE _rowcast_deliveries SET status = 1, owner = '', due = min(due, ?1), turn = min(due, ?1) `
	freeOne   = freeSet + `WHERE id = ?2 AND status = 2 AND owner = ?3 AND epoch = ?4`
	freeOwner = freeSet + `WHERE status = 2 AND owner = ?2`
)

// Claim implements store.Queue.
func (q queue) Claim(ctx context.Context, c store.Claim) (ds []*store.Delivery, err error) {
	if c.Limit <= 0 {
		return nil, nil
	}
	err = q.write(ctx, func(t *tx) (err error) {
		ds, err = t.claim(c, q.now().UnixMicro())
		return err
	})
	if err != nil {
		return nil, err
	}
	return ds, nil
}

func (t *tx) claim(c store.Claim, now int64) (ds []*store.Delivery, err error) {
	var seqs []int64
	take := func(st *sqlite3.Stmt) {
		seqs = append(seqs, st.ColumnInt64(0))
		ds = append(ds, t.scanWhole(st, 1))
	}
	switch {
	case c.Only != "":
		err = t.each(claimOne, take, text(c.Only), text(c.Target), value.OfInt(blocked), number(c.Limit))
	case c.Ordered:
		if _, err = t.do(comeDue, text(c.Target), value.OfInt(now), value.OfInt(ready), number(max(c.Limit, 64))); err == nil {
			err = t.each(claimDue, take, text(c.Target), value.OfInt(0), number(c.Limit))
		}
	default:
		err = t.each(claimDue, take, text(c.Target), value.OfInt(now), number(c.Limit))
	}
	for i := range seqs {
		if err != nil {
			return nil, err
		}
		d := ds[i]
		d.Status, d.Owner, d.Epoch = store.Claimed, c.Owner, d.Epoch+1
		_, err = t.do(claimed, value.OfInt(seqs[i]), text(c.Owner), value.OfInt(now))
	}
	return ds, err
}

// Free implements store.Queue.
func (q queue) Free(ctx context.Context, owner string, held []store.Lease) error {
	if len(held) == 0 {
		return nil
	}
	return q.write(ctx, func(t *tx) error {
		now := value.OfInt(q.now().UnixMicro())
		for _, l := range held {
			if _, err := t.do(freeOne, now, text(l.ID), text(owner), value.OfInt(l.Epoch)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Held implements store.Queue.
func (q queue) Held(ctx context.Context, owner string, age time.Duration, limit int) (ds []*store.Delivery, err error) {
	err = q.view(ctx, func(r *reader) error {
		return r.each(heldSelect, func(st *sqlite3.Stmt) { ds = append(ds, r.scanWhole(st, 0)) },
			text(owner), value.OfInt(q.now().Add(-age).UnixMicro()), number(limit))
	})
	return ds, err
}

// Next implements store.Queue: the first of a lane tells, whatever is behind it.
func (q queue) Next(ctx context.Context, targets []store.Lane) (map[string]time.Duration, error) {
	waits := make(map[string]time.Duration, len(targets))
	err := q.view(ctx, func(r *reader) error {
		now := q.now().UnixMicro()
		for _, lane := range targets {
			err := r.each(nextSelect, func(st *sqlite3.Stmt) {
				switch turn := st.ColumnInt64(0); {
				case turn == blocked:
				case turn <= 0:
					waits[lane.Target] = 0
				default:
					waits[lane.Target] = time.Duration(turn-now) * time.Microsecond
				}
			}, text(lane.Target))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return waits, nil
}
