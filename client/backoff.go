package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// Waits between connections.
const (
	defaultRetry = 2 * time.Second
	minRetry     = 50 * time.Millisecond // however eager a server's retry field is
	maxBackoff   = 30 * time.Second
	maxRetry     = 5 * time.Minute // however long a server asks to wait
)

// backoff counts failures since the stream last opened.
type backoff struct {
	base     time.Duration // what the server's retry field said last; 0: nothing
	failures int
}

// wait returns how long to wait before the next connection. After a stream that
// had opened it is just what the server asked for; after each failure it
// doubles, and half of it is drawn at random so that clients do not come in step.
func (b *backoff) wait(atLeast time.Duration) time.Duration {
	base := b.base
	if base == 0 {
		base = defaultRetry
	}
	wait := max(base, minRetry)
	if b.failures > 0 {
		for range min(b.failures, 16) - 1 {
			wait = min(2*wait, maxBackoff)
		}
		wait = wait/2 + rand.N(wait/2+1) // #nosec G404 -- spreads load, guards nothing
	}
	return min(max(wait, atLeast), maxRetry)
}

// pause waits, or returns the reason why ctx ended.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
