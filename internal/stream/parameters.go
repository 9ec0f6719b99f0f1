package stream

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/schema"
)

// The ranges of the parameters (contract: The route). Out of range is an error, never a clamp.
const (
	defaultHeartbeat = 25 * time.Second
	minHeartbeat     = time.Second
	maxHeartbeat     = 5 * time.Minute
	defaultLifetime  = 30 * time.Minute
	minLifetime      = time.Second
	maxLifetime      = 4 * time.Hour
)

// settings are the parameters that every stream takes.
type settings struct {
	heartbeat   time.Duration
	lifetime    time.Duration
	leave       bool
	lastEventID string
}

func defaults() settings { return settings{heartbeat: defaultHeartbeat, lifetime: defaultLifetime} }

// parameters are the decoded query of a stream of a declared subscription.
type parameters struct {
	settings
	name     string
	named    bool
	unclear  bool // which subscription is meant cannot be read
	ops      string
	narrowed bool
}

// faultOf names the code that a bad value of a parameter has.
var faultOf = map[string]fault.Code{
	"name": fault.BadParameter, "ops": fault.BadOps, "heartbeat": fault.BadHeartbeat,
	"lifetime": fault.BadLifetime, "leave": fault.BadParameter, "lastEventId": fault.BadParameter,
}

// parseParameters reads the query. What can be read is, also where something
// else in it cannot, so that a wrong name is told before a wrong heartbeat.
func parseParameters(rawQuery string) (parameters, error) {
	p := parameters{settings: defaults()}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		p.unclear = true
		return p, fault.New(fault.BadParameter, "the query string does not decode; percent-encode what is not plain text")
	}
	p.unclear = len(query["name"]) > 1
	err = readAll(query, faultOf, p.set)
	return p, err
}

// readAll hands each parameter to set, and returns the first fault in the order
// of their names. codes has the parameters that there are.
func readAll(query url.Values, codes map[string]fault.Code, set func(name, text string) error) (first error) {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		code, known := codes[name]
		var err error
		switch {
		case !known:
			f := fault.New(fault.BadParameter, "%q is no parameter of a stream", name)
			f.Available = slices.Sorted(maps.Keys(codes))
			err = f
		case len(query[name]) > 1:
			err = fault.New(code, "%s is given more than once", name)
		default:
			err = set(name, query[name][0])
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (p *parameters) set(name, text string) error {
	switch name {
	case "name":
		p.name, p.named = text, true
	case "ops":
		p.ops, p.narrowed = text, true
	default:
		return p.settings.set(name, text)
	}
	return nil
}

func (s *settings) set(name, text string) (err error) {
	switch name {
	case "heartbeat":
		s.heartbeat, err = duration(fault.BadHeartbeat, name, text, minHeartbeat, maxHeartbeat)
	case "lifetime":
		s.lifetime, err = duration(fault.BadLifetime, name, text, minLifetime, maxLifetime)
	case "leave":
		if text != "true" && text != "false" {
			return fault.New(fault.BadParameter, "leave is true or false, not %q", text)
		}
		s.leave = text == "true"
	case "lastEventId":
		s.lastEventID = text
	}
	return err
}

func duration(code fault.Code, name, text string, lo, hi time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fault.New(code, "%s is a duration such as 30s or 5m, not %q", name, text)
	}
	if d < lo || d > hi {
		return 0, fault.New(code, "%s is from %s to %s; %s is outside", name, lo, hi, text)
	}
	return d, nil
}

var opNames = []struct {
	name string
	op   schema.Op
}{{"create", schema.Create}, {"update", schema.Update}, {"delete", schema.Delete}}

// narrow reads ops, which may leave out what a subscription declares and never
// add to it.
func narrow(declared schema.OpSet, text string) (schema.OpSet, error) {
	var set schema.OpSet
	for _, name := range strings.Split(text, ",") {
		op, ok := opNamed(name)
		if !ok || !declared.Has(op) {
			f := fault.New(fault.BadOps, "%q is no operation of this subscription", name)
			f.Available = namesOf(declared)
			return 0, f
		}
		set |= schema.OpSet(op)
	}
	return set, nil
}

func opNamed(name string) (schema.Op, bool) {
	for _, o := range opNames {
		if o.name == name {
			return o.op, true
		}
	}
	return 0, false
}

func namesOf(set schema.OpSet) []string {
	var names []string
	for _, o := range opNames {
		if set.Has(o.op) {
			names = append(names, o.name)
		}
	}
	return names
}
