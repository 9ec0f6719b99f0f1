package describe

import (
	"strings"

	"github.com/rowcast/rowcast/schema"
)

// channel adds the channels of an entity: of all rows, and of one.
func (d *asyncAPI) channel(k known) {
	leaves := func(i int) bool { return k.shows(i) && k.Realtime.Subscribes(i) }
	plain := func(i int) bool { return k.grant.ReadsPlain(i) && k.Realtime.Subscribes(i) }
	messages := d.channelMessages(k, leaves)
	all := "^" + strings.ReplaceAll(k.Name, ".", `\.`) + "$"
	for _, one := range []struct{ key, title, pattern string }{
		{"realtime.rows." + k.Name, "All rows of " + k.Name, all},
		{"realtime.row." + k.Name, "One row of " + k.Name, strings.TrimSuffix(all, "$") + `\..+$`},
	} {
		d.add(stream{
			key: one.key, address: "/realtime", title: one.title, messages: messages, required: []string{"channel"},
			query: append(object{{"channel", object{{"type", "string"}, {"pattern", one.pattern}}}}, k.channelQuery(leaves, plain)...),
		})
	}
}

// channelQuery is what a channel is narrowed by.
func (k known) channelQuery(leaves, plain func(field int) bool) object {
	query := object{
		{"fields", object{{"type", "string"}, {"description", "Some of " + strings.Join(k.names(leaves), ",") + "."}}},
	}
	if names := k.names(plain); len(names) > 0 {
		query = append(query, member{"changed", object{{"type", "string"}, {"description", "Only writes that changed one of these: some of " + strings.Join(names, ",") + "."}}})
	}
	filters := k.names(func(i int) bool { return plain(i) && k.filterable(i) })
	if k.Realtime != nil && k.Realtime.Filterable && len(filters) > 0 {
		query = append(query, member{"filter", object{{"type", "string"}, {"description", filterText + " Fields: " + strings.Join(filters, ",") + "."}}})
	}
	return query
}

// channelMessages are the frames of a channel: of what the entity publishes, and
// of rows that leave.
func (d *asyncAPI) channelMessages(k known, leaves func(field int) bool) (messages object) {
	for _, told := range []schema.RealtimeEvent{
		schema.RealtimeCreated, schema.RealtimeUpdated, schema.RealtimePatched, schema.RealtimeDeleted, schema.RealtimeRestored,
	} {
		if d.publishes(k, told) {
			messages = append(messages, member{string(told), message(string(told), k.channelEvent(told, leaves))})
		}
	}
	return append(messages, member{"left", message("left", k.channelEvent("left", leaves))})
}

// publishes reports whether a write may be told as the event: a standard one, or
// an operation, whoever may take it.
func (d *asyncAPI) publishes(k known, told schema.RealtimeEvent) bool {
	for i := range k.Operations {
		if op := &k.Operations[i]; op.Event == told && k.Publishes(told, op, d.Realtime) {
			return true
		}
	}
	for _, h := range d.tenant.Handled {
		if op := h.Operation; h.Entity == k.Name && op.Event == told && k.Publishes(told, op, d.Realtime) {
			return true
		}
	}
	return k.Publishes(told, nil, d.Realtime) && (told != schema.RealtimeRestored || k.SoftDelete)
}

// channelEvent describes the payload of a frame of a channel.
func (k known) channelEvent(told schema.RealtimeEvent, leaves func(field int) bool) object {
	item := object{{"type", "null"}}
	if told != schema.RealtimeDeleted && told != "left" {
		item = k.data(leaves)
		item = item.with("required", []string{}) // fields= leaves out what it does not name
	}
	properties := object{
		{"event", object{{"type", "string"}, {"const", string(told)}}}, {"entity", object{{"type", "string"}, {"const", k.Name}}},
		{"id", k.idText()}, {"channel", object{{"type", "string"}}}, {"occurredAt", object{{"type", "string"}, {"format", "date-time"}}}, {"item", item},
	}
	required := []string{"event", "entity", "id", "channel", "occurredAt", "item"}
	if told == schema.RealtimeUpdated || told == schema.RealtimePatched {
		names := listOf(object{{"type", "string"}, {"enum", texts(k.names(leaves))}})
		properties, required = append(properties, member{"changed", names}), append(required, "changed")
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}}
}
