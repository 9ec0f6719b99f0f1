package schema

import (
	"strings"

	"github.com/rowcast/rowcast/internal/value"
)

// DecodeJSON reads a value of the field from one JSON value of a request body,
// enum membership included. JSON null is NULL, also on a required field. The
// error is a *value.ParseError.
func (f *Field) DecodeJSON(raw []byte) (value.Value, error) {
	v, err := value.DecodeJSON(f.Type, raw)
	if err != nil {
		return value.Value{}, err
	}
	return f.member(v)
}

// ParseText reads a value of the field from text: an operand of a filter, a
// cell of a cursor; enum membership included. The error is a *value.ParseError.
func (f *Field) ParseText(text string) (value.Value, error) {
	v, err := value.ParseText(f.Type, text)
	if err != nil {
		return value.Value{}, err
	}
	return f.member(v)
}

func (f *Field) member(v value.Value) (value.Value, error) {
	if f.Enum == nil || v.IsNull() || f.Enum.Has(v.Text()) {
		return v, nil
	}
	return value.Value{}, &value.ParseError{Detail: "must be one of " + strings.Join(f.Enum.Values, ", ")}
}

// ParseID reads a primary key from the text of a URL. The error is a
// *value.ParseError: no row has such an id.
func (e *Entity) ParseID(text string) (value.Value, error) {
	if text == "" {
		return value.Value{}, &value.ParseError{Detail: "must not be empty"}
	}
	return e.Fields[e.ID].ParseText(text)
}
