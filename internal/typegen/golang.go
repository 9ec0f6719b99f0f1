package typegen

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"strconv"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Go returns a file of types with tags for encoding/json, which needs Go 1.24 or
// newer (omitzero).
//
// What may be null or missing is a pointer; an instant is a time.Time, a date a
// string, a bigint an int64, bytes a []byte, an object or array a
// json.RawMessage. In a body, where null and not sent are two things, a member is
// an Optional. The error is for a text that gofmt cannot read; no schema that was
// loaded gives one.
func Go(m *schema.Model, o Options) ([]byte, error) {
	w := golang{plan: newPlan(m, o)}
	w.head, w.told = w.names.take("SubscriptionEvent"), w.names.take("ChannelEvent")
	w.optional, w.some, w.null = w.names.take("Optional"), w.names.take("Some"), w.names.take("Null")
	for _, e := range w.enums {
		w.enum(e)
	}
	for _, e := range w.entities {
		for _, r := range append([]record{e.row, e.create, e.patch}, e.narrowed...) {
			w.record(r)
		}
	}
	for _, e := range w.entities {
		w.events(e)
	}
	w.shared()
	return format.Source(append(w.top(cmp.Or(o.Package, "types")), w.out.Bytes()...))
}

// golang is a file being written. What it uses is known at its end.
type golang struct {
	*plan
	head, told, optional, some, null string // names of what belongs to no entity
	usesJSON, usesTime               bool
	usesOptional                     bool
	usesEvents, usesChannels         bool
	out                              bytes.Buffer
}

func (w *golang) top(name string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n// Package %s has the types of a rowcast schema.\npackage %s\n", header, name, name)
	switch {
	case w.usesJSON && w.usesTime:
		b.WriteString("\nimport (\n\"encoding/json\"\n\"time\"\n)\n")
	case w.usesJSON:
		b.WriteString("\nimport \"encoding/json\"\n")
	case w.usesTime:
		b.WriteString("\nimport \"time\"\n")
	}
	return b.Bytes()
}

func (w *golang) enum(e enum) {
	fmt.Fprintf(&w.out, "\n// %s is a value of the enum %s.\ntype %s string\n\n// The values of %s.\nconst (\n", e.name, e.Name, e.name, e.name)
	for _, text := range e.Values {
		fmt.Fprintf(&w.out, "%s %s = %s\n", w.names.take(e.name+cmp.Or(pascal(text), "Value")), e.name, strconv.Quote(text))
	}
	w.out.WriteString(")\n")
}

func (w *golang) record(r record) {
	fmt.Fprintf(&w.out, "\n// %s %s\ntype %s struct {\n", r.name, r.doc, r.name)
	inside := names{}
	for _, m := range r.members {
		tag, kind := m.Name, w.memberType(m)
		switch {
		case !r.written || !m.absent:
		case kind[0] == '*':
			tag += ",omitempty" // omitzero would ask a *time.Time whether its time is zero
		default:
			tag += ",omitzero"
		}
		fmt.Fprintf(&w.out, "%s %s `json:%q` // %s\n", inside.take(exported(m.Name)), kind, tag, r.note(m))
	}
	w.out.WriteString("}\n")
}

// memberType adds to a type the way in which it says null, and that it is not there.
func (w *golang) memberType(m member) string {
	plain := w.typeOf(m.Field)
	switch {
	case m.apart:
		w.usesOptional, w.usesJSON = true, true
		return w.optional + "[" + plain + "]"
	case !m.null && !m.absent, m.Type == value.Bytes, m.Type == value.Object, m.Type == value.Array:
		return plain // the last three have nil themselves
	}
	return "*" + plain
}

func (w *golang) typeOf(f *schema.Field) string {
	switch f.Type {
	case value.Integer:
		return "int32"
	case value.BigInt:
		return "int64"
	case value.Double:
		return "float64"
	case value.Boolean:
		return "bool"
	case value.DateTime, value.Timestamp:
		w.usesTime = true
		return "time.Time"
	case value.Bytes:
		return "[]byte"
	case value.Enum:
		return w.enumName[f.Enum]
	case value.String, value.Date, value.ULID, value.UUID:
		return "string"
	case value.Object, value.Array:
	}
	w.usesJSON = true
	return "json.RawMessage"
}

