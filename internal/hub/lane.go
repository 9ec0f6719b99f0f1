package hub

import (
	"github.com/rowcast/rowcast/internal/tail"
)

// lane is what a subscriber listens on: a topic, the channel of an entity, or
// that of one of its rows. A row has a lane of its own so that who follows one
// row costs nothing when another one changes.
type lane struct {
	topic  string
	entity string // of a channel
	id     string // the row's; "": all rows
}

// sort puts a batch, in log order, on the lanes that somebody listens on.
func (h *Hub) sort(batch []*tail.Entry) map[lane][]*tail.Entry {
	h.mu.RLock()
	defer h.mu.RUnlock()
	sorted := make(map[lane][]*tail.Entry, 2)
	put := func(l lane, e *tail.Entry) {
		if len(h.lanes[l]) > 0 {
			sorted[l] = append(sorted[l], e)
		}
	}
	for _, e := range batch {
		switch {
		case e.Entity == nil: // the schema no longer names it
		case e.Log.Topic != "":
			put(lane{topic: e.Log.Topic}, e)
		default:
			put(lane{entity: e.Log.Entity}, e)
			put(lane{entity: e.Log.Entity, id: e.Log.Subject}, e)
		}
	}
	return sorted
}
