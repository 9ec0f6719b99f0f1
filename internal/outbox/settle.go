package outbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/store"
)

// settleMost is how many outcomes are written in one transaction.
const settleMost = 256

// settling is the outcome of an attempt on its way into the queue.
type settling struct {
	lane       *lane
	owner      string // under whom the attempt was made
	settlement store.Settlement
	doubtful   bool // it may have been written already: then it means nothing when the lease is gone
}

// settler gathers outcomes of all lanes: while some are written the next gather.
// It waits for the store alone. How many can wait is bounded by the lanes.
type settler struct {
	wake chan struct{}

	mu      sync.Mutex
	waiting []settling
	closed  bool // nothing comes any more
}

// add hands an outcome over. It never blocks.
func (s *settler) add(o settling) {
	s.mu.Lock()
	s.waiting = append(s.waiting, o)
	s.mu.Unlock()
	s.rouse()
}

func (s *settler) rouse() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close lets the settling end when everything is written.
func (s *settler) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.rouse()
}

// next takes what waits and was made under one owner, the oldest first.
func (s *settler) next() (batch []settling, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.waiting) && n < settleMost && s.waiting[n].owner == s.waiting[0].owner {
		n++
	}
	batch = s.waiting[:n:n]
	if s.waiting = s.waiting[n:]; len(s.waiting) == 0 {
		s.waiting = nil
	}
	return batch, !s.closed
}

// settle writes outcomes until there will be no more, or ctx is done.
func (r *Relay) settle(ctx context.Context) {
	for {
		batch, more := r.settler.next()
		if len(batch) > 0 {
			r.write(ctx, batch)
			if ctx.Err() != nil {
				return
			}
			continue
		}
		if !more {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-r.settler.wake:
		}
	}
}

// write writes outcomes of one owner, however often it takes.
func (r *Relay) write(ctx context.Context, batch []settling) {
	settlements := make([]store.Settlement, len(batch))
	for i := range batch {
		settlements[i] = batch[i].settlement
	}
	for wait := time.Duration(0); ; {
		lost, err := r.complete(ctx, batch[0].owner, settlements)
		if err == nil {
			r.settled(batch, lost)
			return
		}
		r.complain(ctx, "writing down what attempts came to", err)
		if mayStand(err) {
			for i := range batch {
				batch[i].doubtful = true
			}
		}
		if !unreachable(err) && len(batch) > 1 {
			// One of them cannot be written; it must not hold up the others.
			half := len(batch) / 2
			r.write(ctx, batch[:half])
			r.write(ctx, batch[half:])
			return
		}
		wait = longer(wait)
		if !pause(ctx, wait) {
			return
		}
		if !unreachable(err) {
			r.settler.add(batch[0]) // behind the others
			return
		}
	}
}

// complete is one call of Settle.
func (r *Relay) complete(ctx context.Context, owner string, settlements []store.Settlement) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	failpoint.Hit(failpoint.BeforeCompletion)
	lost, err := r.config.Queue.Settle(ctx, owner, settlements)
	failpoint.Hit(failpoint.AfterCompletion)
	return lost, err
}

// mayStand reports whether what failed may have been done all the same.
func mayStand(err error) bool {
	return errors.Is(err, store.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrTimeout)
}

// unreachable reports whether the same may well succeed later.
func unreachable(err error) bool {
	return mayStand(err) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrClosed) || errors.Is(err, context.Canceled)
}

// settled tells the lanes, and counts.
func (r *Relay) settled(batch []settling, lost []string) {
	var gone map[string]bool
	if len(lost) > 0 {
		gone = make(map[string]bool, len(lost))
		for _, id := range lost {
			gone[id] = true
		}
	}
	now := time.Now()
	for i := range batch {
		s := &batch[i].settlement
		stale := gone[s.Lease.ID] && !batch[i].doubtful
		var due time.Time
		if s.Outcome == store.Retried && !stale {
			due = now.Add(s.Wait)
		}
		batch[i].lane.counts.settled(s.Outcome, stale)
		batch[i].lane.settled(s, due, stale)
	}
}
