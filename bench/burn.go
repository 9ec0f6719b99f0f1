package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// burst is the time between two bursts of a burner: so often an instance looks
// at the log of a database that is written to without a pause.
const burst = 100 * time.Millisecond

// burner keeps processors busy with work that touches nothing.
type burner struct {
	work func()        // one unit
	unit time.Duration // what it takes on an idle processor
}

// burn keeps so many cores busy, with n goroutines that take turns with everybody
// else. The function it returns ends it, and waits until it has ended.
func burn(ctx context.Context, cores float64, n int) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	b := newBurner()
	for range n {
		running.Go(func() { b.run(ctx, cores/float64(n)) })
	}
	return func() {
		cancel()
		running.Wait()
	}
}

// newBurner learns how long a unit takes, from the fastest of many.
func newBurner() burner {
	b := burner{work: spin, unit: time.Hour}
	for range 100 {
		start := time.Now()
		b.work()
		b.unit = max(1, min(b.unit, time.Since(start)))
	}
	return b
}

// run does a share of one core's work, in bursts, until ctx is done. What it
// could not do in time, because others had the processor, it does later.
func (b burner) run(ctx context.Context, share float64) {
	ticker := time.NewTicker(burst)
	defer ticker.Stop()
	start, done := time.Now(), time.Duration(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		owed := time.Duration(share * float64(time.Since(start)))
		for done < owed && ctx.Err() == nil {
			b.work()
			done += b.unit
		}
	}
}

// spun takes what spin computes, so that it is computed.
var spun atomic.Uint64

// spin is about fifty microseconds of arithmetic.
func spin() {
	x := uint64(time.Now().UnixNano()) | 1 // #nosec G115 -- any number will do
	for range 30_000 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	spun.Store(x)
}
