package value

import (
	"bytes"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is how deep an object or array may nest, itself counted.
const MaxDepth = 64

// DecodeJSON reads a value of the type from exactly one JSON value, as it
// stands in a request body. JSON null is NULL. Numbers are exact: a whole number
// may be written 5, 5.0 or 5e0 and must be within range, a double must be
// finite. Strings must be valid UTF-8 without U+0000 and without half a
// surrogate pair. An object or array keeps the order of its keys and its numbers
// as written; a key given twice is refused. The error is a *ParseError. Members
// of an enum are the caller's to check.
func DecodeJSON(t Type, raw []byte) (Value, error) {
	raw = bytes.Trim(raw, " \t\r\n")
	if string(raw) == "null" {
		return Value{}, nil
	}
	switch t {
	case Integer:
		return parseWhole(string(raw), math.MinInt32, math.MaxInt32)
	case BigInt:
		return parseWhole(string(raw), math.MinInt64, math.MaxInt64)
	case Double:
		return parseDouble(string(raw))
	case Boolean:
		return decodeBoolean(raw)
	case Object:
		return decodeTree(raw, '{', "must be a JSON object")
	case Array:
		return decodeTree(raw, '[', "must be a JSON array")
	default:
		return decodeString(t, raw)
	}
}

func decodeBoolean(raw []byte) (Value, error) {
	switch string(raw) {
	case "true":
		return OfBool(true), nil
	case "false":
		return OfBool(false), nil
	}
	return Value{}, refuse("must be true or false")
}

func decodeString(t Type, raw []byte) (Value, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return Value{}, refuse("must be a JSON string")
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return Value{}, refuse("must be a JSON string of valid UTF-8")
	}
	return parseTextual(t, string(s))
}

func decodeTree(raw []byte, opening byte, kind string) (Value, error) {
	if len(raw) == 0 || raw[0] != opening {
		return Value{}, refuse(kind)
	}
	text, err := compact(make([]byte, 0, len(raw)), raw)
	if err != nil {
		return Value{}, err
	}
	return OfText(string(text)), nil
}

// compact appends one JSON value in the form this package writes: no white
// space, every string as AppendString writes it, numbers untouched.
func compact(dst, raw []byte) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		depth := d.StackDepth()
		kind, length := d.StackIndex(depth)
		tok, err := d.ReadToken()
		if err != nil {
			return nil, refuse("must be well-formed JSON of valid UTF-8, no key given twice")
		}
		if d.StackDepth() > MaxDepth {
			return nil, refuse("must not nest deeper than 64 levels")
		}
		if tok.Kind() != '}' && tok.Kind() != ']' {
			dst = appendSeparator(dst, kind, length)
		}
		if dst, err = appendToken(dst, tok); err != nil {
			return nil, err
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if rest := raw[d.InputOffset():]; len(bytes.Trim(rest, " \t\r\n")) > 0 {
		return nil, refuse("must be one JSON value and nothing after it")
	}
	return dst, nil
}

// appendSeparator writes what stands before the element number length of the
// container kind; names and values of an object are counted alike.
func appendSeparator(dst []byte, kind jsontext.Kind, length int64) []byte {
	switch {
	case length == 0:
		return dst
	case kind == '{' && length%2 == 1:
		return append(dst, ':')
	case kind == '{' || kind == '[':
		return append(dst, ',')
	}
	return dst
}

func appendToken(dst []byte, tok jsontext.Token) ([]byte, error) {
	if tok.Kind() != '"' {
		return append(dst, tok.String()...), nil
	}
	s := tok.String()
	if strings.IndexByte(s, 0) >= 0 {
		return nil, refuse(noNUL)
	}
	return AppendString(dst, s), nil
}

// AppendJSON appends v, a value of type t, as compact JSON on one line. Text is
// not escaped for HTML; U+0085, U+2028 and U+2029, which some readers take for
// line ends, are written \u0085, \u2028 and \u2029.
func AppendJSON(dst []byte, t Type, v Value) []byte {
	switch v.class {
	case Int:
		return appendIntJSON(dst, t, v)
	case Float:
		return appendDouble(dst, v.Float())
	case Text:
		if t == Object || t == Array {
			return appendTree(dst, v.s)
		}
		return AppendString(dst, v.s)
	case Blob:
		return append(AppendText(append(dst, '"'), t, v), '"')
	default:
		return append(dst, "null"...)
	}
}

func appendIntJSON(dst []byte, t Type, v Value) []byte {
	if t == Timestamp || t == DateTime {
		return append(appendInstant(append(dst, '"'), v), '"')
	}
	return appendInt(dst, t, v)
}

// appendTree writes stored JSON. What this package decoded is already in form;
// what another program stored may hold a line break, which would end a frame.
func appendTree(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || (s[i] >= 0x80 && lineEnd(s[i:]) != 0) {
			start := len(dst)
			out, err := compact(dst, []byte(s))
			if err != nil {
				return append(dst[:start], "null"...)
			}
			return out
		}
	}
	return append(dst, s...)
}

// AppendString appends s as a JSON string. What is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		width, escaped := escape(s[i:])
		if escaped == "" {
			i += width
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = append(dst, escaped...)
		i += width
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// escape returns the width of the first character of s and what to write in
// its place; "" writes it as it is.
func escape(s string) (width int, escaped string) {
	if s[0] < utf8.RuneSelf {
		return 1, escapes[s[0]]
	}
	r, width := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && width == 1 {
		return 1, "\uFFFD"
	}
	switch lineEnd(s) {
	case '\u0085':
		return width, `\u0085`
	case '\u2028':
		return width, `\u2028`
	case '\u2029':
		return width, `\u2029`
	}
	return width, ""
}

// lineEnd returns the character beyond ASCII at the start of s that some
// readers take for a line end, or 0.
func lineEnd(s string) rune {
	switch {
	case len(s) >= 2 && s[0] == 0xC2 && s[1] == 0x85:
		return '\u0085'
	case len(s) >= 3 && s[0] == 0xE2 && s[1] == 0x80 && s[2] == 0xA8:
		return '\u2028'
	case len(s) >= 3 && s[0] == 0xE2 && s[1] == 0x80 && s[2] == 0xA9:
		return '\u2029'
	}
	return 0
}

var escapes = makeEscapes()

func makeEscapes() (table [utf8.RuneSelf]string) {
	const hex = "0123456789abcdef"
	for c := range 0x20 {
		table[c] = `\u00` + string(hex[c>>4]) + string(hex[c&15])
	}
	table['\b'], table['\f'], table['\n'], table['\r'], table['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	table['"'], table['\\'] = `\"`, `\\`
	return table
}
