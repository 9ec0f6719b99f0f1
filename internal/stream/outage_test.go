package stream

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const unavailable = "retry: 5000\n: store unavailable, reconnect\n"

// An EventSource never comes back after a status but 200, so
// an outage is said in-band, with a longer wait; what can be judged without the
// store is refused as ever.
func TestOpeningDuringAnOutage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.disk.down.Store(true)
		for _, id := range []string{"", "01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
			r := w.connect("", "Last-Event-ID", id)
			if got := r.rest(); !slices.Equal(got, []string{unavailable}) || r.broken != nil {
				t.Errorf("got %q, %v", got, r.broken)
			}
		}
		if r := w.connect("name=nosuch"); r.body != "subscription_not_found" {
			t.Errorf("a wrong name is answered %d %s", r.status, r.body)
		}
		w.disk.down.Store(false)
		w.subscribed("")
	})
}

// The store fails between the read that proves the right to listen and the one
// that finds the place.
func TestTheStoreFailsWhileResuming(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.disk.delay.Store(int64(time.Second))
		answer := make(chan *reader)
		go func() { answer <- w.connect("", "Last-Event-ID", "01ARZ3NDEKTSV4RRFFQ69G5FAV") }()
		<-time.After(1500 * time.Millisecond)
		w.disk.down.Store(true)
		if got := (<-answer).rest(); !slices.Equal(got, []string{unavailable}) {
			t.Errorf("got %q", got)
		}
	})
}

// An outage ends no stream that is live, pings go on, and
// what is committed meanwhile is told: it is handed on in memory.
func TestALiveStreamDuringAnOutage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.subscribed("heartbeat=10s")
		w.ring(1)
		r.expect(1, 1)
		w.disk.down.Store(true)
		for range 30 {
			r.ping()
		}
		w.ring(1)
		r.expect(2, 2)
		w.disk.down.Store(false)
		w.ring(1)
		r.expect(3, 3)
	})
}

// behind returns a stream that has to read the log and cannot: it resumes after
// bell 1, and the store is away as soon as it knows where that is.
func (w *world) behind(query string) *reader {
	w.t.Helper()
	first := w.subscribed("")
	w.ring(1)
	id := first.frame().id
	first.close()
	w.ring(2)
	w.disk.delay.Store(int64(time.Second))
	answer := make(chan *reader)
	go func() { answer <- w.connect(query, "Last-Event-ID", id) }()
	<-time.After(2500 * time.Millisecond) // the right to read, the place, and now the page
	w.disk.down.Store(true)
	w.disk.delay.Store(0)
	r := <-answer
	r.next()
	return r
}

// A stream that cannot read the log pings on, and loses nothing when it can again.
func TestAStreamThatIsBehindDuringAnOutage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.behind("heartbeat=5s")
		for range 5 {
			if b := r.ping(); b.at.Sub(r.opened) > 40*time.Second {
				t.Fatal("heartbeats do not go on")
			}
		}
		w.ring(2)
		w.disk.down.Store(false)
		r.expect(2, 5)
		w.ring(1)
		r.expect(6, 6)
	})
}

// A heartbeat during an outage is a place to resume from like any other.
func TestHeartbeatsDuringAnOutageResumeExactly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.behind("heartbeat=5s")
		id := r.ping().id
		r.close()
		w.disk.down.Store(false)
		w.subscribed("", "Last-Event-ID", id).expect(2, 3)
	})
}

// The same for a stream that was live, and fell behind while its client slept.
func TestASlowStreamDuringAnOutage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.stalled("heartbeat=5s")
		w.text = strings.Repeat("x", 50<<10)
		w.ring(200) // more than the tail keeps in memory
		w.text = ""
		w.disk.down.Store(true)
		close(r.release)
		r.next()
		r.ping() // the preamble's
		last := 0
		for {
			b := r.next()
			if b.event == "" {
				break // a heartbeat, after what was in the queue
			}
			if last++; b.n(t) != last {
				t.Fatalf("got bell %d, want %d", b.n(t), last)
			}
		}
		id := r.lastID
		w.disk.down.Store(false)
		r.expect(last+1, w.n)
		r.close()
		again := w.subscribed("", "Last-Event-ID", id)
		again.expect(last+1, w.n)
	})
}

// A stream that cannot read for a minute ends, saying so, and its client finds
// nothing missing when it comes back.
func TestAStreamDoesNotBearAnOutageForever(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.behind("heartbeat=25s")
		if got := r.rest(); !slices.Equal(got, []string{closing}) {
			t.Errorf("ends with %q", got)
		}
		if got := r.lived(); got < time.Minute || got > 65*time.Second {
			t.Errorf("was borne for %s, want a minute", got)
		}
		synctest.Wait()
		if n := w.hub.Counters().Subscribers; n != 0 {
			t.Errorf("%d subscribers are left", n)
		}
	})
}
