package outbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/store"
)

// dispatcher looks after the lanes that ask for it, in the order in which they
// ask. It waits neither for the store nor for a target: errands and attempts are
// goroutines of their own, started when there is something to do.
type dispatcher struct {
	relay   *Relay
	workers sync.WaitGroup
	errands sync.WaitGroup
	looks   map[*lane]time.Time // when to look at a lane again
	timer   *time.Timer         // of the earliest of looks
	armed   time.Time           // what it is set to; zero: it is not
}

// run serves the lanes until ctx is done. Attempts are made under sending, which
// outlives ctx.
func (p *dispatcher) run(ctx, sending context.Context) {
	p.looks = map[*lane]time.Time{}
	p.timer = time.NewTimer(time.Hour)
	defer p.timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-p.relay.asks:
			p.attend(ctx, sending, l, true)
		case <-p.timer.C:
			p.armed = time.Time{}
			for l, at := range p.looks {
				if !time.Now().Before(at) {
					p.attend(ctx, sending, l, false)
				}
			}
		}
		p.arm()
	}
}

// attend does what a lane wants done; heard: it asked for it.
func (p *dispatcher) attend(ctx, sending context.Context, l *lane, heard bool) {
	plan := l.plan(time.Now(), heard)
	for range plan.workers {
		p.workers.Go(func() { p.relay.work(sending, l) })
	}
	if !plan.errand.empty() {
		p.errands.Go(func() { p.relay.run(ctx, l, &plan.errand) })
	}
	if plan.next.IsZero() {
		delete(p.looks, l)
	} else {
		p.looks[l] = plan.next
	}
}

// arm sets the timer to the earliest look.
func (p *dispatcher) arm() {
	var first time.Time
	for _, at := range p.looks {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if first.Equal(p.armed) {
		return
	}
	if first.IsZero() {
		p.timer.Stop()
	} else {
		p.timer.Reset(time.Until(first))
	}
	p.armed = first
}

// run does a lane's errand, and tells the lane.
func (r *Relay) run(ctx context.Context, l *lane, e *errand) {
	if len(e.free) > 0 {
		r.free(ctx, l, e)
		return
	}
	bounded, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	failpoint.Hit(failpoint.BeforeClaim)
	ds, err := r.config.Queue.Claim(bounded, e.claim)
	failpoint.Hit(failpoint.AfterClaim)
	if err != nil {
		r.complain(ctx, "claiming", err)
		l.failed(e, time.Now())
		return
	}
	l.claimed(e, ds, time.Now())
}

// free gives deliveries back untried. Repeating it does no harm: another's lease
// is of another epoch.
func (r *Relay) free(ctx context.Context, l *lane, e *errand) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	leases := make([]store.Lease, len(e.free))
	for i, d := range e.free {
		leases[i] = d.Lease()
	}
	if err := r.config.Queue.Free(ctx, e.free[0].Owner, leases); err != nil {
		r.complain(ctx, "giving deliveries back", err)
		l.failed(e, time.Now())
		return
	}
	l.freed(e.free)
}

// complain logs an error of the store, unless it is the end of the relay that shows.
func (r *Relay) complain(ctx context.Context, what string, err error) {
	if !errors.Is(ctx.Err(), context.Canceled) {
		r.complaints.tell(what, err)
	}
}