func (w *golang) events(e *entity) {
	for _, s := range e.subscriptions {
		data, several := s.dataType()
		hint := ""
		if several {
			data, hint, w.usesJSON = "json.RawMessage", "\n// Its data is a row of the entity that it names.", true
		}
		w.usesEvents, w.usesTime = true, true
		fmt.Fprintf(&w.out, "\n// %s is what the subscription %s of %s tells.%s\ntype %s = %s[%s]\n",
			s.name, s.Name, e.Name, hint, s.name, w.head, cmp.Or(data, "struct{}"))
	}
	if e.channel != nil {
		w.usesChannels, w.usesTime = true, true
		fmt.Fprintf(&w.out, "\n// %s is what a channel of %s tells.\ntype %s = %s[%s]\n", e.channel.name, e.Name, e.channel.name, w.told, e.channel.item)
	}
}

// shared writes what belongs to no entity, as far as it is used.
func (w *golang) shared() {
	if w.usesEvents {
		fmt.Fprintf(&w.out, goSubscription, w.head)
	}
	if w.usesChannels {
		fmt.Fprintf(&w.out, goChannel, w.told)
	}
	if w.usesOptional {
		fmt.Fprintf(&w.out, goOptional, w.optional, w.some, w.null)
	}
}

const goSubscription = `
// %[1]s is what a subscription tells of a row that changed. Data is nil
// where the event has none: the row is deleted or left, or the subscription is
// declared without rls.
type %[1]s[Row any] struct {
	ID        string    ` + "`json:\"id\"`" + ` // of the event
	Type      string    ` + "`json:\"type\"`" + ` // entity.create, entity.update, entity.delete or entity.leave
	Entity    string    ` + "`json:\"entity\"`" + `
	Operation string    ` + "`json:\"operation\"`" + ` // create, update or delete
	Subject   string    ` + "`json:\"subject\"`" + ` // the row's id, as text
	Time      time.Time ` + "`json:\"time\"`" + `
	Tenant    string    ` + "`json:\"tenant\"`" + `
	Data      *Row      ` + "`json:\"data,omitzero\"`" + `
}
`

const goChannel = `
// %[1]s is what a channel tells of a row that changed. Item is nil where the row is
// deleted or left; members that the request's fields left out are zero.
type %[1]s[Row any] struct {
	Event      string    ` + "`json:\"event\"`" + ` // created, updated, patched, deleted, restored or left
	Entity     string    ` + "`json:\"entity\"`" + `
	ID         string    ` + "`json:\"id\"`" + ` // the row's, as text
	Channel    string    ` + "`json:\"channel\"`" + ` // of this row alone
	OccurredAt time.Time ` + "`json:\"occurredAt\"`" + `
	Item       *Row      ` + "`json:\"item\"`" + `
	Changed    []string  ` + "`json:\"changed,omitzero\"`" + ` // which fields an update sent
}
`

const goOptional = `
// %[1]s is a member of a body. Its zero value is not sent; %[2]s and %[3]s are.
type %[1]s[T any] struct {
	value *T
	sent  bool
}

// %[2]s sends v.
func %[2]s[T any](v T) %[1]s[T] { return %[1]s[T]{value: &v, sent: true} }

// %[3]s sends null.
func %[3]s[T any]() %[1]s[T] { return %[1]s[T]{sent: true} }

// IsZero reports whether the member is not sent, for omitzero.
func (o %[1]s[T]) IsZero() bool { return !o.sent }

// MarshalJSON implements json.Marshaler.
func (o %[1]s[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.value) }

// UnmarshalJSON implements json.Unmarshaler.
func (o *%[1]s[T]) UnmarshalJSON(text []byte) error {
	o.sent = true
	return json.Unmarshal(text, &o.value)
}
`
