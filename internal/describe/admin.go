package describe

import "github.com/rowcast/rowcast/fault"

// session adds the routes that set and clear the cookie.
func (d *openAPI) session() {
	if d.Cookie == "" {
		return
	}
	d.path("/session", object{
		{"post", d.operation(request{
			id: "openSession", summary: "Put a token into the session cookie", open: true, body: bodyOf(record("token", "string")),
			answers: object{empty("204", "The cookie is set.")},
			faults:  one(fault.Unauthenticated, fault.CrossOrigin, fault.BadParameter, fault.MalformedBody, fault.BodyTooLarge, fault.UnsupportedMediaType),
		})},
		{"delete", d.operation(request{
			id: "closeSession", summary: "Clear the session cookie", open: true,
			answers: object{empty("204", "The cookie is cleared.")}, faults: one(fault.CrossOrigin),
		})},
	})
}

// probes adds what needs no rights, and the descriptions themselves.
func (d *openAPI) probes() {
	status := record("status", "string")
	ready := status.with("properties", object{
		{"status", object{{"type", "string"}}},
		{"log", record("lagseconds", "number", "heldseconds", "number-", "heldpid", "integer-")},
	})
	d.path("/healthz", object{{"get", d.operation(request{
		id: "healthz", summary: "Whether the process lives", open: true, answers: object{answer("200", "It does.", status)},
	})}})
	d.path("/readyz", object{{"get", d.operation(request{
		id: "readyz", summary: "Whether requests should come here", open: true, answers: object{answer("200", "They should.", ready)},
		faults: one(fault.Unavailable),
	})}})
	for _, name := range []string{"openapi", "asyncapi"} {
		d.path("/"+name+".json", object{{"get", d.operation(request{
			id: name, summary: "What you may do here, in the form of this name", parameters: list{headerOf("If-None-Match", "The tag of the description that you have.")},
			answers: object{tagged("200", "The description.", object{{"type", "object"}}), empty("304", "It is the one that you have.")},
		})}})
	}
}

// below is where the deliveries are worked with.
const below = "/admin/data/events/"

// adminRoutes adds what the admin role opens.
func (d *openAPI) adminRoutes() {
	d.path("/metrics", object{{"get", d.adminOperation("metrics", "Prometheus metrics", request{
		answers: object{{"200", object{
			{"description", "The metrics."}, {"content", object{{"text/plain", object{{"schema", object{{"type", "string"}}}}}}},
		}}},
	})}})
	stream := record("id", "string", "tenant", "string", "datastore", "string", "entity", "string", "subscription", "string-", "channel", "string-",
		"principal", "string", "delivered", "integer", "dropped", "integer", "replayed", "integer", "since", "time", "lagging", "boolean")
	d.path("/admin/data/streams", object{{"get", d.adminOperation("streams", "The open streams", request{
		answers: object{answer("200", "Longest open first.", items(stream, member{"total", object{{"type", "integer"}}}))},
	})}})
	d.deliveryReads()
	d.deliveryWrites()
}

func (d *openAPI) adminOperation(id, summary string, r request) object {
	r.id, r.summary, r.tag = "admin."+id, summary, ""
	return d.operation(r)
}

// items is a list in an object, with what stands beside it.
func items(item object, beside ...member) object {
	properties, required := object{{"items", listOf(item)}}, []string{"items"}
	for _, m := range beside {
		properties, required = append(properties, m), append(required, m.name)
	}
	return object{{"type", "object"}, {"properties", properties}, {"required", required}}
}

