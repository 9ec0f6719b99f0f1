package stream

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A client that takes no bytes for ten seconds is given up,
// and nothing of it is left.
func TestAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.stalled("")
		w.text = strings.Repeat("x", 8<<10) // more than net/http's buffers hold
		began := time.Now()
		w.ring(2)
		<-time.After(10*time.Second - time.Millisecond)
		synctest.Wait()
		if n := w.hub.Counters().Subscribers; n != 1 {
			t.Errorf("%d subscribers after %s, want it to have its ten seconds", n, time.Since(began))
		}
		<-time.After(time.Millisecond)
		synctest.Wait()
		if n := w.hub.Counters().Subscribers; n != 0 {
			t.Errorf("%d subscribers after %s, want it given up", n, time.Since(began))
		}
		close(r.release)
		if r.rest(); r.broken == nil {
			t.Error("the client cannot tell that its stream was cut off")
		}
	})
}

// A quiet stream is not ended by the deadline of a write long ago.
func TestAQuietStreamOutlivesTheDeadlineOfItsWrites(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.subscribed("heartbeat=5m")
		w.ring(1)
		r.expect(1, 1)
		<-time.After(4 * time.Minute)
		w.ring(1)
		r.expect(2, 2)
	})
}

// Clients that hang hold up nobody, in a frame or in the last words, however many they are.
func TestAClientThatHangsHoldsUpNobody(t *testing.T) {
	for name, query := range map[string]string{"in a frame": "", "in the last words": "lifetime=1s"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				quick := w.subscribed("")
				stuck := make([]*reader, 40) // more than a round has at work at once
				for i := range stuck {
					stuck[i] = w.stalled(query, "X-Caller", fmt.Sprint("user", i))
				}
				w.text = strings.Repeat("x", 3<<10)
				for range 9 {
					sent := time.Now()
					w.ring(1)
					quick.expect(w.n, w.n)
					if late := time.Since(sent); late > time.Second {
						t.Fatalf("bell %d came after %s", w.n, late)
					}
					<-time.After(time.Second)
				}
				for _, r := range stuck {
					close(r.release)
				}
			})
		})
	}
}

// A client that was slow and reads again gets everything, in order, once.
func TestASlowClientLosesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.stalled("")
		w.ring(700) // its queue holds 64, a page 500
		synctest.Wait()
		if c := w.hub.Counters(); c.Dropped == 0 {
			t.Fatal("nothing was dropped: the test does not make it slow")
		}
		close(r.release)
		r.next()
		r.expect(1, 700)
		w.ring(1)
		r.expect(701, 701)
		if c := w.hub.Counters(); c.Delivered+c.Replayed != 701 || c.Replayed < 500 {
			t.Errorf("%d delivered and %d replayed, want 701 together", c.Delivered, c.Replayed)
		}
	})
}

// At shutdown a stream ends in-band, with a wait at random
// so that not all clients come back at once; so do those that are being opened.
func TestShutdown(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.subscribed("")
		w.ring(1)
		id := first.frame().id
		w.ring(2)
		waits := map[string]bool{}
		var open []*reader
		for i := range 20 {
			open = append(open, w.subscribed("", "Last-Event-ID", id, "X-Caller", fmt.Sprint("user", i)))
		}
		for _, r := range open {
			r.expect(2, 3)
		}
		w.disk.delay.Store(int64(time.Second))
		opening := make(chan *reader)
		go func() { opening <- w.connect("", "Last-Event-ID", id) }()
		<-time.After(1500 * time.Millisecond)
		w.hub.Close()
		for _, r := range append(open, <-opening) {
			rest := r.rest()
			if len(rest) != 1 || r.broken != nil {
				t.Fatalf("ends with %q, %v", rest, r.broken)
			}
			retry, words, _ := strings.Cut(rest[0], "\n")
			var ms int
			if _, err := fmt.Sscanf(retry, "retry: %d", &ms); err != nil || ms < 1000 || ms > 5000 || words != closing {
				t.Errorf("ends with %q", rest[0])
			}
			waits[retry] = true
		}
		if len(waits) < 2 {
			t.Error("all are told to come back at the same moment")
		}
		if r := w.connect(""); r.status != http.StatusOK || len(r.rest()) != 1 {
			t.Error("a stream was opened on a hub that is closing")
		}
	})
}

// At shutdown a stream that is catching up, or waits for the store, ends too.
func TestShutdownOfAStreamThatIsBehind(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.behind("")
		began := time.Now()
		w.hub.Close()
		rest := r.rest()
		if len(rest) != 1 || !strings.HasSuffix(rest[0], closing) {
			t.Errorf("ends with %q", rest)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("ends after %s", took)
		}
	})
}

// A client that leaves is gone at once, wherever its stream is.
func TestAClientThatLeaves(t *testing.T) {
	for name, open := range map[string]func(w *world) *reader{
		"live": func(w *world) *reader { return w.subscribed("") },
		"behind": func(w *world) *reader {
			r := w.behind("")
			<-time.After(time.Second) // its read is over, and it waits for the next
			return r
		},
		"stuck in a write": func(w *world) *reader {
			r := w.stalled("")
			w.text = strings.Repeat("x", 16<<10)
			w.ring(1)
			synctest.Wait()
			close(r.release)
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				r := open(w)
				r.close()
				synctest.Wait()
				if n := w.hub.Counters().Subscribers; n != 0 {
					t.Errorf("%d subscribers are left", n)
				}
			})
		})
	}
}

// The streams of one caller and of a server are bounded, the refusal is not a
// stream, and a place that was left is free.
func TestStreamsAreBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.limit.PerPrincipal, w.limit.Total = 2, 3
		open := []*reader{w.subscribed(""), w.subscribed("")}
		if r := w.connect(""); r.body != "too_many_streams" {
			t.Errorf("the third of one caller is answered %d %s", r.status, r.body)
		}
		open = append(open, w.subscribed("", "X-Caller", "bob"))
		if r := w.connect("", "X-Caller", "cid"); r.body != "too_many_streams" {
			t.Errorf("the fourth of all is answered %d %s", r.status, r.body)
		}
		for _, r := range open {
			r.close()
			synctest.Wait()
			again := w.subscribed("")
			again.close()
			synctest.Wait()
		}
	})
}

// A refusal of an opening that fails takes no place.
func TestARefusedOpeningLeavesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for query, want := range map[string]string{
			"heartbeat=1ms": "bad_heartbeat", "lifetime=5h": "bad_lifetime", "ops=none": "bad_ops", "name=x": "subscription_not_found",
		} {
			if r := w.connect(query); r.body != want {
				t.Errorf("%s is answered %d %s, want %s", query, r.status, r.body, want)
			}
		}
		if got := w.limit.total; got != 0 {
			t.Errorf("%d places are taken", got)
		}
		if !slices.Equal(w.hub.Subscribers(), nil) {
			t.Error("a refused opening is registered")
		}
	})
}
