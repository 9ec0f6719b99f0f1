package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

const (
	leaseSelect = `SELECT seq, target, entity, subject, ordered, attempts FROM _rowcast_deliveries
		WHERE id = ?1 AND status = 2 AND owner = ?2 AND epoch = ?3`
	deliveryDelete = `DELETE FROM _rowcast_deliveries WHERE seq = ?1`
	retriedSet     = `UPDATE _rowcast_deliveries SET status = 1, owner = '', attempts = attempts + 1, last_status = ?2, last_error = ?3,
		due = ?4, turn = ?4 WHERE seq = ?1`
	givenUpSet = `UPDATE _rowcast_deliveries SET status = 3, owner = '', attempts = attempts + 1, last_status = ?2, last_error = ?3
		WHERE seq = ?1`
	attemptInsert = `INSERT INTO _rowcast_attempts (delivery, target, number, at, took, status, error, outcome)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`
	attemptSelect = `SELECT delivery, target, number, at, took, status, error, outcome FROM _rowcast_attempts
		WHERE delivery = ?1 ORDER BY seq`
)

// leased is what settling needs to know of a delivery.
type leased struct {
	rowKey
	seq      int64
	ordered  bool
	attempts int
}

// Settle implements store.Queue.
func (q queue) Settle(ctx context.Context, owner string, outcomes []store.Settlement) (lost []string, err error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	err = q.write(ctx, func(t *tx) error {
		lost = nil
		now := q.now()
		for i := range outcomes {
			held, err := t.settleOne(owner, &outcomes[i], now)
			if err != nil {
				return fmt.Errorf("settle delivery %s: %w", outcomes[i].Lease.ID, err)
			}
			if !held {
				lost = append(lost, outcomes[i].Lease.ID)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

func (t *tx) settleOne(owner string, s *store.Settlement, now time.Time) (held bool, err error) {
	var l leased
	err = t.each(leaseSelect, func(st *sqlite3.Stmt) {
		words := &t.conn.words
		held = true
		l = leased{seq: st.ColumnInt64(0), ordered: st.ColumnBool(4), attempts: st.ColumnInt(5)}
		l.target, l.entity, l.subject = words.text(st.ColumnRawText(1)), words.text(st.ColumnRawText(2)), st.ColumnText(3)
	}, text(s.Lease.ID), text(owner), value.OfInt(s.Lease.Epoch))
	if err != nil || !held {
		return false, err
	}
	if err := t.outcome(&l, s, now); err != nil {
		return false, err
	}
	a := &s.Attempt
	_, err = t.do(attemptInsert, text(s.Lease.ID), text(l.target), number(l.attempts+1), value.OfTime(a.At), number(a.Took),
		number(a.Status), text(a.Error), number(s.Outcome))
	return true, err
}

// outcome does to the delivery what the attempt came to.
func (t *tx) outcome(l *leased, s *store.Settlement, now time.Time) (err error) {
	seq, status, reason := value.OfInt(l.seq), number(s.Attempt.Status), text(s.Attempt.Error)
	switch s.Outcome {
	case store.Delivered:
		if _, err = t.do(deliveryDelete, seq); err == nil && l.ordered {
			err = t.unblock(l.rowKey, now.UnixMicro())
		}
	case store.Retried:
		_, err = t.do(retriedSet, seq, status, reason, value.OfTime(now.Add(s.Wait)))
	case store.GivenUp:
		_, err = t.do(givenUpSet, seq, status, reason)
	default:
		err = fmt.Errorf("outcome %d is none", s.Outcome)
	}
	return err
}

// Attempts implements store.Queue.
func (q queue) Attempts(ctx context.Context, id string) (log []store.Attempt, err error) {
	err = q.view(ctx, func(r *reader) error {
		return r.each(attemptSelect, func(st *sqlite3.Stmt) {
			log = append(log, store.Attempt{
				Delivery: st.ColumnText(0), Target: st.ColumnText(1), Number: st.ColumnInt(2),
				At: time.UnixMicro(st.ColumnInt64(3)).UTC(), Took: time.Duration(st.ColumnInt64(4)),
				Status: st.ColumnInt(5), Error: st.ColumnText(6), Outcome: store.Outcome(st.ColumnInt64(7)),
			})
		}, text(id))
	})
	return log, err
}

// PruneAttempts implements store.Queue. Attempts are logged about in the order
// of their time, so it takes them from the start, up to the first that is not
// older than before: what was logged late behind it goes with it.
func (q queue) PruneAttempts(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	err = q.write(ctx, func(t *tx) error {
		var old []int64
		young := false
		err := t.each(`SELECT seq, at < ?1 FROM _rowcast_attempts ORDER BY seq LIMIT ?2`, func(st *sqlite3.Stmt) {
			if young = young || !st.ColumnBool(1); !young {
				old = append(old, st.ColumnInt64(0))
			}
		}, value.OfTime(before), number(limit+1))
		if more = len(old) > limit; more {
			old = old[:limit]
		}
		if err != nil || len(old) == 0 {
			return err
		}
		_, err = t.do(`DELETE FROM _rowcast_attempts WHERE seq <= ?1`, value.OfInt(old[len(old)-1]))
		return err
	})
	return more && err == nil, err
}
