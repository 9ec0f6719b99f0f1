package stream

import (
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

// parameters are the decoded query of a stream.
type parameters struct {
	name        string
	named       bool
	unclear     bool // which subscription is meant cannot be read
	ops         string
	narrowed    bool
	heartbeat   time.Duration
	lifetime    time.Duration
	leave       bool
	lastEventID string
}

// faultOf names the code that a bad value of a parameter has.
var faultOf = map[string]fault.Code{
	"name": fault.BadParameter, "ops": fault.BadOps, "heartbeat": fault.BadHeartbeat,
	"lifetime": fault.BadLifetime, "leave": fault.BadParameter, "lastEventId": fault.BadParameter,
}

// parseParameters reads the query. What can be read is, also where something
// else in it cannot, so that a wrong name is told before a wrong heartbeat.
func parseParameters(rawQuery string) (parameters, error) {
	p := parameters{heartbeat: defaultHeartbeat, lifetime: defaultLifetime}
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		p.unclear = true
		return p, fault.New(fault.BadParameter, "the query string does not decode; percent-encode what is not plain text")
	}
	p.unclear = len(query["name"]) > 1
	var first error
	for _, name := range sortedKeys(query) {
		if err := p.read(name, query[name]); err != nil && first == nil {
			first = err
		}
	}
	return p, first
}

func (p *parameters) read(name string, values []string) error {
	code, known := faultOf[name]
	switch {
	case !known:
		return withNames(fault.New(fault.BadParameter, "%q is no parameter of a stream", name))
	case len(values) > 1:
		return fault.New(code, "%s is given more than once", name)
	default:
		return p.set(name, values[0])
	}
}

func (p *parameters) set(name, text string) (err error) {
	switch name {
	case "name":
		p.name, p.named = text, true
	case "ops":
		p.ops, p.narrowed = text, true
	case "heartbeat":
		p.heartbeat, err = duration(fault.BadHeartbeat, name, text, minHeartbeat, maxHeartbeat)
	case "lifetime":
		p.lifetime, err = duration(fault.BadLifetime, name, text, minLifetime, maxLifetime)
	case "leave":
		if text != "true" && text != "false" {
			return fault.New(fault.BadParameter, "leave is true or false, not %q", text)
		}
		p.leave = text == "true"
	case "lastEventId":
		p.lastEventID = text
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

func withNames(f *fault.Fault) *fault.Fault {
	for name := range faultOf {
		f.Available = append(f.Available, name)
	}
	slices.Sort(f.Available)
	return f
}

func sortedKeys(q url.Values) []string {
	keys := make([]string, 0, len(q))
	for k := range q {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
