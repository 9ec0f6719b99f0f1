package boot

import "github.com/rowcast/rowcast/internal/document"

// What the boot document may say in a later version. A key that is accepted and
// ignored would look as if it worked, so each is a refusal until it is served.
var (
	rootShape = document.Shape{
		What: "the boot document",
		Keys: []string{"listen", "tls", "dev", "log", "auth", "tenants", "events", "scheduler", "realtime", "limits", "cors", "admin"},
	}
	eventsShape = document.Shape{What: "events", Keys: []string{"retention", "targets"}}
	targetShape = document.Shape{
		What: "a target",
		Keys: []string{"url", "secret", "timeout", "topics", "as", "order", "maxinflight", "headers", "ca"},
	}
	// anyDatastoreShape finds the driver, which decides what the other keys are.
	anyDatastoreShape = document.Shape{What: "a datastore", Keys: []string{"driver", "path", "url", "listenurl", "namespace", "maxconns"}}
	sqliteShape       = document.Shape{
		What: "a datastore",
		Keys: []string{"driver", "path"},
		Refused: map[string]string{
			"url":       "url goes with driver postgres; remove the key, or the path and write driver: postgres",
			"listenurl": "listenurl goes with driver postgres; remove the key",
			"namespace": "namespace goes with driver postgres; remove the key",
			"maxconns":  "maxconns goes with driver postgres; remove the key",
		},
	}
	postgresShape = document.Shape{
		What:    "a datastore",
		Keys:    []string{"driver", "url", "listenurl", "namespace", "maxconns"},
		Refused: map[string]string{"path": "path goes with driver sqlite; remove the key, or write driver: sqlite and no url"},
	}
)
