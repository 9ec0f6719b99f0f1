package event

import (
	"encoding/json"
	"time"

	"github.com/rowcast/rowcast/internal/value"
)

// ChannelOp is what a channel calls a change: finer than an Op (channels
// contract, section 1).
type ChannelOp string

// What a write is published as, and Left, rowcast's own: the row stopped being
// visible, or stopped matching, to a subscriber that asked to be told.
const (
	ChannelCreated  ChannelOp = "created"
	ChannelUpdated  ChannelOp = "updated"
	ChannelPatched  ChannelOp = "patched"
	ChannelDeleted  ChannelOp = "deleted"
	ChannelRestored ChannelOp = "restored"
	Left            ChannelOp = "left"
)

// Gone reports whether no values travel with the event: the row is gone, or gone
// from the subscriber's sight.
func (o ChannelOp) Gone() bool { return o == ChannelDeleted || o == Left }

// Changes reports whether the event names the fields that were sent.
func (o ChannelOp) Changes() bool { return o == ChannelUpdated || o == ChannelPatched }

// ChannelEvent is one change as told on a channel or to a transport (channels
// contract, section 2, the table of fields). It is a plain value; its JSON is
// what stands in a frame.
type ChannelEvent struct {
	Event      ChannelOp
	Entity     string          // also the name of the collection's channel
	ID         string          // the row's primary key as text
	OccurredAt time.Time       // one for all who are told, UTC, microseconds
	Item       json.RawMessage // the row as JSON; never written where the event is Gone
	Changed    []string        // names of the fields that were sent; written where the event Changes

	// Beside the JSON, for who publishes further.
	EventID string // of the change log: the id of the frame
	Tenant  string // of the write
}

// Channel returns the name of the row's own channel.
func (e ChannelEvent) Channel() string { return e.Entity + "." + e.ID }

// AppendJSON appends the event as one line of JSON, members in the contract's order.
func (e ChannelEvent) AppendJSON(dst []byte) []byte {
	dst = appendMember(append(dst, '{'), "event", string(e.Event))
	dst = appendMember(append(dst, ','), "entity", e.Entity)
	dst = appendMember(append(dst, ','), "id", e.ID)
	dst = appendMember(append(dst, ','), "channel", e.Channel())
	dst = append(dst, `,"occurredAt":"`...)
	dst = e.OccurredAt.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, `","item":`...)
	if e.Item == nil || e.Event.Gone() {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, e.Item...)
	}
	if e.Event.Changes() {
		dst = appendNames(append(dst, `,"changed":`...), e.Changed)
	}
	return append(dst, '}')
}

// MarshalJSON returns what AppendJSON appends. It implements json.Marshaler.
func (e ChannelEvent) MarshalJSON() ([]byte, error) { return e.AppendJSON(nil), nil }

func appendNames(dst []byte, names []string) []byte {
	dst = append(dst, '[')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = value.AppendString(dst, name)
	}
	return append(dst, ']')
}
