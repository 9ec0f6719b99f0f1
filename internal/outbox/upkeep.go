package outbox

import (
	"context"
	"time"

	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/store"
)

// How often the queue is looked at, and in what steps.
const (
	watchEvery   = time.Second
	sweepEvery   = 3 * time.Second // with leaseTime and the sending it is below the 20 s in which a dead instance's work is taken over
	sweepMost    = 500
	pruneEvery   = time.Minute
	pruneMost    = 500
	pruneWait    = 25 * time.Millisecond
	measureEvery = 10 * time.Second
	auditAge     = 20 * time.Second // no hand-over takes as long
	auditMost    = 256
	lazy         = 10 // a look waits this many times as long as the last one took,
	laziest      = 3  // but not more than this many times its usual wait
)

// every calls step each d, or so, until ctx is done. A step that takes long is
// made less often.
func every(ctx context.Context, d time.Duration, step func(context.Context)) {
	wait := spreadOut(d)
	for pause(ctx, wait) {
		began := time.Now()
		bounded, cancel := context.WithTimeout(ctx, max(d, storeTime))
		step(bounded)
		cancel()
		took := time.Since(began)
		wait = spreadOut(max(d-took, min(lazy*took, laziest*d)))
	}
}

// watch asks the queue when the first delivery of each lane falls due: so what
// other instances left or put back is found.
func (r *Relay) watch(ctx context.Context) {
	lanes := make([]store.Lane, len(r.order))
	for i, l := range r.order {
		lanes[i] = store.Lane{Target: l.target.Name, Ordered: l.target.Ordered}
	}
	every(ctx, watchEvery, func(ctx context.Context) {
		if r.lease.owner() == "" {
			return
		}
		first, err := r.config.Queue.Next(ctx, lanes)
		if err != nil {
			r.complain(ctx, "looking for what is due", err)
			return
		}
		now := time.Now()
		for _, l := range r.order {
			in, waits := first[l.target.Name]
			l.firstDue(now.Add(in), waits, now)
		}
	})
}

// sweepOn takes care of what dead instances and targets left, and of what is
// leased to this instance without its knowing.
func (r *Relay) sweepOn(ctx context.Context) {
	every(ctx, sweepEvery, func(ctx context.Context) {
		if r.lease.owner() != "" {
			r.sweep(ctx)
			r.audit(ctx)
		}
	})
}

// sweep removes instances that are dead, and frees what they held. Never while
// this instance's own lease is in doubt: if it had run out, a target that only
// this instance declares would count as declared by nobody.
func (r *Relay) sweep(ctx context.Context) {
	for more := true; more && r.lease.owner() != ""; {
		swept, err := r.sweepOnce(ctx)
		if err != nil {
			r.complain(ctx, "sweeping up after dead instances", err)
			return
		}
		if swept.Freed > 0 {
			r.rouseAll()
		}
		if swept.Failed > 0 {
			r.config.Logger.Warn("deliveries: some are for a target that no instance declares; they wait for an operator", "count", swept.Failed)
		}
		more = swept.More && ctx.Err() == nil
	}
}

// sweepOnce is one step. It gives up before the lease can have run out that was
// trusted when it began.
func (r *Relay) sweepOnce(ctx context.Context) (store.Swept, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTime-trustFor-time.Second)
	defer cancel()
	failpoint.Hit(failpoint.BeforeSweep)
	defer failpoint.Hit(failpoint.AfterSweep)
	return r.config.Queue.Sweep(ctx, sweepMost)
}

// audit adopts what is leased to this instance and not in memory: of a commit
// or a claim whose answer was lost. The memory is looked at before the queue, so
// that nothing that leaves it meanwhile is taken for unknown.
func (r *Relay) audit(ctx context.Context) {
	owner := r.lease.owner()
	if owner == "" {
		return
	}
	known := map[store.Lease]struct{}{}
	for _, l := range r.order {
		l.snapshot(known)
	}
	held, err := r.config.Queue.Held(ctx, owner, auditAge, len(known)+auditMost)
	if err != nil {
		r.complain(ctx, "looking for deliveries whose hand-over was lost", err)
		return
	}
	for _, d := range held {
		if _, is := known[d.Lease()]; is {
			continue
		}
		if l := r.lanes[d.Target]; l != nil {
			l.adopt(d)
		}
	}
}

// schedule takes part in the scheduler's turns: whoever of a fleet has this one
// sweeps, and claims what is due.
func (r *Relay) schedule(ctx context.Context) {
	every(ctx, r.config.Every, func(ctx context.Context) {
		owner := r.lease.owner()
		if owner == "" {
			return
		}
		mine, err := r.config.Queue.Turn(ctx, "outbox", owner, r.config.Every)
		if err != nil {
			r.complain(ctx, "taking a turn", err)
			return
		}
		if mine {
			r.sweep(ctx)
			r.rouseAll()
		}
	})
}

// prune removes what is old from the attempt log, in small steps.
func (r *Relay) prune(ctx context.Context) {
	if r.config.Retention <= 0 {
		return
	}
	every(ctx, pruneEvery, func(ctx context.Context) {
		before := r.config.Now().Add(-r.config.Retention)
		for {
			more, err := r.config.Queue.PruneAttempts(ctx, before, pruneMost)
			if err != nil {
				r.complain(ctx, "pruning the attempt log", err)
				return
			}
			if !more || !pause(ctx, pruneWait) {
				return
			}
		}
	})
}

// measure keeps the depths for whoever reads metrics.
func (r *Relay) measure(ctx context.Context) {
	read := func(ctx context.Context) {
		depths, err := r.config.Queue.Depths(ctx)
		if err != nil {
			r.complain(ctx, "counting what is queued", err)
			return
		}
		r.depths.Store(&depths)
	}
	read(ctx)
	every(ctx, measureEvery, read)
}
