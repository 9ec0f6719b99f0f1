package script

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// exact is the largest float below which every whole number is itself.
const exact = 1 << 53

// convert makes what a script yields a value of the field, by the rules of a
// body: nothing is rounded, and no number is taken for a text. nil is NULL. The
// error is a *value.ParseError.
func convert(f *schema.Field, x any) (value.Value, error) {
	if x == nil {
		return value.Value{}, nil
	}
	switch f.Type {
	case value.Object, value.Array:
		raw, err := appendJSON(nil, x, 0)
		if err != nil {
			return value.Value{}, err
		}
		return f.DecodeJSON(raw)
	case value.Bytes:
		if text, ok := x.(string); ok {
			return f.DecodeJSON(value.AppendString(nil, text))
		}
	case value.Boolean:
		if b, ok := x.(bool); ok {
			return value.OfBool(b), nil
		}
	case value.Integer, value.BigInt:
		return whole(f, x)
	case value.Double:
		return double(x)
	case value.DateTime, value.Timestamp:
		if t, ok := x.(time.Time); ok {
			return instant(t)
		}
	default: // a text, or none of it
	}
	text, ok := x.(string)
	if !ok {
		return value.Value{}, unfit(f.Type)
	}
	return f.ParseText(text)
}

func unfit(t value.Type) error {
	return &value.ParseError{Detail: "must be " + wanted(t)}
}

// whole takes a float that is whole, as a body takes 5.0.
func whole(f *schema.Field, x any) (value.Value, error) {
	switch x := x.(type) {
	case int:
		return f.ParseText(strconv.Itoa(x))
	case float64:
		if x == math.Trunc(x) && math.Abs(x) <= exact {
			return f.ParseText(strconv.FormatInt(int64(x), 10))
		}
	}
	return value.Value{}, unfit(f.Type)
}

func double(x any) (value.Value, error) {
	switch x := x.(type) {
	case int:
		return value.OfFloat(float64(x)), nil
	case float64:
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			return value.OfFloat(x), nil
		}
		return value.Value{}, &value.ParseError{Detail: "must be a finite number"}
	}
	return value.Value{}, unfit(value.Double)
}

func instant(t time.Time) (value.Value, error) {
	if year := t.UTC().Year(); year < 0 || year > 9999 {
		return value.Value{}, &value.ParseError{Detail: "must be a time in the years 0000 to 9999"}
	}
	return value.OfTime(t), nil
}

// appendJSON appends a map or list of a script as JSON. Keys are in alphabetical
// order: a map of a script has none of its own.
func appendJSON(dst []byte, x any, depth int) ([]byte, error) {
	if depth > value.MaxDepth {
		return nil, &value.ParseError{Detail: "must not nest deeper than 64 levels"}
	}
	switch x := x.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, x), nil
	case int:
		return strconv.AppendInt(dst, int64(x), 10), nil
	case float64:
		if v, err := double(x); err == nil {
			return value.AppendJSON(dst, value.Double, v), nil
		}
	case string:
		return value.AppendString(dst, x), nil
	case time.Time:
		if v, err := instant(x); err == nil {
			return value.AppendJSON(dst, value.Timestamp, v), nil
		}
	case []string:
		return appendList(dst, x, depth)
	case []any:
		return appendList(dst, x, depth)
	case map[string]any:
		return appendMap(dst, x, depth)
	}
	return nil, &value.ParseError{Detail: "must hold texts, finite numbers, times, true, false, nil, lists and maps alone"}
}

func appendList[T any](dst []byte, list []T, depth int) (_ []byte, err error) {
	dst = append(dst, '[')
	for i, x := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendJSON(dst, x, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, m map[string]any, depth int) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(value.AppendString(dst, key), ':')
		if dst, err = appendJSON(dst, m[key], depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
