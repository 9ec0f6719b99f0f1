package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what is held of a file.
const (
	maxRow   = 16 << 20 // bytes of one row; a longer one is refused
	headSize = 64 << 10 // bytes of the beginning by which a file is known again
	maxShown = 4 << 10  // bytes of a refused line that are shown
)

// fileRow is one row of a file, or why a line is none.
type fileRow struct {
	line, last int    // where it stands, from 1
	end        int64  // the offset behind it
	body       []byte // the row as JSON; nil where reason says why not
	text       string // the beginning of a line that is no row
	reason     string
}

// lines reads a file line by line and knows where it stands.
type lines struct {
	file   io.Reader
	in     *bufio.Reader
	offset int64
	number int // of the line read last
	size   int64
	head   string
	held   []byte
	limit  int // how many bytes of one row are held
}

// openLines opens a file, or stdin for "-". Size is -1 of what is no regular file.
func openLines(name string, stdin io.Reader) (*lines, func() error, error) {
	l := &lines{file: stdin, size: -1, limit: maxRow}
	shut := func() error { return nil }
	if name != "-" {
		f, err := os.Open(name) // #nosec G304 -- the operator names it
		if err != nil {
			return nil, nil, err
		}
		l.file, shut = f, f.Close
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			l.size = info.Size()
		}
	}
	l.in = bufio.NewReaderSize(l.file, headSize)
	head, err := l.in.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, errors.Join(err, shut())
	}
	sum := sha256.Sum256(head)
	l.head = hex.EncodeToString(sum[:])
	if bytes.HasPrefix(head, []byte("\uFEFF")) { // a byte order mark
		n, err := l.in.Discard(3)
		l.offset += int64(n)
		if err != nil {
			return nil, nil, errors.Join(err, shut())
		}
	}
	return l, shut, nil
}

// skip goes on to an offset at the beginning of a line.
func (l *lines) skip(offset int64, line int) error {
	if offset < l.offset {
		return fmt.Errorf("the file is read up to %d already, beyond %d", l.offset, offset)
	}
	if _, err := io.CopyN(io.Discard, l.in, offset-l.offset); err != nil {
		return fmt.Errorf("the file ends before what was read of it: %w", err)
	}
	l.offset, l.number = offset, line
	return nil
}

// line is one physical line.
type line struct {
	data   []byte // with its end; good until the next call
	quotes int    // how many '"' it holds
	long   bool   // data is only its beginning
}

// next returns the next line, or io.EOF.
func (l *lines) next() (line, error) {
	var out line
	l.held = l.held[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		l.offset += int64(len(part))
		out.quotes += bytes.Count(part, []byte{'"'})
		if len(l.held)+len(part) > l.limit {
			out.long = true
		}
		if !out.long {
			l.held = append(l.held, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return out, err
		case err != nil && len(part) == 0 && len(l.held) == 0 && !out.long:
			return out, io.EOF
		}
		l.number++
		out.data = l.held
		return out, nil
	}
}

// tooLong is the reason to refuse a row that is longer than is held.
func (l *lines) tooLong() string { return "is longer than " + size(int64(l.limit)) }

// shown is the beginning of a text, to name it by.
func shown(text []byte) string {
	return string(bytes.ToValidUTF8(bytes.TrimRight(text[:min(len(text), maxShown)], "\r\n"), []byte("\uFFFD")))
}

// ndjson reads an object a line.
type ndjson struct {
	lines  *lines
	fields []string // nil: all
}

// next returns the next row or refused line, or io.EOF. Blank lines are none.
func (r *ndjson) next() (fileRow, error) {
	for {
		l, err := r.lines.next()
		if err != nil {
			return fileRow{}, err
		}
		text := bytes.TrimSpace(l.data)
		if len(text) == 0 && !l.long {
			continue
		}
		out := fileRow{line: r.lines.number, last: r.lines.number, end: r.lines.offset}
		out.body, err = r.row(text, l.long)
		if err != nil {
			out.body, out.text, out.reason = nil, shown(l.data), err.Error()
		}
		return out, nil
	}
}

// row returns the object of a line, with the fields that are wanted.
func (r *ndjson) row(text []byte, long bool) ([]byte, error) {
	var whole json.RawMessage
	switch {
	case long:
		return nil, errors.New(r.lines.tooLong())
	case !utf8.Valid(text):
		return nil, errors.New("is not valid UTF-8")
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if text[0] != '{' {
		return nil, errors.New("is not a JSON object")
	}
	if r.fields == nil {
		return whole, nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	out := []byte{'{'}
	for _, name := range r.fields {
		raw, there := members[name]
		if !there {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		var err error
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return nil, fmt.Errorf("--fields: %w", err)
		}
		out = append(append(out, ':'), raw...)
	}
	return append(out, '}'), nil
}
