package postgres

import (
	"context"
	"time"
)

// The server ends a transaction that idles for idleLimit. Between the messages
// of one round trip it does not count as idle: a commit that arrived in part, as
// when its instance is stopped or its network breaks in the middle, waits for
// the rest for as long as the connection seems to stand, which may be hours. So
// whoever has waited for it that long ends it.
const (
	hungLimit = 10 * time.Second // idleLimit
	hungAgain = time.Second      // between two tries
)

// ending ends those of the transactions whose server process waits for its
// client. One that works, or waits for a disk or a standby, is let be.
const ending = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
	WHERE wait_event = 'ClientRead' AND pid IN (SELECT pid FROM pg_locks WHERE virtualtransaction = ANY($1))`

// hung returns those who have been waited for too long, at most once a while.
func (b *barrier) hung(now time.Time) (ids []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.tried) < hungAgain {
		return nil
	}
	add := func(since time.Time, waiting holders) {
		if now.Sub(since) > hungLimit {
			for id := range waiting {
				ids = append(ids, id)
			}
		}
	}
	for _, g := range b.gaps {
		if !g.decided {
			add(g.since, g.waiting)
		}
	}
	if b.base != nil {
		add(b.base.since, b.base.waiting)
	}
	if len(ids) > 0 {
		b.tried = now
	}
	return ids
}

// endHung ends transactions that hold the log up and do not go on.
func (s *Store) endHung(ctx context.Context) {
	ids := s.barrier.hung(time.Now())
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	var ended int
	err := s.db.pool.QueryRow(ctx, ending, ids).Scan(&ended)
	if ended > 0 || err != nil {
		s.config.Logger.Warn("ended transactions that held up the change log and had stopped halfway",
			"namespace", s.config.Namespace, "ended", ended, "err", err)
	}
}
