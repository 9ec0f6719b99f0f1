package client

import (
	"net/url"
	"strings"
	"time"
)

// Source is what a Stream follows: a Subscription or a Channel.
type Source interface{ opening() opening }

// opening is how a source is asked for.
type opening struct {
	route       []string
	query       url.Values
	of          string // for the log
	channel     bool   // its frames are a channel's
	lastEventID string
	heartbeat   time.Duration // 0: the server's
}

// Subscription says which changes to follow.
type Subscription struct {
	// Entity is the entity's name. Required.
	Entity string

	// Name picks one of the entity's declared subscriptions.
	// Defaults to the only one.
	Name string

	// Ops narrows to some of "create", "update" and "delete".
	// Defaults to what the subscription declares.
	Ops []string

	// Leave asks for an event when a row stops being this subscriber's to see.
	Leave bool

	// LastEventID is where to go on: an Event's ID or a Position.
	// Defaults to now.
	LastEventID string

	// Heartbeat is how often the server says that it is there, 1 s to 5 min.
	// A connection that is silent for twice that and five seconds is given up.
	// Defaults to the server's 25 s.
	Heartbeat time.Duration

	// Lifetime is how long one connection stays open, up to 4 h; the stream
	// itself goes on with the next one. Defaults to the server's 30 min.
	Lifetime time.Duration
}

func (s Subscription) opening() opening {
	query := parameters(s.Leave, s.Heartbeat, s.Lifetime)
	if s.Name != "" {
		query.Set("name", s.Name)
	}
	if len(s.Ops) > 0 {
		query.Set("ops", strings.Join(s.Ops, ","))
	}
	return opening{
		route: []string{"subscribe", s.Entity}, query: query, of: s.Entity, lastEventID: s.LastEventID, heartbeat: s.Heartbeat,
	}
}

// Channel says which rows to follow: all of an entity, or one, as far as a
// filter lets them through.
type Channel struct {
	// Entity is the entity's name. Required.
	Entity string

	// ID is the one row to follow. Defaults to all rows.
	ID string

	// Filter is the filter of a list: filter[FIELD][OPERATOR], or filter with
	// JSON. Defaults to none.
	Filter url.Values

	// Fields are those of the row that Event.Data shows. Defaults to all that
	// the caller may see; an empty list that is not nil shows none.
	Fields []string

	// Changed leaves out updates in which none of these fields became another.
	// Defaults to none left out.
	Changed []string

	// Leave asks for an event when a row stops matching, or being this subscriber's to see.
	Leave bool

	// LastEventID, Heartbeat and Lifetime are as in Subscription.
	LastEventID         string
	Heartbeat, Lifetime time.Duration
}

func (c Channel) opening() opening {
	query := parameters(c.Leave, c.Heartbeat, c.Lifetime)
	for name, values := range c.Filter {
		query[name] = values
	}
	name := c.Entity
	if c.ID != "" {
		name += "." + c.ID
	}
	query.Set("channel", name)
	if c.Fields != nil {
		query.Set("fields", strings.Join(c.Fields, ","))
	}
	if len(c.Changed) > 0 {
		query.Set("changed", strings.Join(c.Changed, ","))
	}
	return opening{
		route: []string{"realtime"}, query: query, of: name, channel: true, lastEventID: c.LastEventID, heartbeat: c.Heartbeat,
	}
}

// parameters returns those that every stream takes.
func parameters(leave bool, heartbeat, lifetime time.Duration) url.Values {
	query := url.Values{}
	if leave {
		query.Set("leave", "true")
	}
	if heartbeat != 0 {
		query.Set("heartbeat", heartbeat.String())
	}
	if lifetime != 0 {
		query.Set("lifetime", lifetime.String())
	}
	return query
}
