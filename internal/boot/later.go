package boot

import "github.com/rowcast/rowcast/internal/document"

// What the boot document may say in a later version. A key that is accepted and
// ignored would look as if it worked, so each is a refusal until it is served.
var (
	rootShape = document.Shape{
		What: "the boot document",
		Keys: []string{"listen", "tls", "dev", "log", "auth", "tenants", "events", "limits", "cors", "admin"},
		Refused: map[string]string{
			"scheduler": "scheduler is not served by this version, which has no delivery queue; remove the key",
			"realtime":  "realtime is not served by this version, which has no channels; remove the key and use subscriptions of the schema",
		},
	}
	eventsShape = document.Shape{
		What: "events",
		Keys: []string{"retention"},
		Refused: map[string]string{
			"targets": "events.targets is not served by this version, which delivers no webhooks; remove the key",
		},
	}
	datastoreShape = document.Shape{
		What: "a datastore",
		Keys: []string{"driver", "path"},
		Refused: map[string]string{
			"url":       "url goes with a driver that this version does not serve; remove the key and give a path",
			"listenurl": "listenurl goes with a driver that this version does not serve; remove the key",
			"namespace": "namespace goes with a driver that this version does not serve; remove the key",
			"maxconns":  "maxconns goes with a driver that this version does not serve; remove the key",
		},
	}
)

// laterDrivers are known by name, so that the refusal can say so.
var laterDrivers = []string{"postgres"}
