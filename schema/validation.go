package schema

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

// maxLength bounds minlength, maxlength and keeplast.
const maxLength = math.MaxInt32

// The types that a kind of validation can judge; nil means all.
var validationTypes = []struct {
	kind  string
	types []value.Type
}{
	{"required", nil},
	{"unique", []value.Type{
		value.String, value.Integer, value.BigInt, value.Double, value.Boolean, value.Date,
		value.DateTime, value.Timestamp, value.ULID, value.UUID, value.Enum,
	}},
	{"final", nil},
	{"min", ordered},
	{"max", ordered},
	{"minlength", sized},
	{"maxlength", sized},
	{"pattern", []value.Type{value.String}},
	{"oneof", append([]value.Type{value.String, value.Enum}, ordered...)},
}

var (
	ordered = []value.Type{value.Integer, value.BigInt, value.Double, value.Date, value.DateTime, value.Timestamp}
	sized   = []value.Type{value.String, value.Array, value.Bytes}
)

func (l *loader) validations(f *Field, list *document.Node) {
	for _, item := range list.List(&l.refusals) {
		m := item.Map(&l.refusals, validationShape)
		v := Validation{Pos: item.Pos}
		kind := m.Need("type", "write one of "+strings.Join(validationKinds(), ", "))
		v.Kind, _ = kind.OneOf(&l.refusals, validationKinds()...)
		if v.Kind == "" || !l.fits(f, v.Kind, kind) || !l.argument(f, &v, m) {
			continue
		}
		if n := m.Get("message"); n != nil {
			v.Message, _ = n.Text(&l.refusals)
		}
		f.Required = f.Required || v.Kind == "required"
		f.Unique = f.Unique || v.Kind == "unique"
		f.Final = f.Final || v.Kind == "final"
		f.Validations = append(f.Validations, v)
		l.bounds(f, item)
	}
}

func validationKinds() []string {
	kinds := make([]string, len(validationTypes))
	for i, v := range validationTypes {
		kinds[i] = v.kind
	}
	return kinds
}

// fits refuses a validation that cannot judge the field's type, or stands twice.
func (l *loader) fits(f *Field, kind string, n *document.Node) bool {
	for _, v := range validationTypes {
		if v.kind == kind && v.types != nil && !slices.Contains(v.types, f.Type) {
			l.refusals.Add(n.Refusal("validation %s cannot judge type %s; remove it", kind, f.Type))
			return false
		}
	}
	if f.validation(kind) != nil {
		l.refusals.Add(n.Refusal("validation %s stands twice on field %q; keep one", kind, f.Name))
		return false
	}
	return true
}

func (f *Field) validation(kind string) *Validation {
	for i := range f.Validations {
		if f.Validations[i].Kind == kind {
			return &f.Validations[i]
		}
	}
	return nil
}

// argument reads what a validation compares with.
func (l *loader) argument(f *Field, v *Validation, m document.Map) (ok bool) {
	switch v.Kind {
	case "required", "unique", "final":
		if n := m.Get("value"); n != nil {
			l.refusals.Add(n.Refusal("validation %s takes no value; remove it", v.Kind))
		}
		return true
	}
	n := m.Need("value", "write what "+v.Kind+" compares with")
	if n == nil {
		return false
	}
	switch v.Kind {
	case "min", "max":
		v.Value, ok = l.literal(f, n)
	case "minlength", "maxlength":
		var length int64
		length, ok = n.Int(&l.refusals, 0, maxLength)
		v.Length = int(length)
	case "pattern":
		v.Pattern, ok = l.pattern(n)
	case "oneof":
		v.OneOf, ok = l.choices(f, n)
	}
	return ok
}

func (l *loader) pattern(n *document.Node) (string, bool) {
	text, ok := n.Text(&l.refusals)
	if !ok {
		return "", false
	}
	if _, err := regexp.Compile(text); err != nil {
		l.refusals.Add(n.Refusal("pattern cannot be compiled: %s; write it in RE2 syntax", strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
		return "", false
	}
	return text, true
}

func (l *loader) choices(f *Field, n *document.Node) (values []value.Value, ok bool) {
	if n.Kind() == document.Sequence && len(n.List(&l.refusals)) == 0 {
		l.refusals.Add(n.Refusal("oneof without values; write value: [a, b]"))
		return nil, false
	}
	for _, item := range n.List(&l.refusals) {
		v, ok := l.literal(f, item)
		if !ok {
			continue
		}
		if slices.Contains(values, v) {
			l.refusals.Add(item.Refusal("value %q stands twice in oneof; keep one", item.Raw()))
		}
		values = append(values, v)
	}
	return values, len(values) > 0
}

// bounds refuses a lower bound above the upper one, where the later stands.
func (l *loader) bounds(f *Field, at *document.Node) {
	last := f.Validations[len(f.Validations)-1].Kind
	low, high := f.validation("min"), f.validation("max")
	if low != nil && high != nil && (last == "min" || last == "max") && value.Compare(low.Value, high.Value) > 0 {
		l.refusals.Add(at.Refusal("min is above max, which no value can satisfy; swap or widen them"))
	}
	low, high = f.validation("minlength"), f.validation("maxlength")
	if low != nil && high != nil && strings.HasSuffix(last, "length") && low.Length > high.Length {
		l.refusals.Add(at.Refusal("minlength is above maxlength, which no value can satisfy; swap or widen them"))
	}
}

// allows judges a literal of the schema itself.
func (v *Validation) allows(t value.Type, cell value.Value) bool {
	switch v.Kind {
	case "min":
		return value.Compare(cell, v.Value) >= 0
	case "max":
		return value.Compare(cell, v.Value) <= 0
	case "minlength":
		return t == value.Array || length(t, cell) >= v.Length
	case "maxlength":
		return t == value.Array || length(t, cell) <= v.Length
	case "pattern":
		matched, err := regexp.MatchString(v.Pattern, cell.Text())
		return err == nil && matched
	case "oneof":
		return slices.Contains(v.OneOf, cell)
	}
	return true
}

func length(t value.Type, cell value.Value) int {
	if t == value.Bytes {
		return len(cell.Text())
	}
	return utf8.RuneCountInString(cell.Text())
}
