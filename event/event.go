// Package event is the published description of a change: the JSON that a
// frame and a webhook share, and the source of event ids.
//
// An Event is a plain value. A Source is safe for concurrent use. The package
// imports internal/value alone.
package event

import (
	"time"

	"github.com/rowcast/rowcast/internal/value"
)

// Op is the operation of an event on a change stream.
type Op string

// The operations (contract: Frames).
const (
	Create Op = "create"
	Update Op = "update"
	Delete Op = "delete"
)

// Type is what a client dispatches on: the event's name on the wire.
type Type string

// The types. Leave is rowcast's own: the row stopped being visible, or stopped
// matching, to a subscriber that asked to be told.
const (
	Created Type = "entity.create"
	Updated Type = "entity.update"
	Deleted Type = "entity.delete"
	Leave   Type = "entity.leave"
)

// TypeOf returns the type of an operation's event.
func TypeOf(op Op) Type { return "entity." + Type(op) }

// Event is one change as told on one topic (contract: Frames, the table of fields).
type Event struct {
	ID        string // ULID, one per changed row and topic
	Type      Type
	Entity    string
	Operation Op
	Subject   string    // the row's primary key as text
	Time      time.Time // of publication, UTC, microseconds
	Tenant    string    // of the write
	Data      []byte    // the row as JSON; nil where no values travel
}

// AppendJSON appends the event as one line of JSON, members in the contract's order.
func (e *Event) AppendJSON(dst []byte) []byte {
	dst = appendMember(append(dst, '{'), "id", e.ID)
	dst = appendMember(append(dst, ','), "type", string(e.Type))
	dst = appendMember(append(dst, ','), "entity", e.Entity)
	dst = appendMember(append(dst, ','), "operation", string(e.Operation))
	dst = appendMember(append(dst, ','), "subject", e.Subject)
	dst = appendMember(append(dst, ','), "time", e.Time.UTC().Format(time.RFC3339Nano))
	dst = appendMember(append(dst, ','), "tenant", e.Tenant)
	if e.Data != nil {
		dst = append(append(dst, `,"data":`...), e.Data...)
	}
	return append(dst, '}')
}

func appendMember(dst []byte, name, text string) []byte {
	dst = append(append(append(dst, '"'), name...), `":`...)
	return value.AppendString(dst, text)
}
