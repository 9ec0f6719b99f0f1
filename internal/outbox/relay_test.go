package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// TestWhatIsWrittenIsSentFromMemory: no claim, no pause.
func TestWhatIsWrittenIsSentFromMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(nil, "a")
		synctest.Wait()
		claims := w.fake.called("Claim")
		began := time.Now()
		if n := leased(w.write(p, "a", 50)); n != 50 {
			t.Errorf("%d of 50 were born leased", n)
		}
		synctest.Wait()
		if len(r.seen()) != 50 || len(w.fake.left(0)) != 0 || time.Since(began) != 0 {
			t.Errorf("%d sent, %d left after %v", len(r.seen()), len(w.fake.left(0)), time.Since(began))
		}
		if n := w.fake.called("Claim") - claims; n != 0 {
			t.Errorf("%d claims", n)
		}
		if c := p.Counters(); c.Attempted != 50 || c.Delivered != 50 || c.Targets["a"].Delivered != 50 {
			t.Errorf("counters %+v", c)
		}
	})
}

// TestALaneIsBounded: what does not fit waits in the queue, and is claimed as
// there is room. Nothing is sent twice.
func TestALaneIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &receiver{answer: func(ctx context.Context, _ *store.Delivery) post.Result {
			wait(ctx, 10*time.Millisecond)
			return accepted
		}}
		w := newWorld(t, map[string]*receiver{"a": slow})
		p := w.start(nil, "a")
		synctest.Wait()
		ds := w.write(p, "a", 1000)
		if n := leased(ds); n != 256 {
			t.Errorf("%d of 1000 were born leased, want the 256 there is room for", n)
		}
		for len(w.fake.left(0)) > 0 {
			if n := len(w.fake.left(store.Claimed)); n > 256 {
				t.Fatalf("%d are leased at a time", n)
			}
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if most := slow.atOnce(); most != 8 {
			t.Errorf("%d attempts at a time, want 8", most)
		}
		for id, n := range times(slow.seen()) {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		// 1000 at 8 in 10 ms are 1.25 s: claims keep up with the sending.
		if took := slow.seen()[999].at.Sub(slow.seen()[0].at); took > 1600*time.Millisecond {
			t.Errorf("1000 took %v", took)
		}
	})
}

// TestRetriesDoNotStarve: a target is kept busy by new events, and what waits in
// the queue has its turn all the same.
func TestRetriesDoNotStarve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &receiver{answer: func(ctx context.Context, _ *store.Delivery) post.Result {
			wait(ctx, 10*time.Millisecond)
			return accepted
		}}
		w := newWorld(t, map[string]*receiver{"a": slow})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 256)
		old := w.delivery("a", "row")
		w.fake.enqueue(old)
		for i := 0; ; i++ {
			if i == 1000 {
				t.Fatal("a delivery in the queue is never sent while new ones come")
			}
			w.write(p, "a", 10)
			time.Sleep(10 * time.Millisecond)
			if times(slow.seen())[old.ID] == 1 {
				break
			}
		}
	})
}

// TestADeliveryOfAnotherInstanceIsFoundWithinASecond: nobody tells of it.
func TestADeliveryOfAnotherInstanceIsFoundWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": r})
		w.start(nil, "a")
		time.Sleep(time.Minute)
		w.fake.enqueue(w.delivery("a", "row"))
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if len(r.seen()) != 1 {
			t.Error("it was not found")
		}
	})
}

// TestDeliveriesGoInTheOrderOfTheirWriting, as far as one after the other can.
func TestDeliveriesGoInTheOrderOfTheirWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := answers(accepted), answers(accepted)
		w := newWorld(t, map[string]*receiver{"a": a, "b": b})
		p := w.start(func(c *outbox.Config) { c.Targets[0].MaxInFlight, c.Targets[1].MaxInFlight = 1, 1 }, "a", "b")
		synctest.Wait()
		want := w.write(p, "a", 600)
		w.write(p, "b", 1)
		synctest.Wait()
		time.Sleep(time.Minute)
		for i, s := range a.seen() {
			if s.id != want[i].ID {
				t.Fatalf("delivery %d was %s, want %s", i, s.id, want[i].ID)
			}
		}
		if len(a.seen()) != 600 || len(b.seen()) != 1 {
			t.Errorf("%d and %d were sent", len(a.seen()), len(b.seen()))
		}
	})
}

// TestAnOrderedTargetGetsARowsEventsOneAfterTheOther, though they fail now and
// then; other rows do not wait for it.
func TestAnOrderedTargetGetsARowsEventsOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := map[string]int{}
		var stuck string
		r := &receiver{}
		r.answer = func(_ context.Context, d *store.Delivery) post.Result {
			r.mu.Lock()
			defer r.mu.Unlock()
			if tries[d.ID]++; d.ID == stuck && tries[d.ID] < 4 {
				return broken
			}
			return accepted
		}
		w := newWorld(t, map[string]*receiver{"a+": r})
		p := w.start(nil, "a+")
		synctest.Wait()
		if _, ok := p.Reserve("a+"); ok {
			t.Error("a delivery of an ordered target was born leased")
		}
		var x, y []*store.Delivery
		for range 20 {
			x, y = append(x, w.delivery("a+", "x")), append(y, w.delivery("a+", "y"))
			w.fake.enqueue(x[len(x)-1], y[len(y)-1])
		}
		stuck = x[3].ID
		p.Committed(append(x, y...))
		synctest.Wait()
		if n := len(w.fake.left(0)); n != 17 {
			t.Errorf("%d are left, want the 17 of the row that is stuck", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		var order []string
		for _, s := range r.seen() {
			for _, d := range x {
				if d.ID == s.id && (len(order) == 0 || order[len(order)-1] != s.id) {
					order = append(order, s.id)
				}
			}
		}
		for i, d := range x {
			if i >= len(order) || order[i] != d.ID {
				t.Fatalf("the row's events came as %v", order)
			}
		}
	})
}

