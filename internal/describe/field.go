package describe

import (
	"fmt"
	"strings"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// typeOf describes a value of the field that is not null, by its type alone.
func typeOf(f *schema.Field) object {
	switch f.Type {
	case value.Integer:
		return object{{"type", "integer"}, {"format", "int32"}}
	case value.BigInt:
		return object{{"type", "integer"}, {"format", "int64"}}
	case value.Double:
		return object{{"type", "number"}, {"format", "double"}}
	case value.Boolean:
		return object{{"type", "boolean"}}
	case value.Date:
		return object{{"type", "string"}, {"format", "date"}}
	case value.DateTime, value.Timestamp:
		return object{{"type", "string"}, {"format", "date-time"}}
	case value.ULID:
		return object{{"type", "string"}, {"pattern", "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"}}
	case value.UUID:
		return object{{"type", "string"}, {"format", "uuid"}}
	case value.Object:
		return object{{"type", "object"}}
	case value.Array:
		return object{{"type", "array"}, {"items", object{}}}
	case value.Bytes:
		return object{{"type", "string"}, {"contentEncoding", "base64"}}
	case value.Enum:
		return object{{"type", "string"}, {"enum", texts(f.Enum.Values)}}
	default:
		return object{{"type", "string"}}
	}
}

func texts(values []string) list {
	out := make(list, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

// orNull describes the same values and null.
func orNull(o object) object {
	out := make(object, 0, len(o))
	for _, m := range o {
		switch m.name {
		case "type":
			m.value = list{m.value, "null"}
		case "enum":
			values, _ := m.value.(list)
			m.value = append(append(list{}, values...), nil)
		}
		out = append(out, m)
	}
	return out
}

// shown describes the field in a row as the caller reads it. It has no
// validations: a row may be older than they are.
func (k known) shown(i int) object {
	f := k.Fields[i]
	if k.grant.Sight(i) == access.Masked {
		return masked(f)
	}
	o := typeOf(f)
	if !f.Required { // the id always is
		o = orNull(o)
	}
	if f.System {
		o = append(o, member{"readOnly", true})
	}
	return o
}

func masked(f *schema.Field) object {
	if !access.MasksText(f.Type) {
		return object{{"type", "null"}, {"description", "Masked: shown as null."}}
	}
	text := "Masked: each character is shown as *."
	if f.Mask.KeepLast > 0 {
		text = fmt.Sprintf("Masked: each character but the last %d is shown as *.", f.Mask.KeepLast)
	}
	return object{{"type", list{"string", "null"}}, {"description", text}}
}

// sent describes the field in a body: its type, and what the server checks.
func (k known) sent(i int) object {
	f := k.Fields[i]
	o, notes := limits(f)
	if !f.Required {
		o = orNull(o)
	}
	if f.Default != nil && f.Default.Kind == schema.DefaultLiteral && k.grant.ReadsPlain(i) {
		o = append(o, member{"default", raw(value.AppendJSON(nil, f.Type, f.Default.Value))})
	}
	if !k.grant.Reads(i) {
		o = append(o, member{"writeOnly", true})
	}
	if len(notes) > 0 {
		o = append(o, member{"description", strings.Join(notes, " ")})
	}
	return o
}

// limits adds the field's validations to its type; notes has those that a schema
// of JSON cannot say.
func limits(f *schema.Field) (o object, notes []string) {
	o = typeOf(f)
	for i := range f.Validations {
		v := &f.Validations[i]
		name, limit, note := limitOf(f, v)
		switch {
		case name == "enum":
			o = o.with(name, limit)
		case name != "" && !o.has(name):
			o = append(o, member{name, limit})
		case note != "":
			notes = append(notes, note)
		}
	}
	return o, notes
}

// limitOf is a validation as a keyword with its value, and as a sentence.
func limitOf(f *schema.Field, v *schema.Validation) (name string, limit any, note string) {
	switch v.Kind {
	case "unique":
		return "", nil, "No two rows have the same."
	case "final":
		return "", nil, "Set once, when the row is created."
	case "min", "max":
		text := value.AppendText(nil, f.Type, v.Value)
		note = map[string]string{"min": "At least ", "max": "At most "}[v.Kind] + string(text) + "."
		if f.Type == value.Integer || f.Type == value.BigInt || f.Type == value.Double {
			name = v.Kind + "imum"
		}
		return name, raw(value.AppendJSON(nil, f.Type, v.Value)), note
	case "minlength", "maxlength":
		return lengthOf(f, v)
	case "pattern":
		if portable(v.Pattern) {
			name = "pattern"
		}
		return name, v.Pattern, "Matches " + v.Pattern + " (RE2)."
	case "oneof":
		values := make(list, len(v.OneOf))
		for i, one := range v.OneOf {
			values[i] = raw(value.AppendJSON(nil, f.Type, one))
		}
		return "enum", values, ""
	}
	return "", nil, ""
}

func lengthOf(f *schema.Field, v *schema.Validation) (name string, limit any, note string) {
	bound := v.Kind[:len("min")]
	switch f.Type {
	case value.Bytes:
		note = fmt.Sprintf("%s %d bytes, before base64.", map[string]string{"min": "At least", "max": "At most"}[bound], v.Length)
		return "", nil, note
	case value.Array:
		name = bound + "Items"
	case value.Object:
		name = bound + "Properties"
	default:
		name = bound + "Length"
	}
	return name, v.Length, fmt.Sprintf("%s: %d.", name, v.Length)
}

// portable reports whether a pattern of RE2 means the same to ECMA-262, which
// JSON Schema has: no flags, no named groups, none of RE2's own escapes and classes.
func portable(pattern string) bool {
	plain := strings.ReplaceAll(pattern, "(?:", "(")
	for _, own := range []string{"(?", "[[:", `\A`, `\z`, `\Q`, `\C`, `\p`, `\P`, `\x{`, `\a`} {
		if strings.Contains(plain, own) {
			return false
		}
	}
	return true
}
