package client

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
)

// maxFrame bounds one frame, and one line of it. A server that sends more is
// broken, and must not fill the memory of its clients.
const maxFrame = 16 << 20

// errFrameTooLarge tells of a frame over maxFrame.
var errFrameTooLarge = fmt.Errorf("client: a frame of more than %d bytes", maxFrame)

// kind says what a frame is.
type kind uint8

const (
	kindEvent    kind = iota + 1 // a block with data: to be dispatched
	kindPosition                 // a block without data that moved the last event id
	kindComment                  // a comment line
)

// frame is one thing that a stream said.
type frame struct {
	kind kind
	name string // the event field; "" means "message"
	text string // data of an event, text of a comment
	id   string // the last event id, as of this frame
}

// parser reads text/event-stream as the HTML standard has it: lines end in CR,
// LF or CRLF, one leading BOM is dropped, a block that the end of the stream
// cuts short is discarded. It never waits for the byte after a CR.
type parser struct {
	reader *bufio.Reader
	begun  bool
	skipLF bool // the last line ended in CR: a LF that follows belongs to it
	line   []byte

	name   string
	data   []byte
	fields bool // the block has data
	nextID string

	lastID string
	retry  time.Duration // the last valid retry field; 0: none so far
}

func newParser(r io.Reader, lastID string) *parser {
	return &parser{reader: bufio.NewReader(r), lastID: lastID, nextID: lastID}
}

// next returns the next frame, or the error of the reader.
func (p *parser) next() (frame, error) {
	for {
		line, err := p.readLine()
		if err != nil {
			return frame{}, err
		}
		if !p.begun {
			p.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) == 0 {
			if f, ok := p.endBlock(); ok {
				return f, nil
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		if len(name) == 0 {
			return frame{kind: kindComment, text: string(value), id: p.lastID}, nil
		}
		if err := p.field(string(name), value); err != nil {
			return frame{}, err
		}
	}
}

// field takes one field of the block; names it does not know are ignored.
func (p *parser) field(name string, value []byte) error {
	switch name {
	case "event":
		p.name = string(value)
	case "data":
		if len(p.data)+len(value) >= maxFrame {
			return errFrameTooLarge
		}
		p.data = append(append(p.data, value...), '\n')
		p.fields = true
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			p.nextID = string(value)
		}
	case "retry":
		if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil && digits(value) {
			p.retry = time.Duration(max(ms, 1)) * time.Millisecond // 0 is "at once", and here "not said"
		}
	}
	return nil
}

// endBlock settles the block that an empty line ends.
func (p *parser) endBlock() (frame, bool) {
	moved := p.nextID != p.lastID
	p.lastID = p.nextID
	f := frame{name: p.name, id: p.lastID}
	switch {
	case p.fields:
		f.kind, f.text = kindEvent, string(p.data[:len(p.data)-1])
	case moved:
		f.kind, f.name = kindPosition, ""
	}
	p.name, p.data, p.fields = "", p.data[:0], false
	return f, f.kind != 0
}

// readLine returns the next line without its end. A line without one is what
// the end of the stream cut short, and is lost. The result is valid until the
// next call.
func (p *parser) readLine() ([]byte, error) {
	p.line = p.line[:0]
	for {
		if _, err := p.reader.Peek(1); err != nil {
			return nil, err
		}
		chunk, _ := p.reader.Peek(p.reader.Buffered())
		if p.skipLF {
			p.skipLF = false
			if chunk[0] == '\n' {
				p.discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			if len(p.line)+len(chunk) > maxFrame {
				return nil, errFrameTooLarge
			}
			p.line = append(p.line, chunk...)
			p.discard(len(chunk))
			continue
		}
		p.line = append(p.line, chunk[:end]...)
		p.skipLF = chunk[end] == '\r'
		p.discard(end + 1)
		return p.line, nil
	}
}

// discard drops n bytes that are known to be buffered.
func (p *parser) discard(n int) { _, _ = p.reader.Discard(n) }

// digits reports whether value is made of ASCII digits alone.
func digits(value []byte) bool {
	for _, c := range value {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(value) > 0
}
