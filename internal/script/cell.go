package script

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	"github.com/rowcast/rowcast/internal/value"
)

// errUnknown is the failure of a script that uses a cell that is not at hand.
var errUnknown = errors.New("the value of this field at the time of the change is not known")

type unknownCell struct{}

// unknown stands in the environment for a cell that is not at hand.
var unknown any = unknownCell{}

// cell returns the Go value of a cell. Stored JSON that does not decode is not
// at hand either: rowcast wrote none such.
func cell(t value.Type, v value.Value) any {
	switch v.Class() {
	case value.Null:
		return nil
	case value.Unknown:
		return unknown
	default:
		return known(t, v)
	}
}

func known(t value.Type, v value.Value) any {
	switch t {
	case value.Integer, value.BigInt:
		return int(v.Int())
	case value.Double:
		return v.Float()
	case value.Boolean:
		return v.Bool()
	case value.DateTime, value.Timestamp:
		return v.Time()
	case value.Bytes:
		return base64.StdEncoding.EncodeToString([]byte(v.Text()))
	case value.Object, value.Array:
		return decode(v.Text())
	default:
		return v.Text()
	}
}

func decode(text string) any {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var x any
	if d.Decode(&x) != nil {
		return unknown
	}
	return plain(x)
}

// plain returns decoded JSON with each json.Number as an int where it is one,
// else as a float64. What needs no change is returned as it is.
func plain(x any) any {
	switch x := x.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return int(n)
		}
		f, err := x.Float64()
		if err != nil {
			return unknown
		}
		return f
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = plain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = plain(e)
		}
		return out
	}
	return x
}

// truthy is what scripts take for true: nil, false, 0, "" and what is empty are false.
func truthy(x any) bool {
	switch x := x.(type) {
	case nil:
		return false
	case bool:
		return x
	case string:
		return x != ""
	case int:
		return x != 0
	case float64:
		return x != 0
	}
	v := reflect.ValueOf(x)
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array, reflect.String:
		return v.Len() > 0
	case reflect.Struct, reflect.Func: // a time
		return true
	default:
		return !v.IsZero()
	}
}
