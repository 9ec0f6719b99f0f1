package client

import (
	"encoding/json"
	"fmt"
	"time"
)

// gapType is the type of the event that says that events are missing.
const gapType = "stream.gap"

// Event is what a stream tells: that one row changed, or that events are missing.
type Event struct {
	// ID is the event's id, a ULID; of a gap, the place from which the stream goes on.
	ID string `json:"id"`

	// Type is "entity.create", "entity.update", "entity.delete",
	// "entity.leave" (the row is no longer this subscriber's to see) or
	// "stream.gap"; on a channel "created", "updated", "patched", "deleted",
	// "restored", "left" (as entity.leave) or "stream.gap".
	Type string `json:"type"`

	Entity    string    `json:"entity"`
	Operation string    `json:"operation"` // "create", "update" or "delete"; "" on a channel
	Subject   string    `json:"subject"`   // the row's id
	Time      time.Time `json:"time"`
	Tenant    string    `json:"tenant"` // "" on a channel

	// Data is the row as the subscriber may read it. It is nil where the row is
	// deleted or left, and on a subscription that is declared without rls.
	Data json.RawMessage `json:"data,omitempty"`

	// Changed names the fields that an update on a channel sent, as far as the
	// subscriber may see them.
	Changed []string `json:"-"`

	// Gap is set where events are missing; read the rows again. The fields of
	// a row's event are empty then.
	Gap *Gap `json:"-"`

	// Raw is the JSON as the server sent it.
	Raw json.RawMessage `json:"-"`
}

// Gap says why events are missing.
type Gap struct {
	// Reason is "unknown" (the server never had that id), "expired" (it is
	// older than the log) or "reset" (the log is another one: a restore).
	Reason string `json:"reason"`

	// Since is the id after which events are missing.
	Since string `json:"since"`
}

// channelEvent is the data of a channel's frame: its id is the row's.
type channelEvent struct {
	Entity     string
	ID         string
	OccurredAt time.Time
	Item       json.RawMessage
	Changed    []string
}

// decode turns a frame, of a channel or of a subscription, into an Event.
func decode(f frame, channel bool) (Event, error) {
	ev := Event{Type: f.name, Raw: json.RawMessage(f.text)}
	var told channelEvent
	target := any(&ev)
	switch {
	case f.name == gapType:
		ev.Gap = &Gap{}
		target = ev.Gap
	case channel:
		target = &told
	}
	if err := json.Unmarshal(ev.Raw, target); err != nil {
		return Event{}, fmt.Errorf("client: frame %q of type %q: %w", f.id, f.name, err)
	}
	if channel && ev.Gap == nil {
		ev.Entity, ev.Subject, ev.Time, ev.Changed = told.Entity, told.ID, told.OccurredAt, told.Changed
		if string(told.Item) != "null" {
			ev.Data = told.Item
		}
	}
	if f.id != "" {
		ev.ID = f.id
	}
	return ev, nil
}
