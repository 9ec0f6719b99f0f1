package stream

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/sse"
)

const closing = ": closing, reconnect\n"

// A stream lives as long as it said, and ends with the closing comment.
func TestLifetime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.connect("lifetime=90s")
		if b := r.next(); b.raw != "retry: 2000\n: subscribed entity=bell subscription=rows closing-in=1m30s\n" {
			t.Errorf("preamble %q", b.raw)
		}
		w.ring(1)
		r.expect(1, 1)
		if got := r.rest(); !slices.Equal(got, []string{closing}) || r.broken != nil {
			t.Errorf("ends with %q, %v", got, r.broken)
		}
		if got := r.lived(); got != 90*time.Second {
			t.Errorf("lived for %s, want 90s", got)
		}
	})
}

// A stream ends with the credential that opened it, also
// where opening it took a while.
func TestAStreamDoesNotOutliveItsCredential(t *testing.T) {
	for name, delay := range map[string]time.Duration{"quick": 0, "slow to open": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.ring(1)
				before := w.subscribed("")
				w.ring(1)
				id := before.frame().id
				before.close()
				w.disk.delay.Store(int64(delay))
				r := w.connect("", "X-Expires", "40500ms", "Last-Event-ID", id)
				if b := r.next(); !strings.Contains(b.raw, "closing-in=") || strings.Contains(b.raw, "30m") {
					t.Errorf("preamble %q", b.raw)
				}
				if got := r.rest(); !slices.Equal(got, []string{closing}) {
					t.Errorf("ends with %q", got)
				}
				if got := r.lived(); got != 40500*time.Millisecond {
					t.Errorf("lived for %s, want 40.5s", got)
				}
			})
		})
	}
}

// hung is a connection whose client takes nothing until it is let go.
type hung struct {
	http.ResponseWriter
	release chan struct{}
	written []byte
}

func (h *hung) Write(p []byte) (int, error) {
	<-h.release
	h.written = append(h.written, p...)
	return len(p), nil
}

func (h *hung) FlushError() error                { return nil }
func (h *hung) SetWriteDeadline(time.Time) error { return nil }

// A lifetime that ends just as a round has woken the stream: what has gathered
// is written before the last words, and while a client that hangs does not take
// them the round is not held up.
func TestTheLastWordsOfAStreamThatWasWoken(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		quick := w.subscribed("")
		entity, _ := w.model.Entity("bell")
		view, err := w.server.view(ann, entity, &entity.Subscriptions[0], parameters{})
		w.must(err)
		sub, _ := w.hub.Register(view, hub.Start{}, time.Minute)
		sub.Rest()
		w.ring(1)
		quick.expect(1, 1)
		synctest.Wait() // the round waits for the other one to be at work
		out := &hung{release: make(chan struct{})}
		c := &connection{Stream: &Stream{server: w.server, view: view}, sub: sub, out: sse.NewWriter(out, time.Second)}
		ended := make(chan struct{})
		go func() { defer close(ended); c.conclude() }()
		synctest.Wait()
		for range 3 {
			sent := time.Now()
			w.ring(1)
			quick.expect(w.n, w.n)
			if late := time.Since(sent); late > time.Second {
				t.Errorf("another stream was told %s late", late)
			}
		}
		close(out.release)
		<-ended
		w.hub.Unregister(sub)
		if got := string(out.written); strings.Count(got, "event: ") != 1 || !strings.HasSuffix(got, "\n\n"+closing+"\n") {
			t.Errorf("its last words are %q", got)
		}
	})
}

// The first heartbeat comes at once, so that every stream has something to
// resume from; then one at each interval, a quarter of a second late at most.
func TestHeartbeatInterval(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for query, every := range map[string]time.Duration{"": 25 * time.Second, "heartbeat=1s": time.Second, "heartbeat=5m": 5 * time.Minute} {
			r := w.subscribed(query)
			last := r.opened
			if got := r.ping().at.Sub(last); got != 0 {
				t.Errorf("%q: the first heartbeat comes after %s", query, got)
			}
			for range 4 {
				b := r.ping()
				if got := b.at.Sub(last); got < every-250*time.Millisecond || got > every+250*time.Millisecond {
					t.Errorf("%q: a heartbeat after %s, want %s", query, got, every)
				}
				last = b.at
			}
			r.close()
		}
	})
}
