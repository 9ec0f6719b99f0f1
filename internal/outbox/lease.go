package outbox

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// The lease of an instance.
const (
	leaseTime  = 15 * time.Second
	renewEvery = 5 * time.Second
	// trustFor is how long after the last renewal that succeeded attempts are
	// started: one that starts then has its answer, as a rule, before another
	// instance may send the same.
	trustFor  = 10 * time.Second
	renewTime = 4 * time.Second // bounds one renewal
	renewWait = time.Second     // after one that failed
)

// registration is one name under which this instance is, or was, registered.
type registration struct {
	owner string
	good  atomic.Pointer[time.Time] // when the last renewal that succeeded began
}

// doubtful reports whether that is too long ago, by either clock: the monotonic
// one goes on while the process is stopped, but not while the machine is, and the
// wall clock may be set back.
func (r *registration) doubtful() bool {
	now, good := time.Now(), *r.good.Load()
	return now.Sub(good) >= trustFor || now.Round(0).Sub(good.Round(0)) >= trustFor
}

// lease knows under which name this instance may work, and whether it still may.
type lease struct {
	current atomic.Pointer[registration] // nil: not registered
}

// registered returns the name under which deliveries are leased; "": none.
func (l *lease) registered() string {
	if reg := l.current.Load(); reg != nil {
		return reg.owner
	}
	return ""
}

// owner is registered where the lease is known to hold, and "" where it is not.
func (l *lease) owner() string {
	reg := l.current.Load()
	if reg == nil || reg.doubtful() {
		return ""
	}
	return reg.owner
}

// keep holds a lease until ctx is done, under a new name whenever one was lost.
func (r *Relay) keep(ctx context.Context) {
	for r.enlist(ctx) && r.renew(ctx) {
		r.expired.Add(1)
		r.config.Logger.Warn("deliveries: this instance's lease ran out; another may have sent what it held")
	}
}

// enlist registers under a new name; false: ctx is done. What was leased to an
// earlier one and is not in flight is forgotten.
func (r *Relay) enlist(ctx context.Context) bool {
	r.lease.current.Store(nil)
	r.forget()
	for wait := time.Duration(0); ; {
		reg := &registration{owner: r.config.NewID()} // a new one each time: an earlier one may have been registered unseen
		began := time.Now()
		reg.good.Store(&began)
		err := r.enlistAs(ctx, reg.owner)
		if err == nil {
			r.lease.current.Store(reg)
			r.rouseAll()
			return true
		}
		r.complain(ctx, "registering this instance", err)
		wait = longer(wait)
		if !pause(ctx, wait) {
			return false
		}
	}
}

func (r *Relay) enlistAs(ctx context.Context, owner string) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return r.config.Queue.Enlist(ctx, store.Instance{Owner: owner, Targets: r.names, Lease: leaseTime})
}

// renew prolongs the lease until it is lost (true) or ctx is done (false).
func (r *Relay) renew(ctx context.Context) (lost bool) {
	reg := r.lease.current.Load()
	for wait := renewEvery; pause(ctx, wait); {
		began := time.Now()
		held, err := r.renewOnce(ctx, reg.owner)
		switch {
		case err != nil:
			r.complain(ctx, "prolonging the lease", err)
			wait = renewWait
		case !held:
			return true
		default:
			trusted := r.lease.owner() != ""
			reg.good.Store(&began)
			if !trusted {
				r.rouseAll()
			}
			wait = max(0, renewEvery-time.Since(began))
		}
	}
	return false
}

func (r *Relay) renewOnce(ctx context.Context, owner string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, renewTime)
	defer cancel()
	return r.config.Queue.Renew(ctx, owner)
}

// forget has all lanes forget what is leased under another name than the present.
func (r *Relay) forget() {
	for _, l := range r.order {
		l.forget()
	}
}

// resign gives back what is left.
func (r *Relay) resign(ctx context.Context) {
	owner := r.lease.registered()
	r.lease.current.Store(nil)
	if owner == "" {
		return
	}
	if _, err := r.config.Queue.Resign(ctx, owner); err != nil {
		r.complaints.tell("giving the lease back", err)
	}
}
