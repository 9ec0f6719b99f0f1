package schema

import "github.com/rowcast/rowcast/internal/document"

// What each mapping of a schema file may hold. A key that a later version
// serves is taken out of Refused and added to Keys here.
var (
	fileShape = document.Shape{
		What: "a schema file",
		Keys: []string{"enums", "traits", "entities"},
		Refused: map[string]string{
			"subscriptions": "subscriptions at the top of a file are read by nobody; move the list into the entity it belongs to",
			"events":        "events at the top of a file are read by nobody; move the list into the entity it belongs to",
		},
	}
	enumShape      = document.Shape{What: "an enum", Keys: []string{"name", "values"}}
	enumValueShape = document.Shape{What: "a value of an enum", Keys: []string{"value"}}
	traitShape     = document.Shape{What: "a trait", Keys: []string{"name", "fields"}}
	entityShape    = document.Shape{
		What: "an entity",
		Keys: []string{"name", "table", "datastore", "inherits", "fields", "indexes", "access", "rowrules", "filter", "events", "subscriptions", "realtime", "operations"},
	}
	fieldShape = document.Shape{
		What: "a field",
		Keys: []string{"name", "type", "validations", "defaultvalue", "mask"},
		Refused: map[string]string{
			"required": "unknown key \"required\" in a field; write validations: [{type: required}]",
			"unique":   "unknown key \"unique\" in a field; write validations: [{type: unique}]",
			"final":    "unknown key \"final\" in a field; write validations: [{type: final}]",
			"default":  "unknown key \"default\" in a field; did you mean \"defaultvalue\"?",
		},
	}
	validationShape = document.Shape{What: "a validation", Keys: []string{"type", "value", "message"}}
	maskShape       = document.Shape{What: "a mask", Keys: []string{"keeplast"}}
	accessShape     = document.Shape{What: "access", Keys: []string{"actions", "read"}}
	scriptShape     = document.Shape{What: "a script", Keys: []string{"language", "expression"}}
	rowRuleShape    = document.Shape{What: "a row rule", Keys: []string{"name", "actions", "language", "expression"}}
	filterShape     = document.Shape{What: "filter", Keys: []string{"fields", "limits"}}
	limitsShape     = document.Shape{What: "limits", Keys: []string{"maxdepth", "maxinvalues", "maxlikepatternlength"}}
	eventShape      = document.Shape{
		What: "an event",
		Keys: []string{"name", "operations", "condition", "topic", "format", "include", "exclude", "bulk"},
	}
	subscriptionShape = document.Shape{
		What: "a subscription",
		Keys: []string{"name", "source", "eventtypes", "scope", "rls", "transports", "filter"},
		Refused: map[string]string{
			"fieldgroup": "fieldgroup selects nothing: there are no named groups of fields; choose fields with include or exclude on the event",
		},
	}
	realtimeShape = document.Shape{
		What: "realtime",
		Keys: []string{"events", "subscribablefields", "filterable"},
		Refused: map[string]string{
			"enabled":        "enabled is no key of realtime: any mapping turns channels on; write realtime: false to turn them off",
			"onpublisherror": "onpublisherror is a function and belongs to the Go API; set OnPublishError of rowcast.Config",
		},
	}
	realtimeEventsShape = document.Shape{
		What: "events of realtime",
		Keys: []string{"created", "updated", "patched", "deleted", "restored"},
		Refused: map[string]string{
			"left": "left is no event to turn on or off: a subscriber asks for it with leave=true; remove it",
		},
	}
	subscribableShape = document.Shape{
		What: "subscribablefields",
		Keys: []string{"exclude"},
		Refused: map[string]string{
			"include": "include is not needed: write the fields that may leave as a plain list, subscribablefields: [a, b]",
		},
	}
	operationShape = document.Shape{
		What: "an operation",
		Keys: []string{"name", "kind", "cardinality", "action", "realtimeevent", "realtime", "set"},
		Refused: map[string]string{
			"handler": "handler is a function and belongs to the Go API; leave set out, and give it under Operations of rowcast.Config",
		},
	}
	operationRealtimeShape = document.Shape{
		What: "realtime of an operation",
		Keys: []string{"events"},
		Refused: map[string]string{
			"subscribablefields": "subscribablefields is one for all events of the entity; move it to the entity's realtime",
			"filterable":         "filterable is one for all events of the entity; move it to the entity's realtime",
			"enabled":            "enabled is no key of realtime; write realtime: false to publish nothing",
			"onpublisherror":     "onpublisherror is a function and belongs to the Go API; set OnPublishError of rowcast.Config",
		},
	}
)
