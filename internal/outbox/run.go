package outbox

import (
	"context"
	"sync"
	"time"
)

// Bounds of the end.
const (
	finishTime = 5 * time.Second // for attempts in flight
	writeTime  = 5 * time.Second // for what they came to
	resignTime = 5 * time.Second
)

// Run is the life of the relay, until ctx is done. Then no attempt starts any
// more; those in flight are waited for, but not for long; what attempts came to
// is written, and what is left is given back. The store must outlive it.
func (r *Relay) Run(ctx context.Context) error {
	if !r.begun.CompareAndSwap(false, true) {
		return errTwice
	}
	whole := context.WithoutCancel(ctx)
	leasing, unlease := context.WithCancel(whole)
	defer unlease()
	writing, unwrite := context.WithCancel(whole)
	defer unwrite()
	sending, unsend := context.WithCancel(whole)
	defer unsend()

	var keeper, writer, helpers sync.WaitGroup
	keeper.Go(func() { r.keep(leasing) })
	writer.Go(func() { r.settle(writing) })
	for _, help := range []func(context.Context){r.watch, r.sweepOn, r.schedule, r.prune, r.measure} {
		helpers.Go(func() { help(ctx) })
	}
	d := &dispatcher{relay: r}
	d.run(ctx, sending)

	for _, l := range r.order {
		l.stop()
	}
	close(r.ended)
	within(finishTime, &d.workers, unsend)
	d.errands.Wait()
	helpers.Wait()
	r.settler.close()
	within(writeTime, &writer, unwrite)
	unlease()
	keeper.Wait()
	r.leaveQueue(whole)
	for _, l := range r.order {
		l.poster.Close()
	}
	return nil
}

// leaveQueue resigns.
func (r *Relay) leaveQueue(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, resignTime)
	defer cancel()
	r.resign(ctx)
}

// within waits for a group, and has it cut short when it takes longer than d.
func within(d time.Duration, group *sync.WaitGroup, cut context.CancelFunc) {
	timer := time.AfterFunc(d, cut)
	defer timer.Stop()
	group.Wait()
}
