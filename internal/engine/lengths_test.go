package engine

import (
	"testing"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

func TestLengthsAreInTheUnitsOfTheType(t *testing.T) {
	for _, c := range []struct {
		name string
		kind value.Type
		v    value.Value
		want int
	}{
		{"a text in code points", value.String, value.OfText("aé😀"), 3},
		{"an empty text", value.String, value.OfText(""), 0},
		{"bytes in bytes", value.Bytes, value.OfBlob([]byte("é")), 2},
		{"an array in elements", value.Array, value.OfText(`[1,[2,3],{"a":4}]`), 3},
		{"an empty array", value.Array, value.OfText(`[]`), 0},
		{"an object in keys", value.Object, value.OfText(`{"a":1,"b":{"c":2}}`), 2},
		{"what another program stored", value.Array, value.OfText(`[1,`), 1},
		{"what is no JSON at all", value.Array, value.OfText(`x`), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := length(&schema.Field{Type: c.kind}, c.v); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}
