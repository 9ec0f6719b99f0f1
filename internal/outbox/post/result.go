package post

import (
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Class is what becomes of a delivery after an attempt (C1: Your answer).
type Class uint8

// The classes.
const (
	Accepted Class = 1 + iota // any 2xx: it is done
	Retry                     // 408, 429, all but 2xx and 4xx, and no answer: later again
	Refuse                    // any other 4xx: it waits for an operator
)

// String returns accepted, retry or refuse.
func (c Class) String() string {
	switch c {
	case Accepted:
		return "accepted"
	case Retry:
		return "retry"
	case Refuse:
		return "refuse"
	default:
		return "class " + strconv.Itoa(int(c))
	}
}

// Result is what an attempt came to.
type Result struct {
	Class      Class
	Status     int           // 0: no answer
	Error      string        // for a person, at most 300 bytes; "" when accepted
	Took       time.Duration // to the end of what was read of the answer
	At         time.Time     // of the start, UTC, microseconds
	RetryAfter time.Duration // what the receiver wishes, at most a year; 0: nothing
	// Alive reports whether the receiver answered as one that works: 2xx, or a 4xx
	// other than 408 and 429.
	Alive bool
}

// classify is the table of what answers mean.
func classify(status int) Class {
	switch {
	case status >= 200 && status <= 299:
		return Accepted
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return Retry
	case status >= 400 && status <= 499:
		return Refuse
	default:
		return Retry
	}
}

// judge fills in what an answer's head says.
func (r *Result) judge(status int, h http.Header, now time.Time) {
	r.Status = status
	r.Class = classify(status)
	r.Alive = r.Class != Retry
	r.Error = ""
	if r.Class == Accepted {
		return
	}
	r.Error = printable(describe(status, h.Get("Location")), maxError)
	if r.Class == Retry {
		r.RetryAfter = retryAfter(h.Get("Retry-After"), now)
	}
}

// describe says what a status that is no 2xx means; the receiver's own words are
// not repeated, they may echo the request.
func describe(status int, location string) string {
	text := strconv.Itoa(status)
	if name := http.StatusText(status); name != "" {
		text += " " + name
	}
	switch {
	case status >= 300 && status <= 399 && location != "":
		return text + ": redirects are not followed; it leads to " + place(location)
	case status >= 300 && status <= 399:
		return text + ": redirects are not followed"
	case status >= 100 && status <= 199:
		return text + ": not an answer that can end a request"
	default:
		return text
	}
}

// place names where a redirect leads: without userinfo, and without the query,
// which often is that of the target's own URL.
func place(location string) string {
	u, err := url.Parse(location)
	if err != nil {
		return "a place that is no URL"
	}
	named := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}
	if u.Opaque != "" {
		return printable(u.Scheme+":…", maxPlace)
	}
	return printable(named.String(), maxPlace)
}
