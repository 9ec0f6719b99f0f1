package outbox

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// The waits between attempts (change-streams contract): they double from
// firstWait to maxWait.
const (
	maxAttempts = 12
	firstWait   = 2 * time.Second
	maxWait     = 10 * time.Minute
	spread      = 0.1 // of a wait, drawn at random
)

// Pauses after the store has failed.
const (
	minPause = 50 * time.Millisecond
	maxPause = 5 * time.Second
)

// outcomeOf says what becomes of a delivery after its n-th attempt.
func outcomeOf(class post.Class, n int) store.Outcome {
	switch {
	case class == post.Accepted:
		return store.Delivered
	case class == post.Refuse || n >= maxAttempts:
		return store.GivenUp
	default:
		return store.Retried
	}
}

// waitAfter returns how long to wait after the n-th attempt. share, of [0, 1),
// spreads those that failed together: over the time after a wait below the cap,
// over that before one at it. What the receiver asks for may lengthen it to the cap.
func waitAfter(n int, asked time.Duration, share float64) time.Duration {
	wait := firstWait
	for i := 1; i < n && wait < maxWait; i++ {
		wait *= 2
	}
	if wait >= maxWait {
		wait = maxWait - time.Duration(share*spread*float64(maxWait))
	} else {
		wait += time.Duration(share * spread * float64(wait))
	}
	return max(wait, min(asked, maxWait))
}

// spreadOut returns d, or up to a tenth more.
func spreadOut(d time.Duration) time.Duration {
	return d + rand.N(d/10+1) // #nosec G404 -- spreads load, guards nothing
}

// longer returns the pause after one of d.
func longer(d time.Duration) time.Duration {
	return min(max(minPause, 2*d), maxPause)
}

// pause waits; false: ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
