package boot

import (
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/schema"
)

var realtimeShape = document.Shape{
	What: "realtime",
	Keys: []string{"events"},
	Refused: map[string]string{
		"subscribablefields": "subscribablefields names fields of one entity; move it to realtime of the entity",
		"filterable":         "filterable speaks of the fields of one entity; move it to realtime of the entity",
		"enabled":            "enabled is no key of realtime: the key turns channels on for every entity; leave it out, and entities opt in themselves",
		"onpublisherror":     "onpublisherror is a function and belongs to the Go API; set OnPublishError of rowcast.Config",
	},
}

// readRealtime reads what holds for every entity that does not say otherwise.
// false is refused: an entity that turns its channels on would have them still.
func (l *loader) readRealtime(node *document.Node) {
	l.doc.Realtime = schema.ReadRealtime(node, realtimeShape, &l.refusals)
	if l.doc.Realtime != nil && l.doc.Realtime.Off {
		l.refusals.Add(node.Refusal("realtime: false turns nothing off that an entity turns on; leave the key out, and write realtime: false in each entity that must have no channels"))
	}
}
