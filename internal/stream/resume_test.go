package stream

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// A resume begins after what the id stands for, in every
// form that stood in an id: field, and goes on live without a seam.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		name string
		// resume reads from a stream, over which bells 1 to 3 came, and says from where to resume.
		from func(w *world, r *reader) (query, header string)
		next int // the bell that comes first
	}{
		{"after an event", func(_ *world, r *reader) (string, string) {
			r.expect(1, 1)
			return "", r.lastID
		}, 2},
		{"after the last event", func(_ *world, r *reader) (string, string) {
			r.expect(1, 3)
			return "", r.lastID
		}, 4},
		{"after a heartbeat", func(_ *world, r *reader) (string, string) {
			r.expect(1, 3)
			return "", r.ping().id
		}, 4},
		{"by the parameter", func(_ *world, r *reader) (string, string) {
			r.expect(1, 2)
			return "lastEventId=" + r.lastID, ""
		}, 3},
		{"the header beats the parameter", func(_ *world, r *reader) (string, string) {
			r.expect(1, 1)
			first := r.lastID
			r.expect(2, 2)
			return "lastEventId=" + first, r.lastID
		}, 3},
		{"after the event last pruned", func(w *world, r *reader) (string, string) {
			r.expect(1, 3)
			w.prune()
			return "", r.lastID
		}, 4},
		{"after a heartbeat at the event last pruned", func(w *world, r *reader) (string, string) {
			r.expect(1, 3)
			id := r.ping().id
			w.prune()
			return "", id
		}, 4},
		{"after a gap", func(w *world, r *reader) (string, string) {
			r.expect(1, 3)
			gap := w.connect("", "Last-Event-ID", "no such event")
			gap.next()
			id := gap.gap(gapUnknown, "no such event").id
			gap.close()
			return "", id
		}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				r := w.subscribed("heartbeat=5s")
				w.ring(3)
				query, header := c.from(w, r)
				r.close()
				w.ring(2)
				again := w.subscribed(query, "Last-Event-ID", header)
				again.expect(c.next, 5)
				w.ring(2)
				again.expect(6, 7)
			})
		})
	}
}

// A heartbeat of a stream that has seen no event, on a log that has none, is a
// place to resume from.
func TestResumeFromTheBeginning(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.subscribed("heartbeat=1s")
		id := r.ping().id
		r.close()
		w.ring(2)
		w.subscribed("", "Last-Event-ID", id).expect(1, 2)
		w.prune()
		late := w.connect("", "Last-Event-ID", id)
		late.next()
		late.gap(gapExpired, id)
	})
}

// Wherever a client leaves between heartbeats and frames, it resumes with what
// it has not read, and nothing else.
func TestEveryIDResumesExactly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.subscribed("heartbeat=1s")
		seen := map[string]int{} // the last bell read before an id
		last := 0
		for i := range 40 {
			w.ring(i % 4)
			<-time.After(370 * time.Millisecond)
			synctest.Wait()
			for len(r.blocks) > 0 {
				b := r.next()
				if b.event != "" {
					last = b.n(t)
				}
				seen[b.id] = last
			}
		}
		if last != w.n {
			t.Fatalf("read %d bells, want %d", last, w.n)
		}
		r.close()
		w.ring(1)
		for id, last := range seen {
			again := w.subscribed("", "Last-Event-ID", id)
			again.expect(last+1, w.n)
			again.close()
		}
	})
}

// An id that stands for no place is said in-band, first, and
// the stream is live from there.
func TestGaps(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		id           func(w *world) string
	}{
		{"no event", gapUnknown, func(*world) string { return "01ZZZZZZZZZZZZZZZZZZZZZZZZ" }},
		{"no id at all", gapUnknown, func(*world) string { return "what\x7fever" }},
		{"no bookmark", gapUnknown, func(*world) string { return "~x" }},
		{"an empty bookmark", gapUnknown, func(*world) string { return "~" }},
		{"another datastore's bookmark", gapUnknown, func(w *world) string {
			foreign, err := newSealer(make([]byte, 32))
			w.must(err)
			return foreign.seal(store.Position{Seq: 1})
		}},
		{"an event that was pruned", gapExpired, func(w *world) string {
			r := w.subscribed("")
			w.ring(2)
			r.expect(1, 1)
			defer r.close()
			w.prune()
			return r.lastID
		}},
		{"a bookmark that was pruned", gapExpired, func(w *world) string {
			w.ring(1)
			r := w.subscribed("heartbeat=1s")
			defer r.close()
			id := r.ping().id
			w.ring(2)
			w.prune()
			return id
		}},
		{"another event where the bookmark stands", gapReset, func(w *world) string {
			w.ring(1)
			return w.server.sealer.seal(store.Position{Seq: 1, EventID: "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
		}},
		{"a bookmark past the end", gapReset, func(w *world) string {
			return w.server.sealer.seal(store.Position{Seq: 99, EventID: "01ARZ3NDEKTSV4RRFFQ69G5FAV"})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				id := c.id(w)
				r := w.connect("lastEventId=" + escape(id))
				if b := r.next(); b.event != "" {
					t.Fatalf("begins with %q", b.raw)
				}
				r.gap(c.reason, id)
				from := w.n
				w.ring(2)
				r.expect(from+1, from+2)
			})
		})
	}
}

