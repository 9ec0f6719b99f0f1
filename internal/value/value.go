// Package value holds one cell of a row: its type, its value, and the exact
// text, order and JSON of both.
//
// Every part of rowcast that touches a cell (bodies, filters, row rules, SQL,
// frames, cursors) goes through this package, so that a value means the same
// thing in memory, in SQLite and on the wire. A Value is immutable and safe to
// share. The package imports nothing of rowcast.
package value

import (
	"math"
	"time"
)

// Class is the storage class of a Value: what a database keeps for it.
type Class uint8

// The storage classes. Unknown is not stored: it stands for a cell whose value
// is not at hand (a column that an old log row's guard lacks), and every
// comparison with it, null checks included, is unknown.
const (
	Null Class = iota
	Int
	Float
	Text
	Blob
	Unknown
)

// Value is one cell. The zero Value is SQL's NULL.
type Value struct {
	class Class
	n     int64 // Int: the number; Float: its bits
	s     string
}

// OfInt returns an Int value (int, bigint; booleans are 0 and 1; timestamps are microseconds since 1970-01-01T00:00:00Z).
func OfInt(n int64) Value { return Value{class: Int, n: n} }

// OfFloat returns a Float value. Negative zero is stored as zero.
func OfFloat(f float64) Value {
	if f == 0 {
		f = 0
	}
	return Value{class: Float, n: int64(math.Float64bits(f))}
}

// OfText returns a Text value (string, enum, ulid, uuid, date; objects and arrays are their compact JSON).
func OfText(s string) Value { return Value{class: Text, s: s} }

// OfBlob returns a Blob value holding a copy of b.
func OfBlob(b []byte) Value { return Value{class: Blob, s: string(b)} }

// OfBool returns the Int value 0 or 1.
func OfBool(b bool) Value {
	if b {
		return OfInt(1)
	}
	return OfInt(0)
}

// OfTime returns the instant as a timestamp. What is finer than a microsecond is cut.
func OfTime(t time.Time) Value { return OfInt(t.UnixMicro()) }

// NotAtHand returns the Unknown value.
func NotAtHand() Value { return Value{class: Unknown} }

// Class returns the storage class.
func (v Value) Class() Class { return v.class }

// IsNull reports whether v is NULL.
func (v Value) IsNull() bool { return v.class == Null }

// Int returns the number of an Int value.
func (v Value) Int() int64 { return v.n }

// Float returns the number of a Float value.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.n)) }

// Bool returns an Int value as a boolean.
func (v Value) Bool() bool { return v.n != 0 }

// Text returns the text of a Text or Blob value (the raw bytes for a Blob).
func (v Value) Text() string { return v.s }

// Time returns a timestamp as an instant in UTC.
func (v Value) Time() time.Time { return time.UnixMicro(v.n).UTC() }
