package value

import (
	"cmp"
	"strings"
)

// Compare orders two values as SQLite orders them: NULL, then numbers, then
// text by bytes, then blobs by bytes. An Int and a Float compare by their exact
// numbers, so that 9007199254740993 is above 9007199254740992.0. Unknown stands
// after everything; who needs SQL's three-valued logic checks for NULL and
// Unknown first.
func Compare(a, b Value) int {
	if a.class != b.class {
		return compareClasses(a, b)
	}
	switch a.class {
	case Int:
		return cmp.Compare(a.n, b.n)
	case Float:
		return cmp.Compare(a.Float(), b.Float())
	case Text, Blob:
		return strings.Compare(a.s, b.s)
	default:
		return 0
	}
}

// Equal reports whether Compare finds no difference. NULL equals NULL here.
func Equal(a, b Value) bool { return Compare(a, b) == 0 }

func compareClasses(a, b Value) int {
	switch {
	case a.class == Int && b.class == Float:
		return compareIntFloat(a.n, b.Float())
	case a.class == Float && b.class == Int:
		return -compareIntFloat(b.n, a.Float())
	default:
		return cmp.Compare(rank(a.class), rank(b.class))
	}
}

func rank(c Class) int {
	if c == Float {
		return int(Int)
	}
	return int(c)
}

// compareIntFloat compares exactly: converting i to a float would make
// different numbers above 2^53 equal.
func compareIntFloat(i int64, f float64) int {
	const two63 = 1 << 63
	switch {
	case f != f: // NaN is below every number
		return 1
	case f >= two63:
		return -1
	case f < -two63:
		return 1
	}
	whole := int64(f)
	if c := cmp.Compare(i, whole); c != 0 {
		return c
	}
	return cmp.Compare(float64(whole), f)
}
