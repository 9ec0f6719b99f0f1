// Package render turns one row, one Grant and one projection into JSON. It is
// the only renderer of rows: the body of a GET and the data of a frame come
// from here and are the same bytes (compact, declared order, no HTML escaping,
// U+0085, U+2028 and U+2029 escaped, no line feed).
//
// What it guarantees: a member is there exactly if the grant reads the field
// and the projection keeps it; a masked cell shows what its mask leaves and
// never a hidden code point; equal ViewKeys and equal rows give equal bytes.
//
// Functions hold no state and are safe for concurrent use. The package may
// import value, schema and access.
package render

import (
	"crypto/sha256"
	"encoding/base64"
	"sync"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Row appends the row as the grant shows it, without the fields that keep
// refuses (nil keeps all). Fields the principal may not read are absent. It
// allocates nothing but what dst grows by.
func Row(dst []byte, g *access.Grant, keep func(field int) bool, row []value.Value) []byte {
	dst = append(dst, '{')
	first := true
	for i, f := range g.Policy.Entity.Fields {
		sight := g.Sight(i)
		if sight == access.Hidden || keep != nil && !keep(i) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = value.AppendString(dst, f.Name)
		dst = append(dst, ':')
		if sight == access.Masked {
			dst = appendMasked(dst, f, row[i])
		} else {
			dst = value.AppendJSON(dst, f.Type, row[i])
		}
	}
	return append(dst, '}')
}

// appendMasked appends what Grant.Show makes of a masked cell, without making
// the text in between.
func appendMasked(dst []byte, f *schema.Field, v value.Value) []byte {
	if v.Class() != value.Text || !access.MasksText(f.Type) {
		return append(dst, "null"...)
	}
	hidden, tail := access.Split(f.Mask, v.Text())
	dst = append(dst, '"')
	for range hidden {
		dst = append(dst, '*')
	}
	quote := len(dst)
	dst = value.AppendString(dst, tail) // with a quote of its own in front, which goes
	copy(dst[quote:], dst[quote+1:])
	return dst[:len(dst)-1]
}

// scratch keeps the rows that ETag hashes.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// maxScratch is the largest buffer kept for the next ETag, in bytes.
const maxScratch = 64 << 10

// ETag returns the strong entity tag, quotes included: SHA-256, cut to 128
// bits, of the whole row as the grant shows it. It changes with what the caller
// can see, masks included, and with nothing else.
func ETag(g *access.Grant, row []value.Value) string {
	buf := scratch.Get().(*[]byte)
	body := Row((*buf)[:0], g, nil, row)
	sum := sha256.Sum256(body)
	if cap(body) <= maxScratch {
		*buf = body
		scratch.Put(buf)
	}
	var tag [24]byte
	tag[0], tag[23] = '"', '"'
	base64.RawURLEncoding.Encode(tag[1:23], sum[:16])
	return string(tag[:])
}
