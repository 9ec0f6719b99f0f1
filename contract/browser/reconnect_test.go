package browser

import (
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/browsertest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// At the end of its lifetime a stream is reconnected by the browser, from the
// position that the last heartbeat told, though no event ever came: what was
// written in between is told.
func TestALifetimeEndsAndTheBrowserReconnects(t *testing.T) {
	clean(t)
	s := servertest.Start(t, servertest.Options{Schema: schema})
	b := browsertest.Balance(t, s.URL)
	f := signedIn(t, b, s).Follow("/subscribe/item?name=all&lifetime=1s")
	f.Await(browsertest.Errored, 1)
	s.User("ann").Post("/data/item", `{"id":"a"}`).Is(201)
	if got := f.Frame(); got.Subject() != "a" {
		t.Errorf("it is told %+v", got)
	}
	streams := b.Streams()
	if text := streams[0].Text(); !strings.HasSuffix(text, ": closing, reconnect\n\n") {
		t.Errorf("the first stream was %q", text)
	}
	if id := streams[1].LastEventID; !strings.HasPrefix(id, "~") || !strings.Contains(streams[0].Text(), "id: "+id+"\n") {
		t.Errorf("it reconnected from %q after %q", id, streams[0].Text())
	}
}

// A gap that cannot be filled reaches the page as an event, once: the position
// that it carries is where the next connection begins.
func TestAGapIsAnEventOfItsOwn(t *testing.T) {
	clean(t)
	s := servertest.Start(t, servertest.Options{Schema: schema})
	b := browsertest.Balance(t, s.URL)
	f := signedIn(t, b, s).Follow("/subscribe/item?name=all&lifetime=1s&lastEventId=01KBA3V7Q4N8Y6T2E9W5R1X0ZC")
	gap := f.Frame()
	if gap.Name != "stream.gap" || !strings.Contains(gap.Data, `"reason":"unknown"`) || gap.ID == "" {
		t.Errorf("first came %+v", gap)
	}
	f.Await(browsertest.Opened, 2)
	s.User("ann").Post("/data/item", `{"id":"a"}`).Is(201)
	if got := f.Frame(); got.Subject() != "a" {
		t.Errorf("after the gap came %+v", got)
	}
}

// A server that shuts down tells how long to wait, and the browser waits so
// long; what is written before it is back, it is told.
func TestAShutdownsRetryIsKept(t *testing.T) {
	clean(t)
	s := servertest.StartProcess(t, servertest.Options{Schema: schema, Listen: servertest.FreeAddress(t)})
	b := browsertest.Balance(t, s.URL)
	f := signedIn(t, b, s).Follow("/subscribe/item?name=all")
	f.Await(browsertest.Opened, 1)
	b.AwaitStream("told a position", func(p browsertest.Passage) bool { return strings.Contains(p.Text(), "id: ~") })
	s.Restart()
	s.User("ann").Post("/data/item", `{"id":"a"}`).Is(201)
	if got := f.Frame().Subject(); got != "a" {
		t.Errorf("after the restart it is told of %q", got)
	}
	streams := b.Streams()
	wait, waited := streams[0].Retry(), streams[1].Began.Sub(streams[0].Ended)
	if wait < time.Second || wait > 5*time.Second || !strings.Contains(streams[0].Text(), ": closing, reconnect\n") {
		t.Errorf("the server said %q", streams[0].Text())
	}
	const clocks = 50 * time.Millisecond // the browser's timers and ours
	if waited < wait-clocks {
		t.Errorf("it came back after %v, and was told to wait %v", waited, wait)
	}
}
