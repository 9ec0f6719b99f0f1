package outbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// slowly returns a receiver that accepts after a while.
func slowly(d time.Duration) *receiver {
	return &receiver{answer: func(ctx context.Context, _ *store.Delivery) post.Result {
		wait(ctx, d)
		if ctx.Err() != nil {
			return silent
		}
		return accepted
	}}
}

// TestAStaleCompletionIsCountedAndChangesNothing: the lease runs out while
// attempts are in flight, and another instance takes over. What the first one
// has in memory it does not send, and what its attempts come to counts for nothing.
func TestAStaleCompletionIsCountedAndChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slowly(time.Minute)
		w := newWorld(t, map[string]*receiver{"a": r})
		var cut atomic.Bool
		p := w.start(func(c *outbox.Config) { c.Queue = &cutQueue{w.fake, &cut} }, "a")
		synctest.Wait()
		w.write(p, "a", 20)
		synctest.Wait()
		if n := len(r.seen()); n != 8 {
			t.Fatalf("%d in flight, want 8", n)
		}
		other := answers(accepted)
		w.receivers = map[string]*receiver{"a": other}
		q := w.start(nil, "a")
		cut.Store(true)
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if n := len(other.seen()); n != 20 {
			t.Errorf("the other instance took over %d of 20 within 21 s", n)
		}
		cut.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(r.seen()); n != 8 {
			t.Errorf("the first instance made %d attempts, want the 8 that were in flight", n)
		}
		if c := p.Counters(); c.LeaseLost != 8 || c.Delivered != 0 || c.Expired != 1 || c.Attempted != 8 {
			t.Errorf("counters of the first: %+v, want 8 lost leases", c)
		}
		if c := q.Counters(); c.Delivered != 20 || c.LeaseLost != 0 {
			t.Errorf("counters of the other: %+v", c)
		}
		if n := w.fake.logged(); n != 20 {
			t.Errorf("%d attempts are logged, want 20", n)
		}
		// It is back under another name.
		w.receivers["a"] = r
		r.become(accepted)
		if n := leased(w.write(p, "a", 5)); n != 5 {
			t.Errorf("%d of 5 were born leased after it registered anew", n)
		}
	})
}

// cutQueue is a way to a queue that can be cut.
type cutQueue struct {
	*queue
	cut *atomic.Bool
}

func (c *cutQueue) down() error {
	if c.cut.Load() {
		return store.ErrUnavailable
	}
	return nil
}

func (c *cutQueue) Renew(ctx context.Context, owner string) (bool, error) {
	if err := c.down(); err != nil {
		return false, err
	}
	return c.queue.Renew(ctx, owner)
}

func (c *cutQueue) Claim(ctx context.Context, claim store.Claim) ([]*store.Delivery, error) {
	if err := c.down(); err != nil {
		return nil, err
	}
	return c.queue.Claim(ctx, claim)
}

func (c *cutQueue) Settle(ctx context.Context, owner string, s []store.Settlement) ([]string, error) {
	if err := c.down(); err != nil {
		return nil, err
	}
	return c.queue.Settle(ctx, owner, s)
}

func (c *cutQueue) Sweep(ctx context.Context, limit int) (store.Swept, error) {
	if err := c.down(); err != nil {
		return store.Swept{}, err
	}
	return c.queue.Sweep(ctx, limit)
}

// TestNoAttemptStartsWhenTheLeaseIsInDoubt: ten seconds after the last renewal
// that succeeded; and it goes on, with what it has in memory, when one does.
func TestNoAttemptStartsWhenTheLeaseIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slowly(time.Second)
		w := newWorld(t, map[string]*receiver{"a": r})
		var down atomic.Bool
		w.fake.fault = func(_ context.Context, call string, done bool) error {
			if call == "Renew" && down.Load() && !done {
				return store.ErrUnavailable
			}
			return nil
		}
		p := w.start(func(c *outbox.Config) { c.Targets[0].MaxInFlight = 1 }, "a")
		synctest.Wait()
		began := time.Now() // registered
		down.Store(true)
		w.write(p, "a", 30)
		time.Sleep(12 * time.Second)
		seen := r.seen()
		if last := seen[len(seen)-1].at.Sub(began); last >= 10*time.Second || last < 8*time.Second {
			t.Errorf("the last attempt started %v after the last renewal, want just below 10 s", last)
		}
		if _, ok := p.Reserve("a"); ok {
			t.Error("a place was promised while the lease was in doubt")
		}
		n := len(seen)
		down.Store(false)
		time.Sleep(2 * time.Second)
		if len(r.seen()) == n {
			t.Error("it does not go on after a renewal that succeeded")
		}
		if c := p.Counters(); c.Expired != 0 {
			t.Errorf("counters %+v", c)
		}
		time.Sleep(time.Minute)
		for id, n := range times(r.seen()) {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
	})
}

