package outbox

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// Drained says what became of deliveries while a queue was drained.
type Drained struct {
	Attempted, Delivered, Retried, Failed int
}

// drain is one wish to have everything attempted that is due, in one lane.
type drain struct {
	after   int  // a claim later than this one, and not full, has brought the last that was due
	probing bool // it began with the breaker open
	drained Drained
	round   int                      // delivered before the present round
	waiting map[store.Lease]struct{} // what must still be settled; nil: the last has not been claimed
	done    chan struct{}
}

// Drain attempts what is due, on this instance, and returns when what that came
// to is written: what other instances hold is theirs. Of a target whose breaker
// is open it attempts the probe, and where that closes it the rest too. The
// counts are right whatever the error: that of ctx, or ErrStopped.
func (r *Relay) Drain(ctx context.Context) (Drained, error) {
	var sum Drained
	drains := make([]*drain, len(r.order))
	now := time.Now()
	for i, l := range r.order {
		drains[i] = l.drain(now)
	}
	err := r.await(ctx, drains)
	for i, l := range r.order {
		d := l.undrain(drains[i])
		sum.Attempted += d.Attempted
		sum.Delivered += d.Delivered
		sum.Retried += d.Retried
		sum.Failed += d.Failed
	}
	return sum, err
}

// await waits until all are done.
func (r *Relay) await(ctx context.Context, drains []*drain) error {
	for _, d := range drains {
		select {
		case <-d.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-r.ended:
			return ErrStopped
		}
	}
	return nil
}

// drain begins one.
func (l *lane) drain(now time.Time) *drain {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := &drain{after: l.claims, probing: l.breaker.open, done: make(chan struct{})}
	switch {
	case !l.breaker.held:
	case l.errand:
		d.after-- // the probe is being claimed
	default:
		d.waiting = maps.Clone(l.known) // it is under way
	}
	l.drains = append(l.drains, d)
	l.look = true
	l.breaker.now(now)
	l.ask()
	return d
}

// undrain ends one, and returns its counts.
func (l *lane) undrain(d *drain) Drained {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.drains, d); i >= 0 {
		l.drains = slices.Delete(l.drains, i, i+1)
	}
	return d.drained
}

// tellDrains takes in that a claim has come back, under mu. What the lane knows
// now is what there was to attempt, unless there may be more to claim.
func (l *lane) tellDrains(e *errand, full bool) {
	if e.probe && l.breaker.open {
		full = l.trial == nil && e.claim.Only != "" // another is to be the probe
	}
	for _, d := range slices.Clone(l.drains) {
		if d.waiting == nil && !full && e.seq > d.after {
			d.waiting = maps.Clone(l.known)
			l.checkDrain(d)
		}
	}
}

// endDrains has no more claimed for drains, under mu: the breaker has opened.
func (l *lane) endDrains() {
	for _, d := range l.drains {
		if d.waiting == nil {
			d.waiting = maps.Clone(l.known)
		}
	}
}

// countDrains counts an outcome, under mu.
func (l *lane) countDrains(o store.Outcome) {
	for _, d := range l.drains {
		d.drained.Attempted++
		switch o {
		case store.Delivered:
			d.drained.Delivered++
		case store.Retried:
			d.drained.Retried++
		case store.GivenUp:
			d.drained.Failed++
		}
	}
}

// leaveDrains takes in that a delivery was settled or freed, under mu.
func (l *lane) leaveDrains(lease store.Lease) {
	for _, d := range slices.Clone(l.drains) {
		if d.waiting != nil {
			delete(d.waiting, lease)
			l.checkDrain(d)
		}
	}
}

// checkDrain ends a drain for which nothing is left, unless there is a next
// round: the probe has closed the breaker, or what was delivered may have let
// the next event of its row go.
func (l *lane) checkDrain(d *drain) {
	if len(d.waiting) > 0 {
		return
	}
	closed := d.probing && !l.breaker.open
	next := l.target.Ordered && d.drained.Delivered > d.round
	if closed || next && !l.breaker.open {
		d.probing, d.round, d.waiting, d.after = false, d.drained.Delivered, nil, l.claims
		l.look = true
		l.ask()
		return
	}
	l.drains = slices.DeleteFunc(l.drains, func(other *drain) bool { return other == d })
	close(d.done)
}
