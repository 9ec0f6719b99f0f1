package tenancy

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// A store is given up for readiness after it has not answered for this long;
// a short hiccup must not take an instance out of its load balancer.
const (
	watchEvery   = time.Second
	unreachable  = 10 * time.Second
	pingDeadline = 5 * time.Second
)

type health struct{ answered atomic.Int64 } // unix nanoseconds of the last answer

// watch asks the store until ctx is done.
func (u *Unit) watch(ctx context.Context) error {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			u.ping(ctx)
		}
	}
}

func (u *Unit) ping(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pingDeadline)
	defer cancel()
	if err := u.store.Ping(ctx); err != nil {
		u.config.Logger.Warn("datastore does not answer", "err", err)
		return
	}
	u.health.answered.Store(u.config.Now().UnixNano())
}

// Unready returns why the unit cannot serve, or "". It names nobody, since
// anyone may ask. Lag is never a reason: an instance that is behind still serves.
func (u *Unit) Unready() string {
	select {
	case <-u.Tail.Ready():
	default:
		return "a change log is not open yet"
	}
	if silent := u.config.Now().Sub(time.Unix(0, u.health.answered.Load())); silent > unreachable {
		return fmt.Sprintf("a datastore has not answered for %s", silent.Round(time.Second))
	}
	return ""
}