// TestTwoInstancesShareTheWorkAndOneTakesOver: of a backlog both send a good
// part. One dies; within 20 s the other has sent what it held.
func TestTwoInstancesShareTheWorkAndOneTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := slowly(100*time.Millisecond), slowly(100*time.Millisecond)
		w := newWorld(t, map[string]*receiver{"a": one})
		var dead atomic.Bool
		p := w.start(func(c *outbox.Config) { c.Queue = &cutQueue{w.fake, &dead} }, "a")
		w.receivers = map[string]*receiver{"a": two}
		w.start(nil, "a")
		synctest.Wait()
		for range 2000 {
			w.fake.enqueue(w.delivery("a", "row"))
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if a, b := len(one.seen()), len(two.seen()); a < 600 || b < 600 {
			t.Errorf("%d and %d were sent in 10 s, want about 700 each", a, b)
		}
		time.Sleep(10 * time.Second)
		if n := len(w.fake.left(0)); n != 0 {
			t.Fatalf("%d are left", n)
		}
		one.answerBy(func(ctx context.Context, _ *store.Delivery) post.Result {
			<-ctx.Done()
			return silent
		})
		if n := leased(w.write(p, "a", 100)); n != 100 {
			t.Fatalf("%d of 100 were born leased", n)
		}
		dead.Store(true)
		died := time.Now()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if left := w.fake.left(0); len(left) != 0 {
			t.Errorf("%d deliveries of a dead instance are not sent %v after its death", len(left), time.Since(died))
		}
		for id, n := range times(two.seen()) {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
	})
}

// TestAStoppedProcessSendsNothingWhenItGoesOn: all its goroutines stand still
// for 30 s, in the middle of an attempt each. The store's answers come late too.
func TestAStoppedProcessSendsNothingWhenItGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		stopped := make(chan struct{})
		var holding atomic.Bool
		hold := func() {
			if holding.Load() {
				<-stopped
			}
		}
		w.fake.fault = func(_ context.Context, call string, done bool) error {
			if call != "Sweep" {
				hold()
			}
			return nil
		}
		r.answer = func(context.Context, *store.Delivery) post.Result { hold(); return accepted }
		p := w.start(nil, "a")
		synctest.Wait()
		holding.Store(true)
		w.write(p, "a", 40)
		time.Sleep(30 * time.Second)
		w.fake.mu.Lock()
		w.fake.instances["other"] = &instance{store.Instance{Owner: "other", Targets: []string{"a"}}, time.Now().Add(time.Hour)}
		w.fake.mu.Unlock()
		if swept, err := w.fake.Sweep(t.Context(), 500); err != nil || swept.Freed != 40 { // the other's
			t.Fatalf("%+v, %v, want the 40 freed", swept, err)
		}
		n := len(r.seen())
		holding.Store(false)
		close(stopped)
		synctest.Wait()
		if n != 8 {
			t.Errorf("%d attempts, want the 8 in flight", n)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if c := p.Counters(); c.LeaseLost != 8 || c.Expired != 1 || c.Delivered != 40 {
			t.Errorf("counters %+v, want 8 lost leases, and 40 deliveries under a new name", c)
		}
	})
}

// TestTheEndGivesLeasesBack: attempts in flight are waited for; what is not sent
// is free for others at once, and has spent nothing.
func TestTheEndGivesLeasesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slowly(3 * time.Second)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 100)
		synctest.Wait()
		began := time.Now()
		p.stop()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the end took %v, want that of the attempts in flight", took)
		}
		left := w.fake.left(store.Pending)
		if len(left) != 92 || len(w.fake.left(0)) != 92 {
			t.Errorf("%d of %d are free, want 92", len(left), len(w.fake.left(0)))
		}
		if n := len(w.fake.instances); n != 0 || r.closed != 1 {
			t.Errorf("%d instances are registered, the poster was closed %d times", n, r.closed)
		}
		if _, ok := p.Reserve("a"); ok {
			t.Error("a place was promised after the end")
		}
		if n := leased(w.write(p, "a", 3)); n != 0 {
			t.Error("something was leased after the end")
		}
	})
}

// TestTheEndWaitsForNoReceiverForLong: an attempt that is cut short is none.
func TestTheEndWaitsForNoReceiverForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]*receiver{"a": slowly(time.Hour)})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 10)
		synctest.Wait()
		began := time.Now()
		p.stop()
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("the end took %v, want 5 s", took)
		}
		for _, d := range w.fake.left(0) {
			if d.Attempts != 0 || d.Status != store.Pending {
				t.Errorf("%s has spent %d attempts, and is %d", d.ID, d.Attempts, d.Status)
			}
		}
	})
}

func TestARelayRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]*receiver{"a": answers(accepted)})
		p := w.start(nil, "a")
		synctest.Wait()
		if err := p.Run(t.Context()); err == nil {
			t.Error("a relay ran twice")
		}
	})
}
