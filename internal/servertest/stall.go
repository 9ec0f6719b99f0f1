package servertest

import (
	"bufio"
	"context"
	"io"
	"net/http"
)

// Stalled is a client that has opened a stream, read its preamble, and stopped
// reading.
type Stalled struct {
	caller *Caller
	body   io.ReadCloser
	cancel context.CancelFunc
}

// Stall opens a stream and stops reading after the preamble.
func (c *Caller) Stall(path string) *Stalled {
	t := c.server.t
	t.Helper()
	s := &Stalled{caller: c}
	transport := &http.Transport{DisableCompression: true, ReadBufferSize: 1}
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	resp, err := (&http.Client{Transport: transport}).Do(c.request("GET", path, "").WithContext(ctx))
	if err != nil {
		cancel()
		t.Fatalf("opening %s: %v", path, err)
	}
	s.body = resp.Body
	t.Cleanup(func() { cancel(); _ = resp.Body.Close(); transport.CloseIdleConnections() })
	return s
}

// Resume reads on.
func (s *Stalled) Resume() *Stream {
	t := s.caller.server.t
	stream := &Stream{blocks: newQueue(), cancel: s.cancel, t: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer stream.blocks.end()
		stream.read(bufio.NewReader(s.body))
	}()
	t.Cleanup(func() { s.cancel(); <-ended })
	return stream
}
