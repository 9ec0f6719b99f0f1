package outbox

import (
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// plan is what a lane wants done now.
type plan struct {
	workers int       // to be started
	errand  errand    // for the store
	next    time.Time // when to look at the lane again, if nobody asks before; zero: no need
}

// errand is one thing to ask of the store: to take deliveries back, or a claim.
type errand struct {
	free  []*store.Delivery
	claim store.Claim // Limit 0: none
	probe bool        // the claim is for the probe
	seq   int         // which claim of the lane it is
}

func (e *errand) empty() bool { return len(e.free) == 0 && e.claim.Limit == 0 }

// plan decides what the lane does next: nothing while the lease is not known to
// hold; it is asked again when it does. heard: the lane has just been taken out
// of asks.
func (l *lane) plan(now time.Time, heard bool) (p plan) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if heard {
		l.asked = false
	}
	owner := l.lease.owner()
	if l.stopped || owner == "" {
		return plan{}
	}
	if l.breaker.open {
		l.unwanted = append(l.unwanted, l.ready...)
		l.ready = nil
	}
	if !l.tick.IsZero() && !now.Before(l.tick) {
		l.tick, l.look = time.Time{}, true
	}
	if l.dues.reached(now) {
		l.look = true
	}
	p.workers = l.staff()
	l.running += p.workers
	if l.errand {
		return p // its end asks again
	}
	p.errand = l.nextErrand(now, owner)
	l.errand = !p.errand.empty()
	p.next = l.nextLook(now)
	return p
}

// staff is how many workers to start, under mu.
func (l *lane) staff() int {
	work := len(l.ready)
	if l.trial != nil {
		work++
	}
	return max(0, min(work, l.target.MaxInFlight-l.running))
}

// nextErrand is what to ask of the store now, if anything, under mu.
func (l *lane) nextErrand(now time.Time, owner string) (e errand) {
	if now.Before(l.notBefore) {
		return e
	}
	if len(l.unwanted) > 0 {
		e.free, l.unwanted = l.unwanted, nil
		return e
	}
	e.claim = store.Claim{Owner: owner, Target: l.target.Name, Ordered: l.target.Ordered}
	if l.breaker.open {
		l.claimProbe(now, &e)
	} else if l.look {
		if want := min(l.batch()-len(l.ready), l.room()); want >= (l.batch()+1)/2 {
			e.claim.Limit, l.look = want, false
		}
	}
	if e.claim.Limit > 0 {
		l.claims++
		e.seq = l.claims
	}
	return e
}

// claimProbe claims the probe when it is due, or, where there is none, whichever
// delivery is due first; but not before it is known what the attempts came to
// that were under way when the breaker opened: one of them is to be the probe.
func (l *lane) claimProbe(now time.Time, e *errand) {
	b := &l.breaker
	switch {
	case b.held:
		return
	case b.probe != "":
		if now.Before(b.due) {
			return
		}
		e.claim.Only = b.probe
	case l.look && l.running+l.pending == 0:
		l.look = false
	default:
		return
	}
	e.claim.Limit, e.probe = 1, true
	b.claiming()
}

// nextLook is when something falls due that nobody will tell of, under mu.
func (l *lane) nextLook(now time.Time) (next time.Time) {
	if l.errand {
		return next
	}
	earliest := func(t time.Time) {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	earliest(l.notBefore)
	earliest(l.tick)
	earliest(l.dues.first())
	if b := &l.breaker; b.open && b.probe != "" && !b.held {
		earliest(b.due)
	}
	return next
}

// claimed takes in what a claim came to.
func (l *lane) claimed(e *errand, ds []*store.Delivery, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errand, l.pause, l.notBefore = false, 0, time.Time{}
	full := len(ds) == e.claim.Limit
	l.backlog = full
	if full {
		l.look = true
	}
	if e.probe {
		l.claimedProbe(e, ds)
	} else if full {
		l.pace(now)
	}
	for _, d := range ds {
		l.enter(d)
	}
	l.tellDrains(e, full)
	l.ask()
}

// claimedProbe puts the probe where a worker finds it, unless the breaker closed
// meanwhile: then it is a delivery like others.
func (l *lane) claimedProbe(e *errand, ds []*store.Delivery) {
	if !l.breaker.open {
		l.look = true
		return
	}
	if len(ds) == 0 || ds[0].Owner != l.lease.registered() {
		l.breaker.claimed("")
		l.look = l.look || e.claim.Only != "" // whichever is due next
		return
	}
	l.breaker.claimed(ds[0].ID)
	l.trial = ds[0]
	l.known[l.trial.Lease()] = struct{}{}
}

// pace adapts how much is claimed to how fast it goes.
func (l *lane) pace(now time.Time) {
	least := 2 * l.target.MaxInFlight
	switch {
	case now.Sub(l.filled) >= briskly:
		l.stride = max(l.stride/2, least)
	case l.used >= l.stride/2: // what only waits in a worker's hands is not used up
		l.stride = min(2*l.stride, max(laneRoom, least))
	}
	l.filled, l.used = now, 0
}

// freed takes in that deliveries were given back.
func (l *lane) freed(ds []*store.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errand, l.pause, l.notBefore = false, 0, time.Time{}
	for _, d := range ds {
		l.leave(d.Lease())
	}
	l.ask()
}

// failed takes in that the store did not do an errand: it is to be tried again.
func (l *lane) failed(e *errand, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errand = false
	l.pause = longer(l.pause)
	l.notBefore = now.Add(l.pause)
	l.unwanted = append(l.unwanted, l.drop(e.free, l.lease.registered())...)
	if e.claim.Limit > 0 {
		l.look = true
	}
	if e.probe && l.breaker.open {
		l.breaker.unclaimed()
	}
	l.ask()
}

// leave removes a lease from memory, under mu.
func (l *lane) leave(lease store.Lease) {
	delete(l.known, lease)
	l.leaveDrains(lease)
}

// forget removes what is not in flight and leased under another name than the present.
func (l *lane) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	owner := l.lease.registered()
	l.ready = l.drop(l.ready, owner)
	l.unwanted = l.drop(l.unwanted, owner)
	if l.trial != nil && l.trial.Owner != owner {
		l.leave(l.trial.Lease())
		l.trial = nil
		l.breaker.forgotten()
	}
	l.look = true
	l.ask()
}

// drop leaves what is not leased to owner, and returns the rest.
func (l *lane) drop(ds []*store.Delivery, owner string) []*store.Delivery {
	kept := ds[:0:0]
	for _, d := range ds {
		if d.Owner == owner {
			kept = append(kept, d)
		} else {
			l.leave(d.Lease())
		}
	}
	return kept
}
