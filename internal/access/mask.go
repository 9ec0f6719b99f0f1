package access

import (
	"strings"
	"unicode/utf8"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Split takes a text apart for a mask: how many code points are hidden, and
// the tail that is shown. A text no longer than what the mask keeps is hidden
// entirely, or a short secret would stand there whole.
func Split(m *schema.Mask, text string) (hidden int, tail string) {
	n := utf8.RuneCountInString(text)
	if n <= m.KeepLast {
		return n, ""
	}
	at := len(text)
	for range m.KeepLast {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return n - m.KeepLast, text[at:]
}

// MasksText reports whether a masked field of the type shows a masked text. The
// others show NULL: half a date or a number would be a wrong one, and the
// length of an enum's member tells which it is.
func MasksText(t value.Type) bool { return t == value.String }

// mask returns what is left of a cell. NULL stays NULL, and what is not at hand
// stays so: neither tells anything that a mask hides.
func mask(f *schema.Field, v value.Value) value.Value {
	if c := v.Class(); c == value.Null || c == value.Unknown {
		return v
	}
	if !MasksText(f.Type) {
		return value.Value{}
	}
	hidden, tail := Split(f.Mask, v.Text())
	return value.OfText(strings.Repeat("*", hidden) + tail)
}
