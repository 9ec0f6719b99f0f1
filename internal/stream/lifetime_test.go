package stream

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const closing = ": closing, reconnect\n"

// C1, Frames: a stream lives as long as it said, and ends with the closing comment.
func TestLifetime(t *testing.T) {
	inWorld(t, func(w *world) {
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

// DESIGN, section 8: a stream ends with the credential that opened it, also
// where opening it took a while.
func TestAStreamDoesNotOutliveItsCredential(t *testing.T) {
	for name, delay := range map[string]time.Duration{"quick": 0, "slow to open": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
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

// What has gathered when the lifetime ends is written before the last words.
func TestTheEndComesAfterWhatHasGathered(t *testing.T) {
	inWorld(t, func(w *world) {
		r := w.subscribed("lifetime=10s")
		<-time.After(10*time.Second - time.Nanosecond)
		w.ring(3)
		<-time.After(time.Nanosecond)
		r.expect(1, 3)
		if got := r.rest(); !slices.Equal(got, []string{closing}) {
			t.Errorf("ends with %q", got)
		}
	})
}

// A heartbeat comes at its interval, a quarter of a second late at most.
func TestHeartbeatInterval(t *testing.T) {
	inWorld(t, func(w *world) {
		for query, every := range map[string]time.Duration{"": 25 * time.Second, "heartbeat=1s": time.Second, "heartbeat=5m": 5 * time.Minute} {
			r := w.subscribed(query)
			last := r.opened
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
