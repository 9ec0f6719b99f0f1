package hub

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

// ring publishes one change that every subscriber of bell is told of.
func (w *world) ring() {
	e := w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))
	w.hub.Publish([]*tail.Entry{e})
}

// listen registers a subscriber of bell that rests.
func (w *world) listen() *Subscriber {
	w.t.Helper()
	s, open := w.hub.Register(w.view("bell", "rings", "bob"), Start{}, time.Minute)
	if !open {
		w.t.Fatal("the hub is closed")
	}
	s.Rest()
	return s
}

func awakened(s *Subscriber) bool {
	select {
	case <-s.Wake():
		return true
	default:
		return false
	}
}

// answer does what a connection does when it is woken.
func answer(s *Subscriber) int {
	n, _ := take(s)
	s.Rest()
	return n
}

// A round counts a connection once, however often it came to be on its list: a
// heartbeat may have had it look for itself while it waited for the round, and
// the next event then has it wait again.
func TestARoundEndsWithAConnectionThatIsOnItsListTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		go func() { _ = w.hub.Run(t.Context()) }()
		first, twice := w.listen(), w.listen()
		w.ring() // a round that lasts until both are at work
		<-time.After(10 * time.Millisecond)
		answer(twice)
		w.ring() // waits for the next round
		answer(twice)
		w.ring() // waits for it once more
		answer(first)
		for range 3 {
			<-time.After(longest)
			synctest.Wait()
			for _, s := range []*Subscriber{first, twice} {
				if awakened(s) {
					answer(s)
				}
			}
		}
		w.ring()
		<-time.After(longest)
		synctest.Wait()
		for name, s := range map[string]*Subscriber{"first": first, "twice": twice} {
			if !awakened(s) {
				t.Errorf("%s is not woken any more", name)
			}
		}
	})
}

// A round does not wait for a connection that leaves instead of going to work.
func TestARoundEndsWithAConnectionThatLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		go func() { _ = w.hub.Run(t.Context()) }()
		leaves, stays := w.listen(), w.listen()
		w.ring()
		answer(stays)
		w.hub.Unregister(leaves) // woken, and never at work
		w.ring()
		<-time.After(longest)
		synctest.Wait()
		if !awakened(stays) || answer(stays) != 1 {
			t.Error("the round still waits for a connection that is gone")
		}
	})
}

// A connection that is stuck in a write is at work: no round waits for it.
func TestARoundDoesNotWaitForAConnectionAtWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		go func() { _ = w.hub.Run(t.Context()) }()
		stuck, quick := w.listen(), w.listen()
		w.ring()
		take(stuck) // and does not rest again
		for range 5 {
			<-time.After(longest)
			synctest.Wait()
			if !awakened(quick) || answer(quick) != 1 {
				t.Fatal("a connection that is stuck holds up another")
			}
			w.ring()
		}
	})
}

// No more than a few connections are runnable at once, and all get their turn.
func TestARoundWakesAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		go func() { _ = w.hub.Run(t.Context()) }()
		subs := make([]*Subscriber, 5*awake)
		for i := range subs {
			subs[i] = w.listen()
		}
		w.ring()
		for done := 0; done < len(subs); {
			var woken []*Subscriber
			for _, s := range subs {
				if awakened(s) {
					woken = append(woken, s)
				}
			}
			if len(woken) == 0 || len(woken) > awake {
				t.Fatalf("%d connections are runnable after %d had their turn, want 1 to %d", len(woken), done, awake)
			}
			for _, s := range woken {
				if n := answer(s); n != 1 {
					t.Fatalf("a connection got %d frames, want 1", n)
				}
			}
			done += len(woken)
		}
	})
}
