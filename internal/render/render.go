// Package render turns one row, one Grant and one projection into JSON. It is
// the only renderer of rows: the body of a GET and the data of a frame come
// from here and are the same bytes (compact, declared order, no HTML escaping,
// U+0085, U+2028 and U+2029 escaped, no line feed).
//
// It may import value, schema and access.
package render

import (
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/value"
)

// Row appends the row as the grant shows it, without the fields that keep
// refuses (nil keeps all). Fields the principal may not read are absent.
func Row(dst []byte, g *access.Grant, keep func(field int) bool, row []value.Value) []byte {
	panic("not written")
}

// ETag returns the strong entity tag, quotes included: a hash of the whole row as the grant shows it.
func ETag(g *access.Grant, row []value.Value) string { panic("not written") }
