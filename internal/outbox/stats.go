package outbox

import (
	"context"
	"sync/atomic"

	"github.com/rowcast/rowcast/internal/store"
)

// Counts are attempts since the process started.
type Counts struct {
	Attempted uint64 // requests made
	Delivered uint64 // accepted
	Retried   uint64 // to be made again
	Failed    uint64 // given up: they wait for an operator
	LeaseLost uint64 // what they came to was not written: the delivery was another's by then
}

// Counters are those of one instance.
type Counters struct {
	Counts
	Expired uint64            // how often this instance's own lease ran out
	Targets map[string]Counts // by name; every declared one
}

// TargetStats is how a target does, seen from this instance.
type TargetStats struct {
	Target
	InFlight int    // attempts
	Breaker  string // "closed", "open", or "probing": one attempt is under way to find out
}

// Stats is what an operator is shown.
type Stats struct {
	Depths   []store.Depth // of the whole queue
	Counters Counters
	Targets  []TargetStats // as declared
}

// counts is Counts as it is counted.
type counts struct {
	attempted, delivered, retried, failed, leaseLost atomic.Uint64
}

// settled counts what an attempt came to.
func (c *counts) settled(o store.Outcome, stale bool) {
	switch {
	case stale:
		c.leaseLost.Add(1)
	case o == store.Delivered:
		c.delivered.Add(1)
	case o == store.Retried:
		c.retried.Add(1)
	default:
		c.failed.Add(1)
	}
}

func (c *counts) read() Counts {
	return Counts{
		Attempted: c.attempted.Load(),
		Delivered: c.delivered.Load(),
		Retried:   c.retried.Load(),
		Failed:    c.failed.Load(),
		LeaseLost: c.leaseLost.Load(),
	}
}

// Counters reads this instance's counters. It does not call the store.
func (r *Relay) Counters() Counters {
	all := Counters{Expired: r.expired.Load(), Targets: make(map[string]Counts, len(r.order))}
	for _, l := range r.order {
		c := l.counts.read()
		all.Targets[l.target.Name] = c
		all.Attempted += c.Attempted
		all.Delivered += c.Delivered
		all.Retried += c.Retried
		all.Failed += c.Failed
		all.LeaseLost += c.LeaseLost
	}
	return all
}

// Depths returns the last reading of the queue's depths, some 10 s old at most
// unless the store is slow; nil before the first. It does not call the store.
// The slice is not to be changed.
func (r *Relay) Depths() []store.Depth {
	if last := r.depths.Load(); last != nil {
		return *last
	}
	return nil
}

// Stats reads the depths anew, and the rest from memory.
func (r *Relay) Stats(ctx context.Context) (Stats, error) {
	depths, err := r.config.Queue.Depths(ctx)
	if err != nil {
		return Stats{}, err
	}
	r.depths.Store(&depths)
	return Stats{Depths: depths, Counters: r.Counters(), Targets: r.Targets()}, nil
}

// Targets reads how each target does, as declared. It does not call the store.
func (r *Relay) Targets() []TargetStats {
	all := make([]TargetStats, len(r.order))
	for i, l := range r.order {
		all[i] = l.stats()
	}
	return all
}

func (l *lane) stats() TargetStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return TargetStats{Target: l.target, InFlight: l.running, Breaker: l.breaker.state()}
}
