package typegen

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// TypeScript returns a module of types alone, for `import type`.
//
// A bigint is number | bigint: the server writes it exactly, JSON.parse rounds it
// beyond 2^53, and a parser that does not may give a bigint. Bytes are a string of
// base64, dates and instants strings as they are on the wire, an enum the union
// of its values.
func TypeScript(m *schema.Model, o Options) []byte {
	p := newPlan(m, o)
	w := typeScript{plan: p, head: p.names.take("SubscriptionEvent"), gap: p.names.take("StreamGap"), index: p.names.take("Entities")}
	fmt.Fprintf(&w.out, "%s\n", header)
	for _, e := range p.enums {
		fmt.Fprintf(&w.out, "\n/** The enum %s. */\nexport type %s = %s;\n", e.Name, e.name, union(e.Values))
	}
	for _, e := range p.entities {
		for _, r := range append([]record{e.row, e.create, e.patch}, e.narrowed...) {
			w.record(r)
		}
	}
	w.shared()
	for _, e := range p.entities {
		for _, s := range e.subscriptions {
			w.subscription(e, s)
		}
		w.channel(e)
	}
	w.entities()
	return w.out.Bytes()
}

// typeScript is a file being written.
type typeScript struct {
	*plan
	head, gap, index string // names of the types that belong to no entity
	out              bytes.Buffer
}

func (w *typeScript) record(r record) {
	fmt.Fprintf(&w.out, "\n/** %s %s */\nexport interface %s {\n", r.name, r.doc, r.name)
	for _, m := range r.members {
		mark, null := "", ""
		if m.absent {
			mark = "?"
		}
		if m.null {
			null = " | null"
		}
		fmt.Fprintf(&w.out, "  %s%s: %s%s; // %s\n", m.Name, mark, w.typeOf(m.Field), null, r.note(m))
	}
	w.out.WriteString("}\n")
}

func (w *typeScript) typeOf(f *schema.Field) string {
	switch f.Type {
	case value.Integer, value.Double:
		return "number"
	case value.BigInt:
		return "number | bigint"
	case value.Boolean:
		return "boolean"
	case value.Object:
		return "{ [name: string]: unknown }"
	case value.Array:
		return "unknown[]"
	case value.Enum:
		return w.enumName[f.Enum]
	case value.String, value.Date, value.DateTime, value.Timestamp, value.ULID, value.UUID, value.Bytes:
		return "string"
	}
	return "unknown"
}

// shared writes what events of all entities have in common.
func (w *typeScript) shared() {
	fmt.Fprintf(&w.out, `
/** %[1]s is what every event of a subscription tells. */
export interface %[1]s<Entity extends string, Type extends string, Operation extends string> {
  id: string; // of the event, for Last-Event-ID
  type: Type;
  entity: Entity;
  operation: Operation;
  subject: string; // the row's id, as text
  time: string;
  tenant: string;
}

/** %[2]s is the data of stream.gap: events are missing, read the rows again. */
export interface %[2]s {
  reason: "unknown" | "expired" | "reset";
  since: string;
}
`, w.head, w.gap)
}

func (w *typeScript) subscription(e *entity, s subscription) {
	leave := ""
	if s.Operations.Has(schema.Update) {
		leave = "; entity.leave where it was asked for"
	}
	fmt.Fprintf(&w.out, "\n/** %s is what the subscription %s of %s tells%s. */\nexport type %s =", s.name, s.Name, e.Name, leave, s.name)
	for _, t := range s.told {
		event := fmt.Sprintf("%s<%s, %s, %s>", w.head, quoted(t.entity), quoted(t.kind), quoted(t.operation))
		if t.data != "" {
			event = fmt.Sprintf("(%s & { data: %s })", event, t.data)
		}
		fmt.Fprintf(&w.out, "\n  | %s", event)
	}
	w.out.WriteString(";\n")
}

func (w *typeScript) channel(e *entity) {
	if e.channel == nil {
		return
	}
	fmt.Fprintf(&w.out, "\n/** %s is what a channel of %s tells: left where it was asked for, fewer members of item where fields chose them. */\nexport type %s =",
		e.channel.name, e.Name, e.channel.name)
	for _, way := range []struct {
		events []schema.RealtimeEvent
		rest   string
	}{
		{e.channel.whole, "item: " + e.channel.item},
		{e.channel.edited, fmt.Sprintf("item: %s; changed: (keyof %s)[]", e.channel.item, e.channel.item)},
		{e.channel.gone, "item: null"},
	} {
		if len(way.events) > 0 {
			fmt.Fprintf(&w.out, "\n  | { event: %s; entity: %s; id: string; channel: string; occurredAt: string; %s }", union(way.events), quoted(e.Name), way.rest)
		}
	}
	w.out.WriteString(";\n")
}

// entities writes the index from the names of the schema to the types.
func (w *typeScript) entities() {
	fmt.Fprintf(&w.out, "\n/** %s has the types of each entity under its name. */\nexport interface %s {\n", w.index, w.index)
	for _, e := range w.plan.entities {
		channel, operations := "never", "never"
		if e.channel != nil {
			channel = e.channel.name
		}
		if names := operationNames(e.Entity); len(names) > 0 {
			operations = union(names)
		}
		fmt.Fprintf(&w.out, "  %s: {\n    row: %s;\n    create: %s;\n    patch: %s;\n    subscriptions: {", quoted(e.Name), e.row.name, e.create.name, e.patch.name)
		for _, s := range e.subscriptions {
			fmt.Fprintf(&w.out, " %s: %s;", quoted(s.Name), s.name)
		}
		fmt.Fprintf(&w.out, " };\n    channel: %s;\n    operations: %s;\n  };\n", channel, operations)
	}
	w.out.WriteString("}\n")
}

func operationNames(e *schema.Entity) []string {
	names := make([]string, len(e.Operations))
	for i, op := range e.Operations {
		names[i] = op.Name
	}
	return names
}

// union is one of the texts.
func union[T ~string](texts []T) string {
	members := make([]string, len(texts))
	for i, text := range texts {
		members[i] = quoted(string(text))
	}
	return strings.Join(members, " | ")
}

// quoted is a string of JSON, and with it one of TypeScript.
func quoted(text string) string { return string(value.AppendString(nil, text)) }
