package schema

import (
	"errors"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

// literal reads a value of the field's type from YAML. Numbers and booleans
// stand without quotes, everything else is text; objects and arrays are written
// as mappings and lists.
func (l *loader) literal(f *Field, n *document.Node) (value.Value, bool) {
	if n.Kind() == document.Null {
		l.refusals.Add(n.Refusal("an empty value is no %s; write one, or leave the key out for null", f.Type))
		return value.Value{}, false
	}
	v, err := l.cell(f, n)
	if err == nil {
		return v, true
	}
	var refused *value.ParseError
	if errors.As(err, &refused) {
		l.refusals.Add(n.Refusal("a value of type %s %s", f.Type, refused.Detail))
	}
	return value.Value{}, false
}

// errTold says that the refusal stands in the list already.
var errTold = errors.New("refused")

func (l *loader) cell(f *Field, n *document.Node) (value.Value, error) {
	switch f.Type {
	case value.Integer, value.BigInt, value.Double:
		if n.Kind() != document.Scalar || n.Quoted() {
			return value.Value{}, &value.ParseError{Detail: "is a number, written without quotes"}
		}
		return f.ParseText(n.Raw())
	case value.Boolean:
		b, ok := n.Bool(&l.refusals)
		if !ok {
			return value.Value{}, errTold
		}
		return value.OfBool(b), nil
	case value.Object, value.Array:
		raw, ok := l.json(nil, n)
		if !ok {
			return value.Value{}, errTold
		}
		return f.DecodeJSON(raw)
	default:
		text, ok := n.Text(&l.refusals)
		if !ok {
			return value.Value{}, errTold
		}
		return f.DecodeJSON(value.AppendString(nil, text))
	}
}

// json writes a tree of YAML as JSON.
func (l *loader) json(dst []byte, n *document.Node) ([]byte, bool) {
	switch n.Kind() {
	case document.Null:
		return append(dst, "null"...), true
	case document.Mapping:
		dst = append(dst, '{')
		for i, m := range n.Members(&l.refusals) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(value.AppendString(dst, m.Key.Raw()), ':')
			var ok bool
			if dst, ok = l.json(dst, m.Value); !ok {
				return nil, false
			}
		}
		return append(dst, '}'), true
	case document.Sequence:
		dst = append(dst, '[')
		for i, item := range n.List(&l.refusals) {
			if i > 0 {
				dst = append(dst, ',')
			}
			var ok bool
			if dst, ok = l.json(dst, item); !ok {
				return nil, false
			}
		}
		return append(dst, ']'), true
	default:
		return l.jsonScalar(dst, n)
	}
}

func (l *loader) jsonScalar(dst []byte, n *document.Node) ([]byte, bool) {
	raw := n.Raw()
	if n.Quoted() {
		return value.AppendString(dst, raw), true
	}
	if raw == "true" || raw == "false" {
		return append(dst, raw...), true
	}
	if _, err := value.ParseText(value.Double, raw); err == nil {
		return append(dst, raw...), true
	}
	text, ok := n.Text(&l.refusals)
	return value.AppendString(dst, text), ok
}
