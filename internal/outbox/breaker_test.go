package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/store"
)

// breakerOf returns what an operator is shown of a target's breaker.
func breakerOf(t *testing.T, p *process, target string) string {
	t.Helper()
	s, err := p.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range s.Targets {
		if each.Name == target {
			return each.Breaker
		}
	}
	t.Fatalf("no target %s in %+v", target, s)
	return ""
}

// TestADeadTargetCostsOneDeliveryItsAttempts: a hundred deliveries wait behind a
// target that is dead for an hour. Those in flight when the breaker opened spent
// an attempt; after that only the probe does. When the target is back everybody
// gets through, and each once.
func TestADeadTargetCostsOneDeliveryItsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(silent)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		if n := leased(w.write(p, "a", 100)); n != 100 {
			t.Fatalf("%d of 100 were born leased", n)
		}
		synctest.Wait()
		first := len(r.seen())
		if first < 5 || first > 12 {
			t.Errorf("%d attempts before the breaker was open, want 5 to 12", first)
		}
		if got := breakerOf(t, p, "a"); got != "open" {
			t.Errorf("the breaker is %s", got)
		}
		if _, ok := p.Reserve("a"); ok {
			t.Error("a place was promised behind an open breaker")
		}
		if n := len(w.fake.left(store.Claimed)); n != 0 {
			t.Errorf("%d deliveries are still leased behind an open breaker", n)
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		probes := r.seen()[first:]
		for i, s := range probes {
			if s.id != probes[0].id || s.number != i+2 {
				t.Errorf("probe %d was attempt %d at %s, want attempt %d at %s", i, s.number, s.id, i+2, probes[0].id)
			}
		}
		if len(probes) != 9 { // 2 + 4 + … + 512 s lie within 20 minutes
			t.Errorf("%d probes in 20 minutes, want 9", len(probes))
		}
		spent := 0
		for _, d := range w.fake.left(0) {
			spent += d.Attempts
		}
		if spent != len(r.seen()) {
			t.Errorf("%d attempts are counted, %d were made", spent, len(r.seen()))
		}

		r.become(accepted)
		back := len(r.seen())
		time.Sleep(11 * time.Minute) // the probe's next wait
		synctest.Wait()
		if left := w.fake.left(0); len(left) != 0 {
			t.Errorf("%d deliveries did not get through: %+v", len(left), left[0])
		}
		if got := len(r.seen()) - back; got != 100 {
			t.Errorf("%d attempts after it came back, want 100", got)
		}
		if got := breakerOf(t, p, "a"); got != "closed" {
			t.Errorf("the breaker is %s", got)
		}
	})
}

// TestTheFirstProbeIsNoLaterThanItWouldHaveBeen: an open breaker delays nobody's
// own next attempt but by those that go before.
func TestTheFirstProbeIsNoLaterThanItWouldHaveBeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(broken)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 50)
		synctest.Wait()
		n := len(r.seen())
		began := time.Now()
		time.Sleep(3 * time.Second)
		if len(r.seen()) != n+1 {
			t.Fatalf("%d probes after 3 s, want 1", len(r.seen())-n)
		}
		if got := r.seen()[n].at.Sub(began); got > 2200*time.Millisecond {
			t.Errorf("the first probe came after %v", got)
		}
	})
}

// TestAProbeThatIsGivenUpIsFollowedByTheNext: its twelve attempts over, another
// delivery probes, at once since it is due.
func TestAProbeThatIsGivenUpIsFollowedByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(broken)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 50)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		failed := w.fake.left(store.Failed)
		if len(failed) < 2 || len(failed) > 6 {
			t.Errorf("%d were given up in two hours of one probe at a time", len(failed))
		}
		if most := r.atOnce(); most > 8 {
			t.Errorf("%d attempts at a time", most)
		}
		p.stop()
		// Every probe after the first dozen came after the one before had ended.
		seen := times(r.seen())
		for _, d := range failed {
			if seen[d.ID] != 12 {
				t.Errorf("%s was given up after %d attempts", d.ID, seen[d.ID])
			}
		}
	})
}

