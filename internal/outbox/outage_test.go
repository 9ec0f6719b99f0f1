package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/store"
)

// outage makes the named calls fail while it lasts.
type outage struct {
	atomic.Bool
	calls []string
}

func (o *outage) fault(_ context.Context, call string, done bool) error {
	if done || !o.Load() {
		return nil
	}
	for _, c := range o.calls {
		if c == call {
			return store.ErrUnavailable
		}
	}
	return nil
}

// TestAStoreThatIsAwayLosesNoOutcome: what attempts came to is kept, no attempt
// is repeated, and what waits for the store is bounded.
func TestAStoreThatIsAwayLosesNoOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		o := &outage{calls: []string{"Settle"}}
		w.fake.fault = o.fault
		p := w.start(nil, "a")
		synctest.Wait()
		o.Store(true)
		for range 100 {
			w.write(p, "a", 10)
			time.Sleep(time.Second)
		}
		if n := len(r.seen()); n != 256 {
			t.Errorf("%d attempts while their outcomes cannot be written, want 256", n)
		}
		if n := w.fake.called("Claim"); n > 200 {
			t.Errorf("%d claims in 100 s without room", n)
		}
		o.Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if n := len(w.fake.left(0)); n != 0 {
			t.Errorf("%d are left", n)
		}
		for id, n := range times(r.seen()) {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		if c := p.Counters(); c.Delivered != 1000 || c.LeaseLost != 0 {
			t.Errorf("counters %+v", c)
		}
	})
}

// TestAStoreThatIsAwayIsAskedLessAndLess, for a claim and all else; the log says
// so now and then.
func TestAStoreThatIsAwayIsAskedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		var asked atomic.Int64
		var down atomic.Bool
		w.fake.fault = func(_ context.Context, call string, done bool) error {
			if !done && down.Load() && call == "Claim" {
				asked.Add(1)
				return store.ErrUnavailable
			}
			return nil
		}
		var log locked
		p := w.start(func(c *outbox.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, "a")
		synctest.Wait()
		down.Store(true)
		for range 100 {
			w.fake.enqueue(w.delivery("a", "row"))
		}
		p.Committed([]*store.Delivery{w.delivery("a", "row")})
		time.Sleep(time.Minute)
		if n := asked.Load(); n < 10 || n > 30 {
			t.Errorf("%d claims in a minute of outage, want some 20", n)
		}
		if n := strings.Count(log.String(), "claiming"); n < 4 || n > 7 {
			t.Errorf("the log speaks of it %d times in a minute:\n%s", n, log.String())
		}
		down.Store(false)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := len(r.seen()); n != 100 {
			t.Errorf("%d of 100 were sent when it was back", n)
		}
	})
}

// locked is a buffer for several goroutines.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestASettlementWhoseAnswerWasLostIsNoLostLease: the connection broke while it
// was committed. Repeating it finds the leases gone, because they were settled.
func TestASettlementWhoseAnswerWasLostIsNoLostLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		var lose atomic.Bool
		w.fake.fault = func(_ context.Context, call string, done bool) error {
			if call == "Settle" && done && lose.CompareAndSwap(true, false) {
				return store.ErrUnknown
			}
			return nil
		}
		p := w.start(nil, "a")
		synctest.Wait()
		lose.Store(true)
		w.write(p, "a", 10)
		time.Sleep(time.Second)
		synctest.Wait()
		if c := p.Counters(); c.Delivered != 10 || c.LeaseLost != 0 || c.Attempted != 10 {
			t.Errorf("counters %+v", c)
		}
	})
}

// TestAnOutcomeThatCannotBeWrittenHoldsUpNobody: the store refuses one of many,
// for a reason that waiting does not cure.
func TestAnOutcomeThatCannotBeWrittenHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		poisoned := &poisonedQueue{queue: w.fake}
		poisoned.heal.Store(false)
		p := w.start(func(c *outbox.Config) { c.Queue = poisoned }, "a")
		synctest.Wait()
		ds := w.write(p, "a", 1)
		poisoned.id.Store(ds[0].ID)
		for range 20 {
			w.write(p, "a", 10)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if left := w.fake.left(0); len(left) != 1 || left[0].ID != ds[0].ID {
			t.Errorf("%d are left, want the one that cannot be written", len(left))
		}
		poisoned.heal.Store(true)
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(w.fake.left(0)); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

type poisonedQueue struct {
	*queue
	id   atomic.Value
	heal atomic.Bool
}

func (q *poisonedQueue) Settle(ctx context.Context, owner string, all []store.Settlement) ([]string, error) {
	for _, s := range all {
		if s.Lease.ID == q.id.Load() && !q.heal.Load() {
			return nil, errors.New("invalid byte sequence")
		}
	}
	return q.queue.Settle(ctx, owner, all)
}

// TestACommitWhoseAnswerWasLostIsAdopted: it stood, and its deliveries are leased
// to this instance, which does not know of them.
func TestACommitWhoseAnswerWasLostIsAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		var ds []*store.Delivery
		for range 10 {
			d := w.delivery("a", "row")
			d.Owner, _ = p.Reserve("a")
			ds = append(ds, d)
		}
		w.fake.enqueue(ds[:5]...) // the other five did not stand
		p.Dropped(ds[:5], true)
		p.Dropped(ds[5:], true)
		time.Sleep(15 * time.Second)
		if n := len(r.seen()); n != 0 {
			t.Errorf("%d were adopted before their hand-over was overdue", n)
		}
		time.Sleep(12 * time.Second)
		synctest.Wait()
		if seen := times(r.seen()); len(seen) != 5 || len(r.seen()) != 5 || len(w.fake.left(0)) != 0 {
			t.Errorf("%d of 5 were sent, in %d attempts", len(seen), len(r.seen()))
		}
		if n := leased(w.write(p, "a", 256)); n != 256 {
			t.Errorf("%d places of 256 are there: those of the lost commits were not given back", n)
		}
	})
}

// TestTheAuditLeavesWhatIsKnown: deliveries that wait in a slow lane for longer
// than a hand-over takes are sent once.
func TestTheAuditLeavesWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slowly(5 * time.Second)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 100)
		time.Sleep(2 * time.Minute)
		for id, n := range times(r.seen()) {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		if len(w.fake.left(0)) != 0 {
			t.Error("some are left")
		}
	})
}

// TestAStoreThatIsAwayAtTheStart: nothing is lost by it.
func TestAStoreThatIsAwayAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		o := &outage{calls: []string{"Enlist", "Next", "Sweep", "Turn", "Depths"}}
		o.Store(true)
		w.fake.fault = o.fault
		p := w.start(nil, "a")
		time.Sleep(time.Minute)
		if n := leased(w.write(p, "a", 10)); n != 0 {
			t.Errorf("%d were leased to nobody", n)
		}
		o.Store(false)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := len(r.seen()); n != 10 {
			t.Errorf("%d of 10 were sent", n)
		}
	})
}

// TestAFreeThatFailsIsRepeated: the breaker opened while the store was away.
func TestAFreeThatFailsIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(broken)
		w := newWorld(t, map[string]*receiver{"a": r})
		o := &outage{calls: []string{"Free"}}
		o.Store(true)
		w.fake.fault = o.fault
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 50)
		time.Sleep(5 * time.Second)
		if n := len(w.fake.left(store.Claimed)); n < 30 {
			t.Fatalf("%d are leased", n)
		}
		o.Store(false)
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if n := len(w.fake.left(store.Claimed)); n != 0 {
			t.Errorf("%d are still leased", n)
		}
		r.become(accepted)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(w.fake.left(0)); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}
