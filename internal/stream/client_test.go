package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// block is what stands between two blank lines of a stream, and when it came.
type block struct {
	raw, id, event, data string
	at                   time.Time
}

// n is the number of the bell or chime that a frame tells of.
func (b block) n(t *testing.T) int {
	t.Helper()
	var frame struct{ Data, Item struct{ N int } }
	if err := json.Unmarshal([]byte(b.data), &frame); err != nil {
		t.Fatalf("%v in %q", err, b.raw)
	}
	return frame.Data.N + frame.Item.N
}

// reader is a client of a stream.
type reader struct {
	t       *testing.T
	opened  time.Time
	status  int
	blocks  chan block // closed at the stream's end
	ended   chan struct{}
	end     time.Time // set before ended is closed
	broken  error     // why reading ended, nil for a proper end
	hangUp  context.CancelFunc
	lastID  string
	release chan struct{} // reading begins when it is closed
	body    string        // of an answer that is no stream
}

// place returns the URL of what a query asks for: a query, or channel=… and a
// query, or /subscribe/ENTITY and a query. Bells are the default.
func place(query string) string {
	switch {
	case strings.HasPrefix(query, "channel="):
		return "http://pipe/realtime?" + query
	case strings.HasPrefix(query, "/"):
		return "http://pipe" + query
	}
	return "http://pipe/subscribe/bell?" + query
}

// connect opens a stream: options are name, value pairs of headers.
func (w *world) connect(query string, headers ...string) *reader {
	w.t.Helper()
	r := w.stalled(query, headers...)
	close(r.release)
	return r
}

// stalled opens a stream and does not read from it before release is closed.
func (w *world) stalled(query string, headers ...string) *reader {
	w.t.Helper()
	ctx, hangUp := context.WithCancel(w.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place(query), http.NoBody)
	w.must(err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	r := &reader{
		t: w.t, opened: time.Now(), hangUp: hangUp,
		blocks: make(chan block, 1<<16), ended: make(chan struct{}), release: make(chan struct{}),
	}
	resp, err := w.client.Do(req)
	w.must(err)
	r.status = resp.StatusCode
	if r.status != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		r.body = strings.TrimSpace(string(text))
		_ = resp.Body.Close()
		close(r.ended)
		return r
	}
	go r.read(resp.Body)
	w.t.Cleanup(func() { r.hangUp(); <-r.ended })
	return r
}

// subscribed connects and reads the preamble.
func (w *world) subscribed(query string, headers ...string) *reader {
	w.t.Helper()
	r := w.connect(query, headers...)
	if r.status != http.StatusOK {
		w.t.Fatalf("status %d: %s", r.status, r.body)
	}
	if b := r.next(); !strings.Contains(b.raw, ": subscribed ") {
		w.t.Fatalf("the stream begins with %q", b.raw)
	}
	return r
}

func (r *reader) read(body io.ReadCloser) {
	defer close(r.ended)
	defer close(r.blocks)
	defer func() { _ = body.Close() }()
	<-r.release
	lines := bufio.NewReader(body)
	var b block
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			r.end = time.Now()
			if err != io.EOF {
				r.broken = err
			}
			return
		}
		if line == "\n" {
			b.at = time.Now()
			r.blocks <- b
			b = block{}
			continue
		}
		b.raw += line
		switch name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "id":
			b.id = rest
		case "event":
			b.event = rest
		case "data":
			b.data = rest
		}
	}
}

// next returns the next block.
func (r *reader) next() block {
	r.t.Helper()
	select {
	case b, ok := <-r.blocks:
		if !ok {
			r.t.Fatalf("the stream has ended: %v", r.broken)
		}
		if b.id != "" {
			r.lastID = b.id
		}
		return b
	case <-time.After(5 * time.Hour):
		r.t.Fatal("nothing comes on the stream")
	}
	return block{}
}

// frame returns the next frame, passing over heartbeats.
func (r *reader) frame() block {
	r.t.Helper()
	for {
		if b := r.next(); b.event != "" {
			return b
		}
	}
}

// expect reads frames of the creation of bells or chimes from a number to a
// number, each once, in order.
func (r *reader) expect(from, to int) {
	r.t.Helper()
	for want := from; want <= to; want++ {
		b := r.frame()
		if b.event != "entity.create" && b.event != "created" {
			r.t.Fatalf("got %q, want bell %d", b.raw, want)
		}
		if got := b.n(r.t); got != want {
			r.t.Fatalf("got bell %d, want %d", got, want)
		}
	}
}

// ping reads a heartbeat, which must come next.
func (r *reader) ping() block {
	r.t.Helper()
	b := r.next()
	if !strings.HasPrefix(b.raw, ": ping\nid: ~") {
		r.t.Fatalf("got %q, want a heartbeat", b.raw)
	}
	return b
}

// gap reads a stream.gap, which must come next, and checks its reason and since.
func (r *reader) gap(reason, since string) block {
	r.t.Helper()
	b := r.next()
	var data struct{ Reason, Since string }
	if b.event != "stream.gap" {
		r.t.Fatalf("got %q, want a gap", b.raw)
	}
	if err := json.Unmarshal([]byte(b.data), &data); err != nil || data.Reason != reason || (since != "" && data.Since != since) {
		r.t.Fatalf("got %s, want reason %s since %s", b.data, reason, since)
	}
	if !strings.HasPrefix(b.id, bookmarkMark) {
		r.t.Errorf("the gap's id is %q, want a position", b.id)
	}
	return b
}

// rest reads to the end and returns what came, heartbeats left out.
func (r *reader) rest() []string {
	r.t.Helper()
	var rest []string
	for b := range r.blocks {
		if !strings.HasPrefix(b.raw, ": ping\n") {
			rest = append(rest, b.raw)
		}
	}
	return rest
}

// lived is how long the stream was open; it has ended.
func (r *reader) lived() time.Duration {
	<-r.ended
	return r.end.Sub(r.opened)
}

// close hangs up and waits.
func (r *reader) close() {
	r.hangUp()
	<-r.ended
}
