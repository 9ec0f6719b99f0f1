package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowcast/rowcast/fault"
)

// maxDepth is how deep a body may nest, its own braces counted.
const maxDepth = 64

// Member is one key of a JSON object as sent.
type Member struct {
	Name string
	Raw  json.RawMessage
}

// Body is a decoded JSON object, keys in the order sent.
type Body []Member

// DecodeBody reads exactly one JSON object: no duplicate key, no invalid UTF-8,
// no U+0000, nothing after it, at most 64 deep. The members share data's memory.
// Fault malformed_body, which says where.
func DecodeBody(data []byte) (Body, error) {
	r := newReader(data)
	b, err := r.object()
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, r.malformed("", err)
	}
	return b, nil
}

// DecodeBodies reads a JSON array of objects, or NDJSON (ndjson true): one
// object a line, blank lines skipped. The fault names the element, counting
// from 0.
func DecodeBodies(data []byte, ndjson bool) ([]Body, error) {
	if ndjson {
		return decodeLines(data)
	}
	bodies := []Body{}
	r := newReader(data)
	err := r.array(func() error {
		b, err := r.object()
		bodies = append(bodies, b)
		return err
	})
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, r.malformed(fmt.Sprintf("element %d: ", max(len(bodies)-1, 0)), err)
	}
	return bodies, nil
}

func decodeLines(data []byte) ([]Body, error) {
	bodies := []Body{}
	for start := 0; start < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
			end = start + i
		}
		line := data[start:end]
		if len(bytes.TrimSpace(line)) > 0 {
			r := newReader(line)
			r.before = data[:start]
			b, err := r.object()
			if err == nil {
				err = r.end()
			}
			if err != nil {
				return nil, r.malformed(fmt.Sprintf("element %d: ", len(bodies)), err)
			}
			bodies = append(bodies, b)
		}
		start = end + 1
	}
	return bodies, nil
}

// reader walks one JSON text token by token, so that a text nested ten thousand
// deep is refused at the sixty-fifth level and nothing recurses.
type reader struct {
	data   []byte
	before []byte // what stands before data, for the place of a fault
	dec    *jsontext.Decoder
	nul    bool // data may hold an escaped U+0000: look at each string
}

func newReader(data []byte) *reader {
	return &reader{data: data, dec: jsontext.NewDecoder(bytes.NewBuffer(data)), nul: bytes.Contains(data, []byte(`\u0000`))}
}

// at is a fault of our own at the place just read.
type at struct {
	offset int64
	text   string
}

func (a *at) Error() string { return a.text }

func (r *reader) refuse(text string) error { return &at{offset: r.dec.InputOffset(), text: text} }

func (r *reader) token() (jsontext.Token, error) {
	tok, err := r.dec.ReadToken()
	switch {
	case err != nil:
		return tok, err
	case r.dec.StackDepth() > maxDepth:
		return tok, r.refuse(fmt.Sprintf("nests deeper than %d levels", maxDepth))
	case r.nul && tok.Kind() == '"' && strings.IndexByte(tok.String(), 0) >= 0:
		return tok, r.refuse("holds the character U+0000, which no text may")
	}
	return tok, nil
}

// object reads the next value, which must be an object.
func (r *reader) object() (Body, error) {
	tok, err := r.token()
	if err != nil {
		return nil, err
	}
	if tok.Kind() != '{' {
		return nil, r.refuse("is not a JSON object")
	}
	b := Body{}
	for {
		tok, err := r.token()
		if err != nil {
			return nil, err
		}
		if tok.Kind() == '}' {
			return b, nil
		}
		name := tok.String()
		raw, err := r.value()
		if err != nil {
			return nil, err
		}
		b = append(b, Member{Name: name, Raw: raw})
	}
}

// array reads the next value, which must be an array, by calling element for each.
func (r *reader) array(element func() error) error {
	tok, err := r.token()
	if err != nil {
		return err
	}
	if tok.Kind() != '[' {
		return r.refuse("is not a JSON array")
	}
	for r.dec.PeekKind() != ']' {
		if err := element(); err != nil {
			return err
		}
	}
	_, err = r.token()
	return err
}

// value reads the next value whole and returns its text.
func (r *reader) value() (json.RawMessage, error) {
	start := r.dec.InputOffset()
	depth := r.dec.StackDepth()
	for {
		if _, err := r.token(); err != nil {
			return nil, err
		}
		if r.dec.StackDepth() == depth {
			break
		}
	}
	return json.RawMessage(bytes.TrimLeft(r.data[start:r.dec.InputOffset()], ": ,\t\r\n")), nil
}

// end refuses anything but white space after the value.
func (r *reader) end() error {
	_, err := r.dec.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		err = r.refuse("has something after its end")
	}
	return err
}

func (r *reader) malformed(element string, err error) error {
	offset, text := int64(len(r.data)), "ends too early"
	var own *at
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &own):
		offset, text = own.offset, own.text
	case errors.Is(err, jsontext.ErrDuplicateName):
		text = "gives a key twice"
		if errors.As(err, &syntax) {
			offset = syntax.ByteOffset
		}
	case errors.As(err, &syntax):
		offset = syntax.ByteOffset
		if !errors.Is(err, io.ErrUnexpectedEOF) {
			text = "is not JSON: " + syntax.Err.Error()
		}
	case len(bytes.TrimSpace(r.data)) == 0:
		text = "is empty"
	}
	offset = min(offset, int64(len(r.data)))
	before := slices.Concat(r.before, r.data[:offset])
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fault.New(fault.MalformedBody, "%sthe body %s (line %d, column %d, offset %d)", element, text, line, column, len(before))
}