func escape(id string) string {
	const hex = "0123456789ABCDEF"
	var out []byte
	for i := range len(id) {
		out = append(out, '%', hex[id[i]>>4], hex[id[i]&15])
	}
	return string(out)
}

// The file is replaced by an older copy of itself: what was told since is not
// in it, and a client that comes back with it is told so.
func TestResumeAfterABackupIsRestored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.subscribed("heartbeat=1s")
		w.ring(2)
		r.expect(1, 2)
		kept := r.ping().id
		r.close()
		w.stop()
		backup, err := os.ReadFile(w.path)
		w.must(err)

		w.start()
		r = w.subscribed("heartbeat=1s", "Last-Event-ID", kept)
		w.ring(2)
		r.expect(3, 4)
		lost := r.ping().id
		r.close()
		w.stop()
		w.must(os.WriteFile(w.path, backup, 0o600))

		w.start()
		w.ring(3) // other events under the same numbers
		w.subscribed("", "Last-Event-ID", kept).expect(5, 7)
		r = w.connect("", "Last-Event-ID", lost)
		r.next()
		r.gap(gapReset, lost)
		w.ring(1)
		r.expect(8, 8)
	})
}

// All clients come back the moment a server starts. What was committed before
// it stopped and not told then is told now, however early they are.
func TestResumeBeforeTheLogIsOpen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.subscribed("")
		w.ring(1)
		r.expect(1, 1)
		r.close()
		w.ring(2)
		w.stop()

		w.open()
		early := make(chan *reader)
		go func() { early <- w.connect("", "Last-Event-ID", r.lastID) }()
		synctest.Wait()
		w.ring(1)
		w.follow()
		resumed := <-early
		resumed.next()
		w.ring(1)
		resumed.expect(2, 5)
	})
}

// Who has read the preamble misses nothing after it, on a log that was not open
// when it came.
func TestOpenedBeforeTheLogIsOpen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.ring(1)
		w.stop()

		w.open()
		early := make(chan *reader)
		go func() { early <- w.subscribed("") }()
		synctest.Wait()
		select {
		case r := <-early:
			w.ring(1) // is not handed on: it stands in the log when the tail starts
			w.follow()
			r.expect(2, 2)
		default:
			w.follow()
			r := <-early
			w.ring(1)
			r.expect(2, 2)
		}
	})
}

// A log that does not open is told like a store that cannot be reached.
func TestALogThatDoesNotOpen(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.stop()
		w.open()
		r := w.connect("")
		if got := r.rest(); !slices.Equal(got, []string{unavailable}) {
			t.Errorf("got %q", got)
		}
		w.follow()
	})
}

// A stream that fell behind so far that retention overtook it is told from
// where it misses something, and is live again on the same connection.
func TestRetentionOvertakesASlowStream(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.subscribed("")
		w.ring(1)
		id := first.frame().id
		first.close()
		r := w.stalled("", "Last-Event-ID", id)
		synctest.Wait() // it has rejoined, and is live
		w.text = strings.Repeat("x", 100<<10)
		w.ring(200) // more than its queue and the tail's memory hold
		w.prune()
		w.text = ""
		close(r.release)
		r.next()
		told, gap := 1, block{}
		for gap.raw == "" {
			switch b := r.next(); b.event {
			case "entity.create":
				if told++; b.n(t) != told {
					t.Fatalf("got bell %d, want %d", b.n(t), told)
				}
			case "stream.gap":
				gap = b
			}
		}
		var data struct{ Since string }
		w.must(json.Unmarshal([]byte(gap.data), &data))
		if at, err := w.server.sealer.open(data.Since); err != nil || at.Seq != int64(told) {
			t.Errorf("since %v (%v), want the position of bell %d, the last that was told", at, err, told)
		}
		w.ring(1)
		r.expect(w.n, w.n)
	})
}

// Who asks for a page that retention overtakes meanwhile gets a gap, not a hole.
func TestRetentionOvertakesAResume(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		first := w.subscribed("")
		w.ring(1)
		id := first.frame().id
		first.close()
		w.ring(1200)
		r := w.stalled("", "Last-Event-ID", id)
		synctest.Wait() // its first page is read, and does not fit the connection
		w.prune()
		close(r.release)
		r.next()
		told := 1
		for {
			b := r.next()
			if b.event == "stream.gap" {
				break
			}
			if told++; b.n(t) != told {
				t.Fatalf("got bell %d, want %d", b.n(t), told)
			}
		}
		if told > 600 {
			t.Errorf("%d bells came before the gap: the first page was to be the last", told)
		}
		w.ring(2)
		r.expect(w.n-1, w.n)
	})
}

var errNotFound = errors.New("not found")

// A heartbeat's position is checked against the log in one snapshot with what
// is read of it.
func TestPositionsStandInTheLog(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.subscribed("heartbeat=1s")
		for range 10 {
			w.ring(3)
			for {
				b := r.next()
				if b.event != "" {
					continue
				}
				at, err := w.server.sealer.open(b.id)
				w.must(err)
				if at.Seq == 0 {
					continue // the first one: nothing stood in the log yet
				}
				w.must(w.disk.View(context.Background(), func(rd store.Reader) error {
					stands, found, err := rd.At(at.Seq)
					if err == nil && (!found || stands != at.EventID) {
						err = errNotFound
					}
					return err
				}))
				break
			}
		}
	})
}
