package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// decode reads one member of a body and judges it by its field alone. No
// detail repeats the value: a fault may end up in a log.
func (ent *entity) decode(i int, raw []byte) (value.Value, []fault.FieldError) {
	f := ent.Fields[i]
	v, err := value.DecodeJSON(f.Type, raw)
	if err != nil {
		return v, []fault.FieldError{{Field: f.Name, Code: "invalid_type", Detail: err.Error()}}
	}
	if i == ent.ID && v.IsNull() {
		return v, nil // as if it were left out
	}
	return v, ent.validate(i, v)
}

// validate judges a value by the validations of its field. unique is the
// store's to judge, final the row's.
func (ent *entity) validate(i int, v value.Value) []fault.FieldError {
	f := ent.Fields[i]
	if v.IsNull() {
		if !f.Required {
			return nil
		}
		return []fault.FieldError{flaw(f, "required", "must have a value")}
	}
	var out []fault.FieldError
	if f.Enum != nil && !slices.Contains(f.Enum.Values, v.Text()) {
		out = append(out, flaw(f, "oneof", fmt.Sprintf("must be one of %q", f.Enum.Values)))
	}
	for k := range f.Validations {
		if detail := ent.broken(f, &f.Validations[k], v); detail != "" {
			out = append(out, flaw(f, f.Validations[k].Kind, detail))
		}
	}
	return out
}

// flaw is one fault of a field, in the schema's own words where it has some.
func flaw(f *schema.Field, code, detail string) fault.FieldError {
	for k := range f.Validations {
		if v := &f.Validations[k]; v.Kind == code && v.Message != "" {
			detail = v.Message
		}
	}
	return fault.FieldError{Field: f.Name, Code: code, Detail: detail}
}

// broken says what a value must be that the validation refuses, or "".
func (ent *entity) broken(f *schema.Field, c *schema.Validation, v value.Value) string {
	switch c.Kind {
	case "min":
		if value.Compare(v, c.Value) < 0 {
			return "must be at least " + text(f, c.Value)
		}
	case "max":
		if value.Compare(v, c.Value) > 0 {
			return "must be at most " + text(f, c.Value)
		}
	case "minlength":
		if length(f, v) < c.Length {
			return "must be at least " + strconv.Itoa(c.Length) + " long"
		}
	case "maxlength":
		if length(f, v) > c.Length {
			return "must be at most " + strconv.Itoa(c.Length) + " long"
		}
	case "pattern":
		if !ent.patterns[c].MatchString(v.Text()) {
			return "must match " + c.Pattern
		}
	case "oneof":
		if !slices.ContainsFunc(c.OneOf, func(o value.Value) bool { return value.Equal(o, v) }) {
			return "must be one of " + texts(f, c.OneOf)
		}
	}
	return ""
}

func text(f *schema.Field, v value.Value) string {
	return string(value.AppendText(nil, f.Type, v))
}

func texts(f *schema.Field, vs []value.Value) string {
	out := []byte{'['}
	for i, v := range vs {
		if i > 0 {
			out = append(out, ' ')
		}
		out = value.AppendJSON(out, f.Type, v)
	}
	return string(append(out, ']'))
}

// length counts code points of a text, bytes of bytes, elements of an array.
func length(f *schema.Field, v value.Value) int {
	switch f.Type {
	case value.Bytes:
		return len(v.Text())
	case value.Array, value.Object:
		return elements(v.Text())
	default:
		return utf8.RuneCountInString(v.Text())
	}
}

// elements counts what stands at the top of a JSON array or object.
func elements(tree string) int {
	n := 0
	dec := jsontext.NewDecoder(strings.NewReader(tree))
	opening, err := dec.ReadToken()
	if err != nil {
		return 0
	}
	for dec.PeekKind() != ']' && dec.PeekKind() != '}' {
		if dec.SkipValue() != nil {
			break
		}
		n++
	}
	if opening.Kind() == '{' {
		return n / 2
	}
	return n
}

// frozen judges a body by the row it would change: ids and final fields stay
// as they are, and a mask that the caller was shown is no value to write back.
//
// What the caller does not read unmasked is compared with nothing: a refusal
// that depended on it would answer "is it this value?" for whoever may only write.
func (ent *entity) frozen(g *access.Grant, old store.Row, in *input) (out []fault.FieldError) {
	for _, c := range in.cells {
		f := ent.Fields[c.field]
		switch {
		case c.field == ent.ID:
			if !value.Equal(c.value, old[ent.ID]) {
				out = append(out, flaw(f, "final", "must be the id of the row, or be left out"))
			}
		case isMask(g, f, old[c.field], c.value):
			out = append(out, flaw(f, "masked_value", "is the mask you were shown, not a value; leave the field out to keep it"))
		case f.Final && !g.ReadsPlain(c.field):
			out = append(out, flaw(f, "final", "is set once, when the row is created; leave it out"))
		case f.Final && !value.Equal(c.value, old[c.field]):
			out = append(out, flaw(f, "final", "cannot change once the row is created"))
		}
	}
	return out
}

// isMask reports whether a value sent is what the mask shows this caller.
func isMask(g *access.Grant, f *schema.Field, old, sent value.Value) bool {
	if f.Mask == nil || g.ReadsPlain(f.Index) || !g.Can(access.Read) {
		return false
	}
	shown, readable := g.Show(f.Index, old)
	if !readable || !value.Equal(shown, sent) {
		return false
	}
	// A masked text shows null only where it is null, and may stay so. Any other
	// type shows null for every value; to take it now and then would tell which.
	return !sent.IsNull() || !access.MasksText(f.Type)
}
