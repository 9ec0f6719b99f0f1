package describe

import (
	"slices"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/value"
)

// asyncAPI is a description of what is sent in the making. Its schemas hold no
// reference beside other members: to JSON Schema of draft 7, which AsyncAPI has,
// those would not be there.
type asyncAPI struct {
	*caller
	channels   object
	operations object
}

func newAsyncAPI(c *caller) *asyncAPI { return &asyncAPI{caller: c} }

// document writes all of it.
func (d *asyncAPI) document() []byte {
	for _, k := range d.entities {
		if !k.grant.Can(access.Read) {
			continue
		}
		for i := range k.Subscriptions {
			d.subscription(k, &k.Subscriptions[i])
		}
		if k.HasChannel(d.Realtime) {
			d.channel(k)
		}
	}
	if d.admin {
		for i := range d.tenant.Targets {
			d.target(&d.tenant.Targets[i])
		}
	}
	return appendJSON(nil, object{
		{"asyncapi", "3.0.0"},
		{"info", object{
			{"title", "rowcast"}, {"version", version},
			{"description", "What this server sends you. The requests that it takes are in /openapi.json."},
		}},
		{"defaultContentType", "application/json"},
		{"channels", d.channels},
		{"operations", d.operations},
		{"components", object{{"messages", object{{"gap", gap}}}, {"securitySchemes", d.securitySchemes()}}},
	})
}

func (d *asyncAPI) securitySchemes() object {
	schemes := object{{"bearer", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "A token, or an API key."}}}}
	if d.Cookie != "" {
		schemes = append(schemes, member{"cookie", object{{"type", "httpApiKey"}, {"in", "cookie"}, {"name", d.Cookie}}})
	}
	return schemes
}

// gap is the frame of a stream that lost its place.
var gap = object{
	{"name", "stream.gap"}, {"title", "Events are missing: read the rows again."},
	{"payload", object{
		{"type", "object"},
		{"properties", object{
			{"reason", object{{"type", "string"}, {"enum", list{"unknown", "expired", "reset"}}}},
			{"since", object{{"type", "string"}}},
		}},
		{"required", []string{"reason", "since"}},
	}},
}

// stream is something that a caller opens with a GET and listens to.
type stream struct {
	key, address, title string
	messages            object
	query               object // the parameters by name
	required            []string
}

// add adds the stream's channel and operation.
func (d *asyncAPI) add(s stream) {
	s.messages = append(slices.Clip(s.messages), member{"stream.gap", ref("messages", "gap")})
	d.channels = append(d.channels, member{s.key, object{{"address", s.address}, {"title", s.title}, {"messages", s.messages}}})
	query := object{{"type", "object"}, {"properties", append(s.query, settings...)}, {"additionalProperties", false}}
	if len(s.required) > 0 {
		query = append(query, member{"required", s.required})
	}
	security := list{ref("securitySchemes", "bearer")}
	if d.Cookie != "" {
		security = append(security, ref("securitySchemes", "cookie"))
	}
	operation := object{
		{"action", "send"}, {"channel", object{{"$ref", "#/channels/" + s.key}}}, {"title", s.title},
		{"description", "Server-Sent Events: a message's name is the event of its frame, its payload the data."},
		{"bindings", object{{"http", object{{"method", "GET"}, {"query", query}, {"bindingVersion", "0.3.0"}}}}},
	}
	if !d.principal.Anonymous { // who is anonymous has seen that no credential is needed
		operation = append(operation, member{"security", security})
	}
	d.operations = append(d.operations, member{s.key, operation})
}

// settings are the parameters of every stream.
var settings = object{
	{"heartbeat", object{{"type", "string"}, {"default", "25s"}, {"description", "How often a ping comes, 1s to 5m."}}},
	{"lifetime", object{{"type", "string"}, {"default", "30m"}, {"description", "How long the connection stays open, 1s to 4h."}}},
	{"leave", object{{"type", "string"}, {"enum", list{"true", "false"}}, {"default", "false"}, {"description", "Tell when a row is no longer yours to see."}}},
	{"lastEventId", object{{"type", "string"}, {"description", "Where to go on, for who cannot send Last-Event-ID."}}},
}

// event describes the payload of a frame of /subscribe and of a webhook. data is
// nil where no values travel.
func event(kind, entity, operation string, data object) object {
	text := object{{"type", "string"}}
	constant := func(s string) object {
		if s == "" {
			return text
		}
		return append(text, member{"const", s})
	}
	properties := object{
		{"id", ulid}, {"type", constant(kind)}, {"entity", constant(entity)}, {"operation", constant(operation)},
		{"subject", text}, {"time", object{{"type", "string"}, {"format", "date-time"}}}, {"tenant", text},
	}
	required := []string{"id", "type", "entity", "operation", "subject", "time", "tenant"}
	if data != nil {
		properties, required = append(properties, member{"data", data}), append(required, "data")
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}}
}

// ulid is the id of an event.
var ulid = object{{"type", "string"}, {"pattern", "^[0-7][0-9A-HJKMNP-TV-Z]{25}$"}}

// data describes the part of a row that keep leaves, as the caller reads it.
func (k known) data(keep func(field int) bool) object {
	shows := func(i int) bool { return k.shows(i) && keep(i) }
	return object{{"type", "object"}, {"properties", k.properties(shows, k.shown)}, {"required", k.names(shows)}}
}

// idText describes a row's id as text.
func (k known) idText() object {
	switch k.Fields[k.ID].Type {
	case value.Integer, value.BigInt:
		return object{{"type", "string"}, {"pattern", "^-?[0-9]+$"}}
	default:
		return typeOf(k.Fields[k.ID])
	}
}
