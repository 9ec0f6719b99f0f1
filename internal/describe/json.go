package describe

import (
	"strconv"

	"github.com/rowcast/rowcast/internal/value"
)

// object is a JSON object whose members stay in the order they are written in,
// so that a description is the same bytes each time. A member's value is one of
// object, list, []string, string, bool, int, raw and nil.
type object []member

type member struct {
	name  string
	value any
}

// list is a JSON array.
type list []any

// raw is JSON already.
type raw []byte

// has reports whether the object has a member of that name.
func (o object) has(name string) bool {
	for _, m := range o {
		if m.name == name {
			return true
		}
	}
	return false
}

// names returns the members' names.
func (o object) names() []string {
	names := make([]string, len(o))
	for i, m := range o {
		names[i] = m.name
	}
	return names
}

// with returns the object with one more member, or another value for it. The
// object itself is left as it is.
func (o object) with(name string, v any) object {
	out := make(object, 0, len(o)+1)
	for _, m := range o {
		if m.name != name {
			out = append(out, m)
		} else {
			out = append(out, member{name, v})
		}
	}
	if !o.has(name) {
		out = append(out, member{name, v})
	}
	return out
}

// appendJSON appends the value as compact JSON.
func appendJSON(dst []byte, v any) []byte {
	switch v := v.(type) {
	case object:
		dst = append(dst, '{')
		for i, m := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(value.AppendString(dst, m.name), ':')
			dst = appendJSON(dst, m.value)
		}
		return append(dst, '}')
	case list:
		return appendList(dst, v)
	case []string:
		return appendList(dst, v)
	case string:
		return value.AppendString(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case raw:
		return append(dst, v...)
	default:
		return append(dst, "null"...)
	}
}

func appendList[T any](dst []byte, items []T) []byte {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendJSON(dst, item)
	}
	return append(dst, ']')
}

// ref refers to a component of a document.
func ref(kind, name string) object {
	return object{{"$ref", "#/components/" + kind + "/" + name}}
}
