package guard

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// scanner reads the JSON of this file. After the first error nothing moves.
type scanner struct {
	text string
	err  error
}

func (s *scanner) fail(what string) {
	if s.err == nil {
		s.err = fmt.Errorf("%s expected, %d bytes before the end", what, len(s.text))
	}
}

func (s *scanner) end() error {
	if s.text != "" {
		s.fail("the end")
	}
	return s.err
}

func (s *scanner) skip(token string) bool {
	if s.err != nil || len(s.text) < len(token) || s.text[:len(token)] != token {
		return false
	}
	s.text = s.text[len(token):]
	return true
}

func (s *scanner) expect(token string) {
	if !s.skip(token) {
		s.fail(token)
	}
}

func (s *scanner) cells(fields map[string]int) store.Row {
	if s.skip("null") {
		return nil
	}
	row := make(store.Row, len(fields))
	for i := range row {
		row[i] = value.NotAtHand()
	}
	s.expect("{")
	for first := true; s.err == nil && !s.skip("}"); first = false {
		if !first {
			s.expect(",")
		}
		name := s.string()
		s.expect(":")
		cell := s.cell()
		if i, ok := fields[name]; ok && s.err == nil {
			row[i] = cell
		}
	}
	return row
}

func (s *scanner) cell() (v value.Value) {
	switch {
	case s.err != nil, s.skip("null"):
		return v
	case len(s.text) > 0 && s.text[0] == '"':
		return value.OfText(s.string())
	case s.skip(`{"f":`):
		bits, err := strconv.ParseUint(s.string(), 16, 64)
		if err != nil {
			s.fail("a float's bits")
		}
		v = value.OfFloat(math.Float64frombits(bits))
	case s.skip(`{"x":`):
		v = value.OfBlob(s.base64())
	case s.skip(`{"t":`):
		v = value.OfText(string(s.base64()))
	default:
		return s.number()
	}
	s.expect("}")
	return v
}

func (s *scanner) number() value.Value {
	n := 0
	for n < len(s.text) && (s.text[n] == '-' || s.text[n] >= '0' && s.text[n] <= '9') {
		n++
	}
	i, err := strconv.ParseInt(s.text[:n], 10, 64)
	if err != nil {
		s.fail("a cell")
		return value.Value{}
	}
	s.text = s.text[n:]
	return value.OfInt(i)
}

func (s *scanner) base64() []byte {
	b, err := base64.StdEncoding.DecodeString(s.string())
	if err != nil {
		s.fail("base64")
	}
	return b
}

func (s *scanner) string() string {
	if !s.skip(`"`) {
		s.fail("a string")
		return ""
	}
	for i := range len(s.text) {
		switch s.text[i] {
		case '"':
			text := s.text[:i]
			s.text = s.text[i+1:]
			return text
		case '\\':
			return s.escaped(i)
		}
	}
	s.fail("the end of a string")
	return ""
}

var errEscape = errors.New("an escape")

// escaped reads a string whose first escape is at i.
func (s *scanner) escaped(i int) string {
	out := []byte(s.text[:i])
	for i < len(s.text) {
		switch c := s.text[i]; c {
		case '"':
			s.text = s.text[i+1:]
			return string(out)
		case '\\':
			b, width, err := unescape(s.text[i:])
			if err != nil {
				s.fail(err.Error())
				return ""
			}
			out = append(out, b)
			i += width
		default:
			out = append(out, c)
			i++
		}
	}
	s.fail("the end of a string")
	return ""
}

// unescape reads one of the escapes that appendText writes.
func unescape(text string) (b byte, width int, err error) {
	if len(text) >= 2 && (text[1] == '"' || text[1] == '\\') {
		return text[1], 2, nil
	}
	if len(text) >= 6 && text[1] == 'u' {
		n, err := strconv.ParseUint(text[2:6], 16, 8)
		if err != nil {
			return 0, 0, errEscape
		}
		return byte(n), 6, nil
	}
	return 0, 0, errEscape
}