func TestTheTestEventGoesOutAtOnceAndCountsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got store.Delivery
		r := &receiver{answer: func(_ context.Context, d *store.Delivery) post.Result { got = *d; return refused }}
		w := newWorld(t, map[string]*receiver{"a": r})
		p := w.start(func(c *outbox.Config) { c.Tenant = "acme" }, "a")
		synctest.Wait()
		result, err := p.Test(t.Context(), "a")
		if err != nil || result.Status != 422 {
			t.Errorf("%+v, %v", result, err)
		}
		var body map[string]any
		if err := json.Unmarshal(got.Body, &body); err != nil {
			t.Fatal(err)
		}
		if body["id"] != got.ID || body["type"] != "rowcast.test" || body["tenant"] != "acme" || body["time"] == nil || got.Event != "rowcast.test" {
			t.Errorf("%s of %+v", got.Body, got)
		}
		if c := p.Counters(); c.Attempted != 0 || len(w.fake.left(0)) != 0 {
			t.Errorf("it counts: %+v", c)
		}
		if _, err := p.Test(t.Context(), "b"); !errors.Is(err, outbox.ErrNoTarget) {
			t.Errorf("a target that is not declared: %v", err)
		}
	})
}

// TestNothingHandedOverBlocks: no relay runs, and the engine goes on.
func TestNothingHandedOverBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]*receiver{"a": answers(accepted)})
		p := &process{Relay: outbox.New(outbox.Config{
			Queue: w.queue, NewID: w.newID, Targets: []outbox.Target{{Name: "a"}},
			Poster: func(string) outbox.Poster { return w.receivers["a"] },
		})}
		if n := leased(w.write(p, "a", 1000)); n != 0 {
			t.Errorf("%d were leased to an instance that is not registered", n)
		}
		p.Dropped([]*store.Delivery{w.delivery("a", "row"), w.delivery("gone", "row")}, true)
		p.Committed([]*store.Delivery{w.delivery("gone", "row")})
	})
}

func TestDepthsAreReadInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]*receiver{"a": answers(broken)})
		p := w.start(nil, "a")
		synctest.Wait()
		w.write(p, "a", 30)
		time.Sleep(12 * time.Second)
		if d := p.Depths(); len(d) != 1 || d[0].Pending != 30 {
			t.Errorf("%+v", d)
		}
		if n := w.fake.called("Depths"); n > 3 {
			t.Errorf("%d readings in 12 s", n)
		}
	})
}

func TestTheAttemptLogIsPruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]*receiver{"a": answers(accepted)})
		p := w.start(func(c *outbox.Config) { c.Retention = time.Hour }, "a")
		synctest.Wait()
		for range 10 {
			w.write(p, "a", 200)
			synctest.Wait()
		}
		time.Sleep(58 * time.Minute)
		if n := w.fake.logged(); n != 2000 {
			t.Errorf("%d attempts are kept within the hour, want 2000", n)
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if n := w.fake.logged(); n != 0 {
			t.Errorf("%d attempts are kept after it", n)
		}
	})
}

// TestLargeBodiesAreFewAtATime: a lane is bounded in memory, whatever the rows are.
func TestLargeBodiesAreFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := slowly(time.Second)
		w := newWorld(t, map[string]*receiver{"a": r})
		w.start(nil, "a")
		synctest.Wait()
		body := make([]byte, 1<<20)
		for range 200 {
			d := w.delivery("a", "row")
			d.Body = body
			w.fake.enqueue(d)
		}
		most := 0
		for len(w.fake.left(0)) > 0 {
			most = max(most, len(w.fake.left(store.Claimed)))
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		if most > 64 {
			t.Errorf("%d bodies of 1 MiB were in memory at a time", most)
		}
		if most := r.atOnce(); most != 8 {
			t.Errorf("%d attempts at a time, want 8", most)
		}
	})
}

// TestTwentyLanesGoOnWhenTheirTimeHasCome: targets that ask to wait for different
// times, and new events meanwhile: every lane is looked at when it should be.
func TestTwentyLanesGoOnWhenTheirTimeHasCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receivers := map[string]*receiver{}
		var names []string
		for i := range 20 {
			name := string(rune('a' + i))
			asked := time.Duration(2500+i) * time.Millisecond
			r := &receiver{}
			r.answer = func(_ context.Context, d *store.Delivery) post.Result {
				if d.Attempts == 0 {
					return post.Result{Class: post.Retry, Status: 503, RetryAfter: asked, Alive: true}
				}
				return accepted
			}
			receivers[name], names = r, append(names, name)
		}
		w := newWorld(t, receivers)
		p := w.start(nil, names...)
		synctest.Wait()
		for range 100 {
			for _, name := range names {
				w.write(p, name, 1)
			}
			time.Sleep(7 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(w.fake.left(0)); n != 0 {
			t.Errorf("%d are left", n)
		}
		for _, name := range names {
			if n := len(receivers[name].seen()); n != 200 {
				t.Errorf("%s got %d attempts, want 200", name, n)
			}
		}
	})
}
