package tenancy

import (
	"context"
	"time"
)

// Pruning works in small steps, so that no writer waits long behind one.
const (
	pruneEvery = time.Minute
	pruneRows  = 500
	prunePause = 10 * time.Millisecond
)

// prune removes log rows past their retention until ctx is done.
func (u *Unit) prune(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		more, err := u.store.Prune(ctx, u.keepFrom(), pruneRows)
		if err != nil && ctx.Err() == nil {
			u.config.Logger.Warn("old log rows cannot be removed, trying again", "err", err)
		}
		if more && err == nil {
			timer.Reset(prunePause)
		} else {
			timer.Reset(pruneEvery)
		}
	}
}

// keepFrom is the time from which on log rows are kept: for the retention, and
// until the tail has handed them on, however long an outage keeps it from that.
func (u *Unit) keepFrom() time.Time {
	return u.config.Now().Add(-max(u.config.Retention, u.Tail.Lag()))
}
