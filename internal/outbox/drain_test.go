package outbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// TestADrainAttemptsWhatIsDueAndWaitsForIt: three targets, of which one refuses
// and one fails; what is not due is left alone.
func TestADrainAttemptsWhatIsDueAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, no := slowly(20*time.Millisecond), answers(refused)
		flaky := &receiver{}
		n := 0
		flaky.answer = func(context.Context, *store.Delivery) post.Result {
			flaky.mu.Lock()
			defer flaky.mu.Unlock()
			if n++; n%2 == 0 {
				return broken
			}
			return accepted
		}
		w := newWorld(t, map[string]*receiver{"good": good, "no": no, "flaky": flaky})
		p := w.start(nil, "good", "no", "flaky")
		synctest.Wait()
		for range 300 {
			w.fake.enqueue(w.delivery("good", "row"))
		}
		for range 30 {
			w.fake.enqueue(w.delivery("no", "row"), w.delivery("flaky", "row"))
		}
		got, err := p.Drain(t.Context())
		if want := (outbox.Drained{Attempted: 360, Delivered: 315, Retried: 15, Failed: 30}); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		if left := w.fake.left(store.Claimed); len(left) != 0 {
			t.Errorf("%d are still leased when the drain is over", len(left))
		}
		got, err = p.Drain(t.Context())
		if err != nil || got != (outbox.Drained{}) {
			t.Errorf("a drain with nothing due: %+v, %v", got, err)
		}
	})
}

// TestADrainProbesOnceBehindAnOpenBreaker, and where that shows the target to be
// back, attempts the rest.
func TestADrainProbesOnceBehindAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(broken)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 100)
		time.Sleep(time.Hour)
		synctest.Wait()
		n := len(r.seen())
		began := time.Now()
		got, err := p.Drain(t.Context())
		if got.Attempted != 1 || got.Retried+got.Failed != 1 || err != nil || len(r.seen()) != n+1 || time.Since(began) != 0 {
			t.Errorf("%+v, %v after %v, in %d attempts, want one", got, err, time.Since(began), len(r.seen())-n)
		}
		r.become(accepted)
		got, err = p.Drain(t.Context())
		if got.Delivered != got.Attempted || got.Delivered < 90 || err != nil {
			t.Errorf("%+v, %v, want all that are due delivered", got, err)
		}
	})
}

// TestADrainOfAnOrderedTargetGoesOnWithinItsRows.
func TestADrainOfAnOrderedTargetGoesOnWithinItsRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]*receiver{"a+": answers(accepted)})
		p := w.start(nil, "a+")
		synctest.Wait()
		for range 20 {
			w.fake.enqueue(w.delivery("a+", "x"), w.delivery("a+", "y"))
		}
		got, err := p.Drain(t.Context())
		if got.Delivered != 40 || err != nil {
			t.Errorf("%+v, %v, want 40 delivered", got, err)
		}
	})
}

// TestADrainEndsWithItsContextOrTheRelay, and says what came of it until then.
func TestADrainEndsWithItsContextOrTheRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]*receiver{"a": slowly(3 * time.Second)})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 40)
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		got, err := p.Drain(ctx)
		if got.Delivered != 16 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%+v, %v, want 16 delivered within 7 s", got, err)
		}
		go func() {
			time.Sleep(time.Second)
			p.cancel()
		}()
		if _, err := p.Drain(t.Context()); !errors.Is(err, outbox.ErrStopped) {
			t.Errorf("the relay ended, and the drain says %v", err)
		}
	})
}

// TestADrainEndsWhenTheBreakerOpensOnTheWay.
func TestADrainEndsWhenTheBreakerOpensOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]*receiver{"a": blackHole()})
		p := w.start(nil, "a")
		synctest.Wait()
		for range 200 {
			w.fake.enqueue(w.delivery("a", "row"))
		}
		began := time.Now()
		got, err := p.Drain(t.Context())
		if err != nil || got.Attempted < 5 || got.Attempted > 13 || time.Since(began) > 21*time.Second {
			t.Errorf("%+v, %v after %v", got, err, time.Since(began))
		}
	})
}
