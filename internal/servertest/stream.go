package servertest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// Block is what stands between two blank lines of a stream, byte for byte.
type Block struct {
	Raw   string // with line feeds, without the blank line
	ID    string
	Event string
	Data  string
}

// Stream is an open connection of the test.
type Stream struct {
	Header http.Header
	blocks *queue
	cancel context.CancelFunc
	t      testing.TB
	last   string
}

// Open opens a stream, which must be answered 200, and reads its preamble.
func (c *Caller) Open(path string) *Stream {
	c.server.t.Helper()
	s := c.Connect(path)
	if first := s.Next(); !strings.Contains(first.Raw, ": subscribed ") {
		s.t.Fatalf("the stream begins with %q", first.Raw)
	}
	return s
}

// Resume is Open with a Last-Event-ID.
func (c *Caller) Resume(path, lastID string) *Stream {
	c.server.t.Helper()
	return c.With("Last-Event-ID", lastID).Open(path)
}

// Connect opens a stream and leaves its preamble to be read.
func (c *Caller) Connect(path string) *Stream {
	c.server.t.Helper()
	s, refusal := c.Knock(path)
	if refusal != nil {
		c.server.t.Fatalf("opening %s: status %d: %s", path, refusal.Status, refusal.Body)
	}
	return s
}

// Knock is Connect where it is not known whether the stream will be opened: it
// returns the stream, or the answer that is not 200.
func (c *Caller) Knock(path string) (*Stream, *Answer) {
	t := c.server.t
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := http.DefaultClient.Do(c.request("GET", path, "").WithContext(ctx))
	if err != nil {
		cancel()
		t.Fatalf("opening %s: %v", path, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer cancel()
		return nil, c.read(resp, path)
	}
	s := &Stream{Header: resp.Header, blocks: newQueue(), cancel: cancel, t: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer s.blocks.end()
		defer func() { _ = resp.Body.Close() }()
		s.read(bufio.NewReader(resp.Body))
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return s, nil
}

func (s *Stream) read(r *bufio.Reader) {
	for {
		b, err := ReadBlock(r)
		if err != nil {
			return
		}
		s.blocks.put(b)
	}
}

// ReadBlock reads what stands before the next blank line of a stream. The error
// is the reader's; a block that it cuts off is lost.
func ReadBlock(r *bufio.Reader) (b Block, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == "\n" {
			return b, err
		}
		b.Raw += line
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			b.ID = rest
		case "event":
			b.Event = rest
		case "data":
			b.Data = rest
		}
	}
}

// Next returns the next block, whatever it is.
func (s *Stream) Next() Block {
	s.t.Helper()
	b, ok, ended := s.blocks.take(time.After(patience))
	switch {
	case ended:
		s.t.Fatal("the stream has ended")
	case !ok:
		s.t.Fatal("nothing comes on the stream")
	case b.ID != "":
		s.last = b.ID
	}
	return b
}

// Frame returns the next frame, passing over heartbeats.
func (s *Stream) Frame() Frame {
	s.t.Helper()
	for {
		if b := s.Next(); b.Event != "" {
			return Frame{Block: b, t: s.t}
		}
	}
}

// Ping waits for the next heartbeat and returns its block; a frame before it fails the test.
func (s *Stream) Ping() Block {
	s.t.Helper()
	b := s.Next()
	if !strings.HasPrefix(b.Raw, ": ping\n") {
		s.t.Fatalf("got %q, want a heartbeat and nothing before it", b.Raw)
	}
	return b
}

// LastID returns the last id seen.
func (s *Stream) LastID() string { return s.last }

// End waits for the end of the stream and returns what came before it.
func (s *Stream) End() []Block {
	s.t.Helper()
	var rest []Block
	deadline := time.After(patience)
	for {
		b, ok, ended := s.blocks.take(deadline)
		switch {
		case ended:
			return rest
		case !ok:
			s.t.Fatal("the stream does not end")
		}
		rest = append(rest, b)
	}
}

// Close hangs up.
func (s *Stream) Close() { s.cancel() }

// Frame is an event block.
type Frame struct {
	Block
	t testing.TB
}

// JSON decodes the frame's data.
func (f Frame) JSON() map[string]any {
	f.t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(f.Data), &doc); err != nil {
		f.t.Fatalf("data is no JSON: %v: %s", err, f.Data)
	}
	return doc
}

// Row returns the bytes of the frame's data member, or "" where it has none.
func (f Frame) Row() string {
	f.t.Helper()
	var doc struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(f.Data), &doc); err != nil {
		f.t.Fatalf("data is no JSON: %v: %s", err, f.Data)
	}
	return string(doc.Data)
}

// Subject returns the id of the row that the frame names.
func (f Frame) Subject() string { id, _ := f.JSON()["subject"].(string); return id }
