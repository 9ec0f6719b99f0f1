package schema

import (
	"maps"
	"slices"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

// field reads one field of an entity or, without an id, of a trait. It returns
// nil where nothing usable is there.
func (l *loader) field(n *document.Node, mayBeID bool) *Field {
	m := n.Map(&l.refusals, fieldShape)
	nameNode := m.Need("name", "give the field a name")
	f := &Field{Name: l.name(nameNode, fieldName), Pos: n.Pos}
	isID := f.Name == "id"
	l.fieldType(f, m, isID)
	if f.Name == "" || f.Type == 0 {
		l.failed[f.Name] = true
		return nil
	}
	if prefix := reserved(f.Name); prefix != "" {
		l.refusals.Add(nameNode.Refusal("field %q begins with %s, which is kept for the database's and rowcast's own; rename it", f.Name, prefix))
	}
	l.validations(f, m.Get("validations"))
	l.defaultValue(f, m.Get("defaultvalue"))
	l.mask(f, m.Get("mask"))
	if isID && !mayBeID {
		l.refusals.Add(nameNode.Refusal("a trait brings no id; declare the field id in each entity"))
	} else if isID {
		l.identity(f, m)
	}
	return f
}

func (l *loader) fieldType(f *Field, m document.Map, isID bool) {
	n := m.Get("type")
	if n == nil && isID {
		f.Type = value.ULID
		return
	}
	text, ok := m.Need("type", "write one of the built-in types or the name of an enum").Text(&l.refusals)
	if !ok {
		return
	}
	t, builtin := value.ParseType(text)
	e, declared := l.enums[text]
	switch {
	case builtin:
		f.Type = t
	case declared:
		f.Type, f.Enum = value.Enum, e
	default:
		l.unresolved(n, "type", slices.AppendSeq(value.TypeNames(), maps.Keys(l.enums)))
	}
}

// identity completes the field id: what generates it, and what it cannot have.
func (l *loader) identity(f *Field, m document.Map) {
	f.Required = true
	switch f.Type {
	case value.ULID:
		f.Default = &Default{Kind: DefaultULID}
	case value.UUID:
		f.Default = &Default{Kind: DefaultUUID}
	case value.Integer, value.BigInt:
		f.Default = nil
	case value.String:
		if f.Default != nil && f.Default.Kind == DefaultLiteral {
			l.refusals.Add(m.Get("defaultvalue").Refusal("one id for every row; remove defaultvalue, or write ulid() or uuid()"))
		}
	default:
		l.refusals.Add(m.Get("type").Refusal("id cannot be of type %s; use ulid, uuid, int, bigint or string", f.Type))
	}
	if n := m.Get("defaultvalue"); n != nil && f.Type != value.String && !generates(f, n.Raw()) {
		l.refusals.Add(n.Refusal("id of type %s is generated; remove defaultvalue", f.Type))
	}
	if n := m.Get("mask"); n != nil {
		l.refusals.Add(n.Refusal("id cannot be masked: every frame names its row by it; remove mask"))
	}
}

// generates reports whether a default says what an id does anyway.
func generates(f *Field, text string) bool {
	return (f.Type == value.ULID && text == "ulid()") || (f.Type == value.UUID && text == "uuid()")
}

func (l *loader) mask(f *Field, n *document.Node) {
	if n == nil {
		return
	}
	m := n.Map(&l.refusals, maskShape)
	f.Mask = &Mask{}
	keep := m.Get("keeplast")
	if keep == nil {
		return
	}
	count, _ := keep.Int(&l.refusals, 0, maxLength)
	f.Mask.KeepLast = int(count)
	if f.Type != value.String {
		l.refusals.Add(keep.Refusal("keeplast on a field of type %s, which is masked as null; write mask: {}", f.Type))
	}
}

var functions = []struct {
	text  string
	kind  DefaultKind
	types []value.Type
}{
	{"ulid()", DefaultULID, []value.Type{value.ULID, value.String}},
	{"uuid()", DefaultUUID, []value.Type{value.UUID, value.String}},
	{"now()", DefaultNow, []value.Type{value.Timestamp, value.DateTime}},
	{"user.id", DefaultUserID, []value.Type{value.String}},
}

func (l *loader) defaultValue(f *Field, n *document.Node) {
	if n == nil {
		return
	}
	for _, fn := range functions {
		if n.Kind() != document.Scalar || n.Raw() != fn.text {
			continue
		}
		if !slices.Contains(fn.types, f.Type) {
			l.refusals.Add(n.Refusal("defaultvalue %s does not fit type %s; it fits %s", fn.text, f.Type, typeList(fn.types)))
			return
		}
		f.Default = &Default{Kind: fn.kind}
		return
	}
	v, ok := l.literal(f, n)
	if !ok {
		return
	}
	f.Default = &Default{Kind: DefaultLiteral, Value: v}
	for i := range f.Validations {
		if c := &f.Validations[i]; !c.allows(f.Type, v) {
			l.refusals.Add(n.Refusal("defaultvalue fails the field's own validation %s; change one of them", c.Kind))
		}
	}
}

func typeList(types []value.Type) string {
	text := types[0].String()
	for _, t := range types[1:] {
		text += " and " + t.String()
	}
	return text
}
