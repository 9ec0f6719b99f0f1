package stream

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/schema"
)

// maxFaults bounds how many fields a refusal names, and clip the bytes of each.
const (
	maxFaults = 100
	clip      = 80
)

// channelFaultOf names the code that a bad value of a channel's parameter has.
var channelFaultOf = map[string]fault.Code{
	"channel": fault.BadChannel, "fields": fault.BadParameter, "changed": fault.BadParameter, "heartbeat": fault.BadHeartbeat,
	"lifetime": fault.BadLifetime, "leave": fault.BadParameter, "lastEventId": fault.BadParameter,
}

// channelParameters are the decoded query of a channel, but for the filter.
type channelParameters struct {
	settings
	fields, changed *string // nil: not given
	garbled         bool    // something in the query does not decode
}

// parseChannelParameters reads all that does not begin with filter, which
// predicate.ParseQuery reads. What does not decode may hide anything.
func parseChannelParameters(rawQuery string) (channelParameters, error) {
	query, err := url.ParseQuery(rawQuery)
	p := channelParameters{settings: defaults(), garbled: err != nil}
	for name := range query {
		if strings.HasPrefix(name, "filter") {
			delete(query, name)
		}
	}
	err = readAll(query, channelFaultOf, p.set)
	return p, err
}

func (p *channelParameters) set(name, text string) error {
	switch name {
	case "channel":
		return nil // ChannelOf has read it
	case "fields":
		p.fields = &text
	case "changed":
		p.changed = &text
	default:
		return p.settings.set(name, text)
	}
	return nil
}

// listening resolves the fields that the parameters name, for who holds the
// grant. The error is a fault invalid_query with all that is wrong.
func (p *channelParameters) listening(g *access.Grant, rawQuery string) (hub.Listening, error) {
	e := g.Policy.Entity
	leaves := func(i int) bool { return e.Realtime.Subscribes(i) && g.Reads(i) }
	plain := func(i int) bool { return e.Realtime.Subscribes(i) && g.ReadsPlain(i) }
	l := hub.Listening{Grant: g, Keep: leaves, Leave: p.leave}
	var faults, more []fault.FieldError
	if p.fields != nil {
		var named []int
		named, faults = fieldsOf(e, *p.fields, leaves)
		l.Keep = func(i int) bool { return slices.Contains(named, i) }
	}
	if p.changed != nil {
		l.Changed, more = fieldsOf(e, *p.changed, plain)
		if faults = append(faults, more...); len(l.Changed)+len(more) == 0 {
			faults = append(faults, wrong("changed", fault.InvalidValue, "must name a field; leave it out to be told of every write"))
		}
	}
	if p.garbled {
		more = []fault.FieldError{wrong("filter", fault.InvalidValue, "the query string does not decode: %% must be followed by two hexadecimal digits, and ; be sent as %%3B")}
	} else {
		l.Filter, more = filterOf(e, rawQuery, plain)
	}
	if faults = append(faults, more...); len(faults) > 0 {
		return l, fault.New(fault.InvalidQuery, "the channel of %s cannot be opened so: see errors", e.Name).With(faults...)
	}
	return l, nil
}

// filterOf reads a subscribe-time filter: by REST's own parser, over fields
// that the caller reads as they are and that may leave on a channel (channels
// contract, section 4.1).
func filterOf(e *schema.Entity, rawQuery string, allowed func(field int) bool) (*predicate.Tree, []fault.FieldError) {
	tree, err := predicate.ParseQuery(e, rawQuery, allowed)
	switch {
	case tree == nil && err == nil:
		return nil, nil
	case e.Realtime == nil || !e.Realtime.Filterable:
		return nil, []fault.FieldError{wrong("filter", fault.InvalidValue, "cannot be used: channels of %s take none (its schema has no realtime.filterable)", e.Name)}
	}
	if f, ok := fault.Of(err); ok {
		return nil, f.Errors
	}
	return tree, nil
}

// fieldsOf reads a list of names: trimmed, empty ones dropped. One that allowed
// refuses and one that is no field answer alike.
func fieldsOf(e *schema.Entity, text string, allowed func(field int) bool) (named []int, faults []fault.FieldError) {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		i, ok := e.Field(name)
		switch {
		case name == "":
		case ok && allowed(i):
			named = append(named, i)
		case len(faults) < maxFaults:
			faults = append(faults, wrong(clipped(name), fault.InvalidField, "is no field that you can be shown here"))
		}
	}
	return named, faults
}

// clipped keeps what was sent from filling an answer.
func clipped(text string) string {
	if len(text) <= clip {
		return text
	}
	return strings.ToValidUTF8(text[:clip], "") + "…"
}

func wrong(field string, code fault.Code, format string, args ...any) fault.FieldError {
	return fault.FieldError{Field: field, Code: string(code), Detail: fmt.Sprintf(format, args...)}
}
