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
		more, err := u.store.Prune(ctx, u.config.Now().Add(-u.config.Retention), pruneRows)
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
