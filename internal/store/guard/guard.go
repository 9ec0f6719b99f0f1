// Package guard is the text form in which a log row keeps cells and names:
// exact for every value, read by field name, and the same in every driver.
//
// Its functions are pure. It may import value, schema and store.
package guard

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// A guard is kept as {"b": row, "a": row}, a row as null or {field name: cell}.
// Names rather than positions, because the schema may have changed by the time
// it is read. A cell is null, a number (Int), a text, or one of {"f": bits in
// hex}, {"x": blob in base64} and {"t": a text that is not UTF-8, in base64}.

// Append appends a guard. Cells that are not at hand are left out.
func Append(dst []byte, e *schema.Entity, g store.Guard) []byte {
	dst = append(dst, `{"b":`...)
	dst = appendCells(dst, e, g.Before)
	dst = append(dst, `,"a":`...)
	dst = appendCells(dst, e, g.After)
	return append(dst, '}')
}

func appendCells(dst []byte, e *schema.Entity, row store.Row) []byte {
	if row == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '{')
	first := true
	for i, v := range row {
		if v.Class() == value.Unknown {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendText(dst, e.Fields[i].Name)
		dst = append(dst, ':')
		dst = appendCell(dst, v)
	}
	return append(dst, '}')
}

func appendCell(dst []byte, v value.Value) []byte {
	switch v.Class() {
	case value.Int:
		return strconv.AppendInt(dst, v.Int(), 10)
	case value.Float:
		dst = append(dst, `{"f":"`...)
		dst = strconv.AppendUint(dst, math.Float64bits(v.Float()), 16)
		return append(dst, `"}`...)
	case value.Blob:
		dst = append(dst, `{"x":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.Text()))
		return append(dst, `"}`...)
	case value.Text:
		if utf8.ValidString(v.Text()) {
			return appendText(dst, v.Text())
		}
		dst = append(dst, `{"t":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.Text()))
		return append(dst, `"}`...)
	default:
		return append(dst, "null"...)
	}
}

// appendText appends a JSON string with just the escapes that JSON demands.
func appendText(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if c < ' ' {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, '\\', c)
		}
	}
	return append(append(dst, s[from:]...), '"')
}

// AppendNames appends a JSON list of names.
func AppendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendText(dst, name)
	}
	return append(dst, ']')
}

// Decode reads what Append wrote; fields are the positions of the names. A field that the schema no longer
// has is passed over; one that the guard lacks is not at hand.
func Decode(text string, fields map[string]int) (g store.Guard, err error) {
	s := scanner{text: text}
	s.expect(`{"b":`)
	g.Before = s.cells(fields)
	s.expect(`,"a":`)
	g.After = s.cells(fields)
	s.expect("}")
	return g, s.end()
}

// DecodeNames reads what AppendNames wrote.
func DecodeNames(text string) (names []string, err error) {
	s := scanner{text: text}
	s.expect("[")
	for s.err == nil && !s.skip("]") {
		if len(names) > 0 {
			s.expect(",")
		}
		names = append(names, s.string())
	}
	return names, s.end()
}