// TestAProbeThatIsGoneIsFollowedByTheNext: an operator skipped it.
func TestAProbeThatIsGoneIsFollowedByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(broken)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 50)
		time.Sleep(40 * time.Second)
		synctest.Wait()
		n := len(r.seen())
		probe := r.seen()[n-1].id
		if _, err := p.Skip(t.Context(), []string{probe}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(40 * time.Second)
		synctest.Wait()
		if len(r.seen()) == n || r.seen()[n].id == probe {
			t.Errorf("nobody took the place of a probe that is gone")
		}
	})
}

// TestOneProbeAtATime: the target hangs, so probes would overlap if they could.
func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := blackHole()
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 100)
		time.Sleep(21 * time.Second) // those in flight when it opened are over
		synctest.Wait()
		n := len(r.seen())
		r.atOnce()
		for range 30 {
			time.Sleep(20 * time.Second)
			if _, err := p.Requeue(t.Context(), store.Requeue{}); err != nil {
				t.Fatal(err)
			}
		}
		if most := r.atOnce(); len(r.seen()) == n || most != 1 {
			t.Errorf("%d probes, at most %d at a time, want 1", len(r.seen())-n, most)
		}
	})
}

// TestAnAnswerThatRefusesShowsATargetThatWorks: a 4xx neither opens a breaker
// nor leaves it open.
func TestAnAnswerThatRefusesShowsATargetThatWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(refused)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 20)
		synctest.Wait()
		if got := breakerOf(t, p, "a"); got != "closed" || len(r.seen()) != 20 {
			t.Errorf("the breaker is %s after %d refusals", got, len(r.seen()))
		}
	})
}

// TestRequeueProbesAtOnce: an operator who puts a delivery back need not wait ten
// minutes to see whether the target works again.
func TestRequeueProbesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(broken)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 20)
		time.Sleep(time.Hour)
		synctest.Wait()
		r.become(accepted)
		failed := w.fake.left(store.Failed)
		moved, err := p.Requeue(t.Context(), store.Requeue{IDs: []string{failed[0].ID}})
		if err != nil || len(moved.IDs) != 1 {
			t.Fatalf("%+v, %v", moved, err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		for _, d := range w.fake.left(0) {
			if d.Status != store.Failed && d.Due.Before(time.Now()) {
				t.Errorf("%s is due and was not delivered", d.ID)
			}
		}
		if len(w.fake.left(store.Failed)) != len(failed)-1 {
			t.Error("the requeued delivery is still there")
		}
	})
}

// TestADeadTargetDelaysNoOther: a black hole beside a target that works.
func TestADeadTargetDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hole, good := blackHole(), answers(accepted)
		w := newWorld(t, map[string]*receiver{"hole": hole, "good": good})
		p := w.start(func(c *outbox.Config) { c.Targets[0].MaxInFlight = 2 }, "hole", "good")
		synctest.Wait()
		w.write(p, "hole", 400)
		for range 50 {
			w.write(p, "good", 10)
			before := time.Now()
			synctest.Wait()
			if n := len(w.fake.left(0)); n != 400 {
				t.Fatalf("%d deliveries are left, want the 400 of the black hole", n)
			}
			if took := time.Since(before); took != 0 {
				t.Fatalf("a delivery took %v beside a black hole", took)
			}
			time.Sleep(time.Second)
		}
		if most := hole.atOnce(); most != 2 {
			t.Errorf("%d attempts at a time, want the 2 that are allowed", most)
		}
	})
}

// TestAnotherInstanceMayHaveTheProbe: two instances, each with its breaker open.
func TestAnotherInstanceMayHaveTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(silent)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 100)
		time.Sleep(5 * time.Minute)
		if n := len(r.seen()); n > 60 {
			t.Errorf("%d attempts by two instances at a dead target", n)
		}
		r.become(accepted)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if left := w.fake.left(0); len(left) != 0 {
			t.Errorf("%d deliveries did not get through", len(left))
		}
	})
}
