package drive

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// scanner reads one HTTP/1.1 answer that is an event stream, fed in pieces of
// any size. It copies nothing but what a piece cuts in two.
type scanner struct {
	onFrame func(id, data []byte) // valid during the call only

	state      state
	left       int    // bytes left of the chunk
	partial    []byte // of a line of the body
	head       []byte // of the header or of a chunk's size
	id, data   []byte
	hasData    bool
	gap        bool
	gaps       uint64
	subscribed bool // the preamble's comment was read
	closing    bool // the closing comment was read
}

type state uint8

const (
	inHeader state = iota
	inSize
	inChunk
	afterChunk
	inBody // not chunked: to the end of the connection
)

// errEnded tells that the server ended the stream.
var errEnded = errors.New("the server ended the stream")

// feed takes the next bytes of the connection.
func (s *scanner) feed(p []byte) error {
	for len(p) > 0 {
		var err error
		switch s.state {
		case inHeader:
			p, err = s.header(p)
		case inSize:
			p, err = s.size(p)
		case inChunk:
			n := min(s.left, len(p))
			s.body(p[:n])
			p, s.left = p[n:], s.left-n
			if s.left == 0 {
				s.state, s.left = afterChunk, len("\r\n")
			}
		case afterChunk:
			n := min(s.left, len(p))
			p, s.left = p[n:], s.left-n
			if s.left == 0 {
				s.state = inSize
			}
		case inBody:
			s.body(p)
			p = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// header gathers the head of the answer and judges it.
func (s *scanner) header(p []byte) ([]byte, error) {
	before := len(s.head)
	s.head = append(s.head, p...)
	end := bytes.Index(s.head, []byte("\r\n\r\n"))
	if end < 0 {
		if len(s.head) > 1<<16 {
			return nil, errors.New("an answer without an end of its header")
		}
		return nil, nil
	}
	head := s.head[:end]
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
		return nil, fmt.Errorf("the server refused the stream: %s", bytes.ReplaceAll(s.head, []byte("\r\n"), []byte(" | ")))
	}
	s.state = inBody
	if bytes.Contains(bytes.ToLower(head), []byte("\r\ntransfer-encoding: chunked")) {
		s.state = inSize
	}
	s.head = nil
	return p[end+4-before:], nil
}

// size reads the line that begins a chunk.
func (s *scanner) size(p []byte) ([]byte, error) {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		s.head = append(s.head, p...)
		return nil, nil
	}
	line := p[:end]
	if len(s.head) > 0 {
		line = append(s.head, line...)
	}
	text, _, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\r")), []byte(";"))
	n, err := strconv.ParseUint(string(text), 16, 31)
	if err != nil {
		return nil, fmt.Errorf("a chunk of size %q", text)
	}
	if n == 0 {
		return nil, errEnded
	}
	s.head, s.left, s.state = s.head[:0], int(n), inChunk
	return p[end+1:], nil
}

// body cuts the stream into lines; rowcast and the floor end them in LF alone.
func (s *scanner) body(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			s.partial = append(s.partial, p...)
			return
		}
		line := p[:end]
		if len(s.partial) > 0 {
			s.partial = append(s.partial, line...)
			line = s.partial
		}
		s.line(line)
		s.partial = s.partial[:0]
		p = p[end+1:]
	}
}

// line takes one line of the stream.
func (s *scanner) line(line []byte) {
	switch {
	case len(line) == 0:
		if s.gap {
			s.gaps++
		} else if s.hasData {
			s.onFrame(s.id, s.data)
		}
		s.hasData, s.gap = false, false
	case line[0] == 'i' && bytes.HasPrefix(line, []byte("id: ")):
		s.id = append(s.id[:0], line[4:]...)
	case line[0] == 'd' && bytes.HasPrefix(line, []byte("data: ")):
		s.data = append(s.data[:0], line[6:]...)
		s.hasData = true
	case line[0] == 'e':
		s.gap = bytes.HasSuffix(line, []byte("stream.gap"))
	case line[0] == ':':
		s.subscribed = s.subscribed || bytes.HasPrefix(line, []byte(": subscribed"))
		s.closing = s.closing || bytes.HasPrefix(line, []byte(": closing"))
	}
}
