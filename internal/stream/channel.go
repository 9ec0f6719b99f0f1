package stream

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// longestName bounds the names that are looked up, in bytes: the schema refuses
// longer ones, and a channel of dots alone must not cost a look-up for each.
const longestName = 64

// Channel names what a channel tells of (channels contract, section 3).
type Channel struct {
	Entity string
	ID     string // of one row, as text; "": all rows
}

// ChannelOf reads the parameter channel, given exactly once: the longest prefix
// of it that exists, at its end or before a dot, is the entity, and the rest
// the id of a row, which may hold dots. The error is a fault bad_channel or
// entity_not_found.
func ChannelOf(rawQuery string, exists func(entity string) bool) (Channel, error) {
	query, _ := url.ParseQuery(rawQuery) // what does not decode is told with the filter; the rest is there
	given := query["channel"]
	if len(given) != 1 {
		return Channel{}, fault.New(fault.BadChannel, "give one channel: channel=ENTITY for all rows, channel=ENTITY.ID for one; there are %d", len(given))
	}
	text := given[0]
	first, rest, dotted := strings.Cut(text, ".")
	if first == "" || (dotted && rest == "") || !utf8.ValidString(text) {
		return Channel{}, malformed(text)
	}
	for end := len(text); end > 0; end = strings.LastIndexByte(text[:end], '.') {
		if end > longestName || !exists(text[:end]) {
			continue
		}
		if end == len(text) {
			return Channel{Entity: text}, nil
		}
		if id := text[end+1:]; id != "" {
			return Channel{Entity: text[:end], ID: id}, nil
		}
		return Channel{}, malformed(text)
	}
	return Channel{}, fault.New(fault.EntityNotFound, "no entity is named as the channel %q begins", clipped(text))
}

func malformed(text string) error {
	return fault.New(fault.BadChannel, "a channel is ENTITY, or ENTITY.ID for one row, not %q", clipped(text))
}

// ChannelRequest asks for the stream of a channel.
type ChannelRequest struct {
	Principal   *access.Principal
	Channel     Channel
	RawQuery    string
	LastEventID string // the header, which beats the parameter
}

// OpenChannel judges a request in this order: entity, the right to read it,
// proved by a read, whether it has channels, then the parameters. Whether a row
// is there is not told. The error is a *fault.Fault.
func (s *Server) OpenChannel(ctx context.Context, r ChannelRequest) (*Stream, error) {
	grant, unavailable, err := s.admit(ctx, r.Principal, r.Channel.Entity)
	if err != nil {
		return nil, err
	}
	e := grant.Policy.Entity
	if !e.HasChannel(s.config.Realtime) {
		return nil, fault.New(fault.NoChannel, "entity %s has no channels: realtime is off", e.Name)
	}
	id, err := subject(e, r.Channel.ID)
	if err != nil {
		return nil, err
	}
	p, err := parseChannelParameters(r.RawQuery)
	if err != nil {
		return nil, err
	}
	listening, err := p.listening(grant, r.RawQuery)
	if err != nil {
		return nil, err
	}
	listening.ID = id
	return s.stream(hub.NewChannel(listening), p.settings, r.LastEventID, unavailable), nil
}

// subject returns an id as the log writes it. One that no row can have is
// refused: its stream would be silent for ever.
func subject(e *schema.Entity, id string) (string, error) {
	if id == "" {
		return "", nil
	}
	key := e.Fields[e.ID]
	v, err := e.ParseID(id)
	if err != nil {
		return "", fault.New(fault.BadChannel, "no row of %s can have the id %q: it is of type %s", e.Name, clipped(id), key.Type)
	}
	return string(value.AppendText(nil, key.Type, v)), nil
}
