package stream

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/fault"
)

// A channel begins like any stream: the preamble at once, with a first place to
// resume from. An id may be any text, and stays on its line.
func TestChannelPreamble(t *testing.T) {
	for channel, want := range map[string]string{
		"chime": "chime", "chime.c1": "chime.c1", "chime.a.b%20c%0Ad": "chime.a.b%20c%0Ad", "chime.%E2%80%A8": "chime.%E2%80%A8",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			r := w.connect("channel=" + channel)
			if b := r.next(); b.raw != "retry: 2000\n: subscribed entity=chime channel="+want+" closing-in=30m0s\n" {
				t.Errorf("preamble %q", b.raw)
			}
			r.ping()
		})
	}
}

// Channels contract, section 7, and beyond it: a channel resumes from whatever
// stood in an id: field, through the same filter, and goes on live.
func TestChannelResume(t *testing.T) {
	for _, c := range []struct {
		name, query string
		// from reads from a stream over which chimes 1 to 3 came, and says from where to resume.
		from func(w *world, r *reader) (query, header string)
		next int
	}{
		{"after an event", "", func(_ *world, r *reader) (string, string) { r.expect(1, 1); return "", r.lastID }, 2},
		{"after the last event", "", func(_ *world, r *reader) (string, string) { r.expect(1, 3); return "", r.lastID }, 4},
		{"after a heartbeat", "", func(_ *world, r *reader) (string, string) { r.expect(1, 3); return "", r.ping().id }, 4},
		{"by the parameter", "", func(_ *world, r *reader) (string, string) {
			r.expect(1, 2)
			return "&lastEventId=" + r.lastID, ""
		}, 3},
		{"through a filter", "&filter[n][in]=1,4,5,7", func(_ *world, r *reader) (string, string) { r.expect(1, 1); return "", r.lastID }, 4},
		{"where a filter lets nothing through", "&filter[n][gt]=3", func(_ *world, r *reader) (string, string) {
			<-time.After(6 * time.Second) // the next heartbeat
			return "", r.ping().id
		}, 4},
		{"after the event last pruned", "", func(w *world, r *reader) (string, string) {
			r.expect(1, 3)
			w.prune()
			return "", r.lastID
		}, 4},
		{"after a gap", "", func(w *world, r *reader) (string, string) {
			gap := w.connect("channel=chime", "Last-Event-ID", "no such event")
			gap.next()
			return "", gap.gap(gapUnknown, "no such event").id
		}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				r := w.subscribed("channel=chime&heartbeat=5s" + c.query)
				r.ping()
				w.chime(3)
				query, header := c.from(w, r)
				r.close()
				w.chime(2)
				again := w.subscribed("channel=chime"+c.query+query, "Last-Event-ID", header)
				again.expect(c.next, 5)
				w.n++ // a number that the filters leave out
				w.chime(1)
				again.expect(7, 7)
			})
		})
	}
}

// An item channel tells of its row alone, live and replayed, and stands where
// the others are.
func TestItemChannelResumes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.subscribed("channel=chime.c2&heartbeat=1s")
		r.ping()
		w.chime(3)
		r.expect(2, 2)
		<-time.After(2 * time.Second)
		id := r.ping().id // beyond all three
		r.close()
		w.chime(2)
		for query, want := range map[string]int{"channel=chime.c5": 5, "channel=chime.c4": 4} {
			w.subscribed(query, "Last-Event-ID", id).expect(want, want)
		}
		quiet := w.subscribed("channel=chime.c2&lifetime=2s", "Last-Event-ID", id)
		if got := quiet.rest(); !slices.Equal(got, []string{closing}) {
			t.Errorf("nothing of row c2 came after its bookmark, and it is told %q", got)
		}
	})
}

// Channels and subscriptions stand in one log: an id of one is a place for the
// other. A change is a row of each, the channel's after the topics'.
func TestAnIDOfASubscriptionIsAPlaceForAChannel(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		topic, channel := w.subscribed("/subscribe/chime?heartbeat=2s"), w.subscribed("channel=chime&heartbeat=2s")
		topic.ping()
		channel.ping()
		w.chime(3)
		topic.expect(1, 2)
		channel.expect(1, 2)
		w.subscribed("channel=chime", "Last-Event-ID", topic.lastID).expect(2, 3) // told once more, by its other name
		w.subscribed("/subscribe/chime?", "Last-Event-ID", channel.lastID).expect(3, 3)
		topic.expect(3, 3)
		channel.expect(3, 3)
		fromTopic, fromChannel := topic.ping().id, channel.ping().id
		w.chime(1)
		w.subscribed("channel=chime", "Last-Event-ID", fromTopic).expect(4, 4)
		w.subscribed("/subscribe/chime?", "Last-Event-ID", fromChannel).expect(4, 4)
	})
}

// An id that stands for no place is said in-band, first, and the channel is
// live from there.
func TestChannelGaps(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		before := w.subscribed("channel=chime")
		w.chime(2)
		before.expect(1, 1)
		pruned := before.lastID
		w.prune()
		for id, reason := range map[string]string{"01ZZZZZZZZZZZZZZZZZZZZZZZZ": gapUnknown, "~x": gapUnknown, pruned: gapExpired} {
			r := w.connect("channel=chime&filter[n][gt]=0", "Last-Event-ID", id)
			r.next()
			r.gap(reason, id)
			w.chime(1)
			r.expect(w.n, w.n)
		}
	})
}

// A client that was slow and reads again gets everything that its filter lets
// through, in order, once.
func TestASlowChannelLosesNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		r := w.stalled("channel=chime&filter[n][gt]=10")
		w.chime(710)
		synctest.Wait()
		if c := w.hub.Counters(); c.Dropped == 0 {
			t.Fatal("nothing was dropped: the test does not make it slow")
		}
		close(r.release)
		r.next()
		r.expect(11, 710)
		w.chime(1)
		r.expect(711, 711)
		if c := w.hub.Counters(); c.Delivered+c.Replayed != 701 || c.Replayed < 500 {
			t.Errorf("%d delivered and %d replayed, want 701 together", c.Delivered, c.Replayed)
		}
	})
}

// A channel ends as every stream does: with its lifetime, its credential, the server.
func TestChannelsEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		brief := w.connect("channel=chime&lifetime=90s")
		mortal := w.connect("channel=chime.c1", "X-Expires", "40s")
		open := w.subscribed("channel=chime")
		for r, want := range map[*reader]time.Duration{brief: 90 * time.Second, mortal: 40 * time.Second} {
			r.next()
			if got := r.rest(); !slices.Equal(got, []string{closing}) || r.lived() != want {
				t.Errorf("ends with %q after %s, want the closing comment after %s", got, r.lived(), want)
			}
		}
		w.hub.Close()
		if got := open.rest(); len(got) != 1 || !strings.HasPrefix(got[0], "retry: ") || !strings.HasSuffix(got[0], closing) {
			t.Errorf("at shutdown it ends with %q", got)
		}
	})
}

// While the store cannot be reached a channel is judged as far as that needs no
// store, and told so in-band.
func TestChannelDuringAnOutage(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.disk.down.Store(true)
		if r := w.connect("channel=chime&fields=zzz"); r.status == http.StatusOK || r.body != string(fault.InvalidQuery) {
			t.Errorf("got %d %s, want invalid_query", r.status, r.body)
		}
		r := w.connect("channel=chime")
		if b := r.next(); r.status != http.StatusOK || b.raw != "retry: 5000\n: store unavailable, reconnect\n" {
			t.Errorf("got %d %q", r.status, b.raw)
		}
	})
}
