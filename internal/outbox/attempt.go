package outbox

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// work sends what is ready in a lane, one after the other, until there is nothing more.
func (r *Relay) work(ctx context.Context, l *lane) {
	for {
		d := l.take()
		if d == nil {
			return
		}
		r.attempt(ctx, l, d)
	}
}

// attempt sends one delivery. One that the end of the relay cut short is no
// attempt: the delivery is freed with what else is held.
func (r *Relay) attempt(ctx context.Context, l *lane, d *store.Delivery) {
	result := l.poster.Post(ctx, d)
	if ctx.Err() != nil && result.Class != post.Accepted && result.Status == 0 {
		return
	}
	l.counts.attempted.Add(1)
	switch opened, closed := l.result(result.Alive); {
	case opened:
		r.config.Logger.Warn("deliveries: a target does not answer as it should; one delivery at a time probes it",
			"target", l.target.Name, "status", result.Status, "err", result.Error)
	case closed:
		r.config.Logger.Info("deliveries: a target answers again", "target", l.target.Name)
	}
	r.settler.add(settling{lane: l, owner: d.Owner, settlement: settlement(d, &result, rand.Float64())}) // #nosec G404 -- spreads load, guards nothing
}

// settlement is what an attempt's result comes to; share spreads the wait.
func settlement(d *store.Delivery, result *post.Result, share float64) store.Settlement {
	n := d.Attempts + 1
	s := store.Settlement{Lease: d.Lease(), Outcome: outcomeOf(result.Class, n)}
	if s.Outcome == store.Retried {
		s.Wait = waitAfter(n, result.RetryAfter, share)
	}
	s.Attempt = store.Attempt{
		Delivery: d.ID,
		Target:   d.Target,
		Number:   n,
		At:       result.At.UTC().Truncate(time.Microsecond),
		Took:     result.Took,
		Status:   result.Status,
		Error:    storable(result.Error),
		Outcome:  s.Outcome,
	}
	return s
}

// storable returns text that every database takes: an outcome that cannot be
// written would hold up those behind it.
func storable(text string) string {
	if text == "" {
		return ""
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// result takes in whether an attempt found the target alive. When that opens the
// breaker, what is in memory is given back; when it closes it, the lane goes on.
func (l *lane) result(alive bool) (opened, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending++
	l.used++
	opened, closed = l.breaker.result(alive)
	if opened {
		l.stride = 2 * l.target.MaxInFlight
		l.endDrains()
	}
	if opened || closed {
		l.look = true
		l.ask()
	}
	return opened, closed
}

// settled takes in that an attempt was written down. due is when a retry falls
// due, zero where there is none.
func (l *lane) settled(s *store.Settlement, due time.Time, stale bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending--
	retried := !due.IsZero()
	l.breaker.settled(s.Lease.ID, retried, due)
	if retried {
		l.dues.add(due)
	}
	if l.target.Ordered && s.Outcome == store.Delivered {
		l.look = true // the next of that row
	}
	if !stale {
		l.countDrains(s.Outcome)
	}
	l.leave(s.Lease)
	if l.look || l.breaker.open || retried {
		l.ask()
	}
}
