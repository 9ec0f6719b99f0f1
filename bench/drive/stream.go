package drive

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"
)

// Opening says how to open one stream.
type Opening struct {
	Addr  string // host:port
	Path  string // such as "/subscribe/order?name=all"
	Token string // "" sends none
}

// readBuffer is what one read may take; a server that gathers frames sends many at once.
const readBuffer = 32 << 10

// Stream reads one event stream on a raw connection. Frames may be read from
// any goroutine; the rest belongs to its reader until that has ended.
type Stream struct {
	conn   net.Conn
	scan   scanner
	buffer []byte
	timed  bool // note when each frame came

	frames     atomic.Uint64
	digest     uint64 // of the ids, in the order in which they came
	last       []byte
	descending uint64 // ids not above the one before
	keep       bool
	kept       []Frame
	arrivals   []int64 // Unix nanoseconds
	err        error
}

// Frame is what a stream that keeps its frames knows of one.
type Frame struct {
	ID      string
	Subject string
	Bytes   int // on the wire, less what chunks add
}

// openStream connects and returns once the preamble was read.
func openStream(ctx context.Context, opening Opening, timed, keep bool) (*Stream, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", opening.Addr)
	if err != nil {
		return nil, err
	}
	s := &Stream{conn: conn, buffer: make([]byte, readBuffer), timed: timed, keep: keep, digest: digestSeed}
	s.scan.onFrame = s.frame
	if err := s.greet(opening); err != nil {
		return nil, fmt.Errorf("open %s: %w", opening.Path, firstOf(err, conn.Close()))
	}
	return s, nil
}

// firstOf returns the first error; the second one is only a consequence.
func firstOf(err, _ error) error { return err }

func (s *Stream) greet(opening Opening) error {
	request := "GET " + opening.Path + " HTTP/1.1\r\nHost: " + opening.Addr + "\r\nAccept: text/event-stream\r\n"
	if opening.Token != "" {
		request += "Authorization: Bearer " + opening.Token + "\r\n"
	}
	if err := s.conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	if _, err := s.conn.Write([]byte(request + "\r\n")); err != nil {
		return err
	}
	for !s.scan.subscribed {
		if err := s.read(); err != nil {
			return err
		}
	}
	return s.conn.SetDeadline(time.Time{})
}

// run reads to the end of the connection.
func (s *Stream) run() {
	for s.err == nil {
		s.err = s.read()
	}
}

func (s *Stream) read() error {
	n, err := s.conn.Read(s.buffer)
	if n > 0 {
		if err := s.scan.feed(s.buffer[:n]); err != nil {
			return err
		}
	}
	return err
}

// frame counts a frame; it is on the path of millions.
func (s *Stream) frame(id, data []byte) {
	k := s.frames.Load()
	if s.timed {
		s.arrivals = append(s.arrivals, time.Now().UnixNano())
	}
	if s.keep {
		size := len("id: \nevent: entity.create\ndata: \n\n") + len(id) + len(data)
		s.kept = append(s.kept, Frame{ID: string(id), Subject: member(data, `"subject":"`), Bytes: size})
	}
	s.digest = digest(s.digest, id)
	if bytes.Compare(id, s.last) <= 0 {
		s.descending++
	}
	s.last = append(s.last[:0], id...)
	s.frames.Store(k + 1)
}

// member returns the text after key up to the next quote.
func member(json []byte, key string) string {
	_, rest, found := bytes.Cut(json, []byte(key))
	if !found {
		return ""
	}
	text, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(text)
}

const digestSeed = 14695981039346656037

// digest goes on with FNV-1a over one id, so that two streams that saw the same
// ids in the same order have the same digest.
func digest(sum uint64, id []byte) uint64 {
	for _, c := range id {
		sum = (sum ^ uint64(c)) * 1099511628211
	}
	return sum
}
