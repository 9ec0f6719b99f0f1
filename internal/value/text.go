package value

import (
	"encoding/base64"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseError says why a text or a JSON value is no value of a type, as the end
// of a sentence that begins with the name of the field: "must be …". It repeats
// nothing of what was sent.
type ParseError struct{ Detail string }

// Error returns the detail.
func (e *ParseError) Error() string { return e.Detail }

func refuse(detail string) error { return &ParseError{Detail: detail} }

// ParseText reads a value of a scalar type from text: an operand of a filter, an
// id in a URL, a cell of a cursor. Nothing is trimmed and no text stands for
// NULL. Booleans are true, false, 1 and 0. The error is a *ParseError; of types
// that are not Scalar every text is refused. Members of an enum are the
// caller's to check.
func ParseText(t Type, text string) (Value, error) {
	switch t {
	case Integer:
		return parseWhole(text, math.MinInt32, math.MaxInt32)
	case BigInt:
		return parseWhole(text, math.MinInt64, math.MaxInt64)
	case Double:
		return parseDouble(text)
	case Boolean:
		return parseBoolean(text)
	case Object, Array, Bytes:
		return Value{}, refuse("holds " + t.String() + " values, which cannot be compared")
	default:
		return parseTextual(t, text)
	}
}

func parseBoolean(s string) (Value, error) {
	switch s {
	case "true", "1":
		return OfBool(true), nil
	case "false", "0":
		return OfBool(false), nil
	}
	return Value{}, refuse("must be true or false")
}

// parseTextual reads the types that JSON writes as a string.
func parseTextual(t Type, s string) (Value, error) {
	switch t {
	case Date:
		return parseDate(s)
	case DateTime, Timestamp:
		return parseInstant(s)
	case ULID:
		return parseULID(s)
	case UUID:
		return parseUUID(s)
	case Bytes:
		return parseBytes(s)
	case String, Enum:
		return parseString(s)
	default:
		return Value{}, refuse("has no type")
	}
}

// parseString refuses NUL because databases cut or refuse a text there.
func parseString(s string) (Value, error) {
	switch {
	case !utf8.ValidString(s):
		return Value{}, refuse("must be valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		return Value{}, refuse(noNUL)
	}
	return OfText(s), nil
}

const noNUL = "must not contain the character U+0000"

// parseULID takes the canonical form alone, so that one id has one spelling.
func parseULID(s string) (Value, error) {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	ok := len(s) == 26 && s[0] <= '7'
	for i := 0; ok && i < len(s); i++ {
		ok = strings.IndexByte(alphabet, s[i]) >= 0
	}
	if !ok {
		return Value{}, refuse("must be a ULID, 26 upper-case characters such as 01M2P1R18HT8575N8GVM2H5WPN")
	}
	return OfText(s), nil
}

// parseUUID takes the canonical form alone, so that one id has one spelling.
func parseUUID(s string) (Value, error) {
	ok := len(s) == 36
	for i := 0; ok && i < len(s); i++ {
		switch i {
		case 8, 13, 18, 23:
			ok = s[i] == '-'
		default:
			ok = isDigit(s[i]) || (s[i] >= 'a' && s[i] <= 'f')
		}
	}
	if !ok {
		return Value{}, refuse("must be a UUID in lower case, such as 0b9c2f14-6a51-4d0e-9a57-0d6a2c9f1e01")
	}
	return OfText(s), nil
}

func parseBytes(s string) (Value, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	// The decoder skips line breaks, which would give one value two spellings.
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return Value{}, refuse("must be base64 with padding")
	}
	return Value{class: Blob, s: string(b)}, nil
}

// AppendText appends the text form of v: what ParseText reads back for scalar
// types, base64 for bytes, compact JSON for objects and arrays, nothing for
// NULL. It is the form of ids in URLs and of an event's subject.
func AppendText(dst []byte, t Type, v Value) []byte {
	switch v.class {
	case Int:
		return appendInt(dst, t, v)
	case Float:
		return appendDouble(dst, v.Float())
	case Text:
		return append(dst, v.s...)
	case Blob:
		return base64.StdEncoding.AppendEncode(dst, []byte(v.s))
	default:
		return dst
	}
}

func appendInt(dst []byte, t Type, v Value) []byte {
	switch t {
	case Boolean:
		return strconv.AppendBool(dst, v.Bool())
	case DateTime, Timestamp:
		return appendInstant(dst, v)
	default:
		return strconv.AppendInt(dst, v.n, 10)
	}
}