func (d *openAPI) deliveryReads() {
	delivery := record("id", "string", "target", "string", "topic", "string", "event", "string", "tenant", "string", "entity", "string",
		"subject", "string", "status", "string", "attempts", "integer", "nextat", "time?", "laststatus", "integer?", "lasterror", "string?", "created", "time")
	text := object{{"type", "string"}}
	d.path(below+"pending", object{{"get", d.adminOperation("pending", "The deliveries that wait", request{
		parameters: list{
			queryOf("target", "Only those for this target.", text),
			queryOf("status", "Only those.", object{{"type", "string"}, {"enum", list{"pending", "claimed", "failed"}}}),
			queryOf("limit", "Deliveries of a page.", object{{"type", "integer"}, {"minimum", 1}, {"maximum", 100}, {"default", 20}}),
			queryOf("cursor", "next of the page before.", text),
		},
		answers: object{answer("200", "Failed ones first.", items(delivery, member{"next", object{{"type", list{"string", "null"}}}}))},
		faults:  one(fault.InvalidCursor, fault.TargetNotFound),
	})}})
	d.path(below+"stats", object{{"get", d.adminOperation("stats", "Depth, counters and targets of the queue", request{
		answers: object{answer("200", "The queue.", deliveryStats())},
	})}})
	attempt := record("number", "integer", "at", "time", "milliseconds", "integer", "status", "integer?", "error", "string?", "outcome", "string")
	d.path(below+"attempts", object{{"get", d.adminOperation("attempts", "The attempts at one delivery", request{
		parameters: list{append(queryOf("id", "Of the delivery.", text), member{"required", true})},
		answers:    object{answer("200", "In order.", items(attempt))},
	})}})
}

func deliveryStats() object {
	depth := record("pending", "integer", "claimed", "integer", "failed", "integer")
	target := record("name", "string", "url", "string", "timeout", "string", "topics", "strings", "order", "string-", "maxinflight", "integer",
		"inflight", "integer", "blocked", "integer", "oldestdue", "time?", "breaker", "string")
	return object{{"type", "object"}, {"properties", object{
		{"depth", depth},
		{"counters", record("attempted", "integer", "delivered", "integer", "retried", "integer", "failed", "integer", "leaselost", "integer")},
		{"oldestdue", object{{"type", list{"string", "null"}}, {"format", "date-time"}}},
		{"targets", listOf(object{{"allOf", list{target, object{{"properties", object{{"depth", depth}}}}}}})},
		{"undeclared", listOf(object{{"allOf", list{record("name", "string"), object{{"properties", object{{"depth", depth}}}}}}})},
	}}, {"required", []string{"depth", "counters", "oldestdue", "targets", "undeclared"}}}
}

func (d *openAPI) deliveryWrites() {
	ids := append(listOf(object{{"type", "string"}}), member{"minItems", 1}, member{"maxItems", 1000})
	byID := object{{"type", "object"}, {"properties", object{{"ids", ids}}}, {"required", []string{"ids"}}, {"additionalProperties", false}}
	byTime := append(record("target", "string", "since", "time-", "until", "time-"), member{"additionalProperties", false})
	moved := func(name string) object {
		done := listOf(object{{"type", "string"}})
		return object{{"type", "object"}, {"properties", object{{name, done}, {"skipped", listOf(record("id", "string", "reason", "string"))}}},
			{"required", []string{name, "skipped"}}}
	}
	drained := record("attempted", "integer", "delivered", "integer", "retried", "integer", "failed", "integer", "more", "boolean")
	write := func(name, summary string, body object, answers ...member) {
		d.path(below+name, object{{"post", d.adminOperation(name, summary, request{
			body: body, answers: answers, faults: codes(ofBodies, one(fault.NoTargetDeclared, fault.TargetNotFound)),
		})}})
	}
	write("drain", "Attempt what is due", nil, answer("200", "Done.", drained), answer("202", "The time was over before all was done.", drained))
	write("requeue", "Make failed deliveries pending again", bodyOf(object{{"oneOf", list{byID, byTime}}}),
		answer("200", "What was moved.", object{{"allOf", list{moved("requeued"), record("more", "boolean")}}}))
	write("skip", "Remove deliveries that wait", bodyOf(byID), answer("200", "What was removed.", moved("removed")))
	write("test", "Send a test event", bodyOf(record("target", "string")),
		answer("200", "What the target answered.", record("target", "string", "accepted", "boolean", "status", "integer?", "milliseconds", "integer", "error", "string?")))
}
