package describe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/httpapi"
)

// openAPI is a description of requests in the making.
type openAPI struct {
	*caller
	paths     object
	schemas   object
	responses object
}

func newOpenAPI(c *caller) *openAPI {
	return &openAPI{caller: c, schemas: object{{"problem", problem}}}
}

// document writes all of it.
func (d *openAPI) document() []byte {
	for _, k := range d.entities {
		d.entitySchemas(k)
		d.collection(k)
		d.row(k)
		d.customOperations(k)
	}
	d.transaction()
	d.session()
	d.probes()
	if d.admin {
		d.adminRoutes()
	}
	components := object{{"schemas", d.schemas}, {"responses", d.responses}, {"securitySchemes", d.securitySchemes()}}
	return appendJSON(nil, object{
		{"openapi", "3.1.0"},
		{"info", object{
			{"title", "rowcast"}, {"version", version},
			{"description", "What you may ask of this server. Streams, channels and webhooks are in /asyncapi.json."},
		}},
		{"security", d.security()},
		{"tags", d.tags()},
		{"paths", d.paths},
		{"components", components},
	})
}

// version is that of the form of descriptions; the ETag tells of the content.
const version = "1"

func (d *openAPI) tags() list {
	tags := list{}
	for _, k := range d.entities {
		tags = append(tags, object{{"name", k.Name}})
	}
	return tags
}

// security says how a caller is known; an anonymous one has seen that it need not be.
func (c *caller) security() list {
	ways := list{object{{"bearer", list{}}}}
	if c.Cookie != "" {
		ways = append(ways, object{{"cookie", list{}}})
	}
	if c.principal.Anonymous {
		ways = append(ways, object{})
	}
	return ways
}

func (d *openAPI) securitySchemes() object {
	schemes := object{{"bearer", object{{"type", "http"}, {"scheme", "bearer"}, {"description", "A token, or an API key."}}}}
	if d.Cookie != "" {
		schemes = append(schemes, member{"cookie", object{{"type", "apiKey"}, {"in", "cookie"}, {"name", d.Cookie}}})
	}
	return schemes
}

// request is one operation of a path.
type request struct {
	id, summary, tag string
	parameters       list
	body             object // nil: none
	answers          object // what may come of it but problems, by status
	faults           []fault.Code
	open             bool // no credential is asked for
}

// always are what may go wrong with every request that asks for a credential.
var always = []fault.Code{fault.Unauthenticated, fault.Forbidden, fault.CrossOrigin, fault.BadParameter, fault.Timeout, fault.Unavailable, fault.Internal}

// operation describes a request.
func (d *openAPI) operation(r request) object {
	o := object{{"operationId", r.id}, {"summary", r.summary}}
	if r.tag != "" {
		o = append(o, member{"tags", []string{r.tag}})
	}
	if len(r.parameters) > 0 {
		o = append(o, member{"parameters", r.parameters})
	}
	if r.body != nil {
		o = append(o, member{"requestBody", r.body})
	}
	faults := r.faults
	if r.open {
		o = append(o, member{"security", list{}})
	} else {
		faults = append(slices.Clone(always), r.faults...)
	}
	return append(o, member{"responses", append(r.answers, d.problems(faults)...)})
}

// problems describes refusals by status, each with the codes that it may bear.
func (d *openAPI) problems(codes []fault.Code) (answers object) {
	byStatus := map[int][]string{}
	var statuses []int
	for _, code := range codes {
		status := httpapi.StatusOf(code)
		if byStatus[status] == nil {
			statuses = append(statuses, status)
		}
		byStatus[status] = append(byStatus[status], string(code))
	}
	slices.SortFunc(statuses, cmp.Compare[int])
	for _, status := range statuses {
		names := byStatus[status]
		slices.Sort(names)
		answers = append(answers, member{strconv.Itoa(status), d.refusal(status, slices.Compact(names))})
	}
	return answers
}

// refusal is a reference to a problem with those codes.
func (d *openAPI) refusal(status int, codes []string) object {
	name := strconv.Itoa(status) + "." + strings.Join(codes, ".")
	if !d.responses.has(name) {
		narrowed := append(ref("schemas", "problem"), member{"properties", object{{"code", object{{"enum", codes}}}}})
		d.responses = append(d.responses, member{name, object{
			{"description", strings.Join(codes, ", ")},
			{"content", object{{"application/problem+json", object{{"schema", narrowed}}}}},
		}})
	}
	return ref("responses", name)
}

// problem is the body of every refusal.
var problem = object{
	{"type", "object"},
	{"required", []string{"type", "title", "status", "code"}},
	{"properties", object{
		{"type", object{{"type", "string"}, {"format", "uri"}}},
		{"title", object{{"type", "string"}}},
		{"status", object{{"type", "integer"}}},
		{"detail", object{{"type", "string"}}},
		{"code", object{{"type", "string"}, {"description", "Stable: what a program decides by."}}},
		{"errors", object{{"type", "array"}, {"items", record("field", "string", "code", "string", "detail", "string-")}}},
		{"available", object{{"type", "array"}, {"items", object{{"type", "string"}}}, {"description", "Names that would have worked."}}},
	}},
}

// answer is a response with a body of JSON.
func answer(status, description string, schema object) member {
	return member{status, object{{"description", description}, {"content", jsonContent(schema)}}}
}

// empty is a response without a body.
func empty(status, description string) member {
	return member{status, object{{"description", description}}}
}

// tagged is a response with a row, its tag, and perhaps its place.
func tagged(status, description string, schema object, headers ...string) member {
	described := object{}
	for _, name := range append([]string{"ETag"}, headers...) {
		described = append(described, member{name, object{{"schema", object{{"type", "string"}}}}})
	}
	return member{status, object{{"description", description}, {"headers", described}, {"content", jsonContent(schema)}}}
}

func jsonContent(schema object) object {
	return object{{"application/json", object{{"schema", schema}}}}
}

// bodyOf is a body that must be sent, in one of the types.
func bodyOf(schema object, types ...string) object {
	content := jsonContent(schema)
	for _, t := range types {
		content = append(content, member{t, object{{"schema", schema}}})
	}
	return object{{"required", true}, {"content", content}}
}

// record describes an object by pairs of name and type, all of them required: string,
// integer, number, boolean, time, or strings; with ? perhaps null, with - perhaps absent.
func record(pairs ...string) object {
	properties, required := object{}, []string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, kind := pairs[i], pairs[i+1]
		plain := strings.TrimRight(kind, "?-")
		o := object{{"type", plain}}
		switch plain {
		case "time":
			o = object{{"type", "string"}, {"format", "date-time"}}
		case "strings":
			o = object{{"type", "array"}, {"items", object{{"type", "string"}}}}
		}
		if strings.HasSuffix(kind, "?") {
			o = orNull(o)
		}
		if !strings.HasSuffix(kind, "-") {
			required = append(required, name)
		}
		properties = append(properties, member{name, o})
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}}
}

// listOf describes an array.
func listOf(items object) object { return object{{"type", "array"}, {"items", items}} }
