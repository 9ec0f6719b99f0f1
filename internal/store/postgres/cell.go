package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/tables"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// cell is a value as an argument: it answers in the type that the statement
// expects there, exactly, or refuses.
type cell struct{ value value.Value }

var (
	_ pgtype.Int64Valuer       = cell{}
	_ pgtype.BoolValuer        = cell{}
	_ pgtype.TimestamptzValuer = cell{}
	_ pgtype.Float64Valuer     = cell{}
	_ pgtype.TextValuer        = cell{}
	_ pgtype.BytesValuer       = cell{}
)

// of checks the class; valid is false for NULL.
func (c cell) of(class value.Class) (valid bool, err error) {
	switch c.value.Class() {
	case value.Null:
		return false, nil
	case class:
		return true, nil
	case value.Unknown:
		return false, errors.New("a value that is not at hand")
	default:
		return false, errors.New("a value of another class")
	}
}

// Int64Value implements pgtype.Int64Valuer.
func (c cell) Int64Value() (pgtype.Int8, error) {
	valid, err := c.of(value.Int)
	return pgtype.Int8{Int64: c.value.Int(), Valid: valid}, err
}

// BoolValue implements pgtype.BoolValuer.
func (c cell) BoolValue() (pgtype.Bool, error) {
	valid, err := c.of(value.Int)
	return pgtype.Bool{Bool: c.value.Bool(), Valid: valid}, err
}

// TimestamptzValue implements pgtype.TimestamptzValuer.
func (c cell) TimestamptzValue() (pgtype.Timestamptz, error) {
	valid, err := c.of(value.Int)
	return pgtype.Timestamptz{Time: c.value.Time(), Valid: valid}, err
}

// Float64Value implements pgtype.Float64Valuer.
func (c cell) Float64Value() (pgtype.Float8, error) {
	valid, err := c.of(value.Float)
	if valid && math.IsNaN(c.value.Float()) { // PostgreSQL would order it above all others
		return pgtype.Float8{}, errors.New("not a number")
	}
	return pgtype.Float8{Float64: c.value.Float(), Valid: valid}, err
}

// TextValue implements pgtype.TextValuer.
func (c cell) TextValue() (pgtype.Text, error) {
	valid, err := c.of(value.Text)
	return pgtype.Text{String: c.value.Text(), Valid: valid}, err
}

// BytesValue implements pgtype.BytesValuer.
func (c cell) BytesValue() ([]byte, error) {
	valid, err := c.of(value.Blob)
	if !valid {
		return nil, err
	}
	return []byte(c.value.Text()), nil // never nil, which would be NULL
}

// cells makes arguments of values.
func cells(vs []value.Value) []any {
	args := make([]any, len(vs))
	for i, v := range vs {
		args[i] = cell{v}
	}
	return args
}

// readRow decodes the current row of a query that selects the entity's fields
// in order.
func readRow(rows pgx.Rows, e *schema.Entity) (store.Row, error) {
	raw, fields := rows.RawValues(), rows.FieldDescriptions()
	row := make(store.Row, len(e.Fields))
	for i, f := range e.Fields {
		if raw[i] == nil {
			continue
		}
		oid := fields[i].DataTypeOID
		if oid != tables.OID(f) || fields[i].Format != pgx.BinaryFormatCode && oid != pgtype.TextOID {
			return nil, fmt.Errorf("table %s, column %s has changed its type since the start: restart rowcast, which says what to do", e.Table, f.Name)
		}
		v, err := decode(oid, raw[i])
		if err != nil {
			return nil, fmt.Errorf("table %s, column %s: %w", e.Table, f.Name, err)
		}
		row[i] = v
	}
	return row, nil
}

// sinceEpoch is PostgreSQL's epoch, 2000-01-01, in microseconds since 1970.
var sinceEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// decode reads one value in its binary form, which for text is the text.
func decode(oid uint32, raw []byte) (value.Value, error) {
	switch oid {
	case pgtype.BoolOID:
		return value.OfBool(raw[0] != 0), nil
	case pgtype.Int8OID:
		return value.OfInt(int64(binary.BigEndian.Uint64(raw))), nil // #nosec G115 -- the same bits
	case pgtype.Float8OID:
		f := math.Float64frombits(binary.BigEndian.Uint64(raw))
		if math.IsNaN(f) {
			return value.Value{}, errors.New("holds NaN, which no field can hold: correct the row in the database")
		}
		return value.OfFloat(f), nil
	case pgtype.TimestamptzOID:
		micros := int64(binary.BigEndian.Uint64(raw)) // #nosec G115 -- the same bits
		if micros == math.MaxInt64 || micros == math.MinInt64 {
			return value.Value{}, errors.New("holds an infinite time, which no field can hold: correct the row in the database")
		}
		return value.OfInt(micros + sinceEpoch), nil
	case pgtype.ByteaOID:
		return value.OfBlob(raw), nil
	}
	return value.OfText(string(raw)), nil
}
