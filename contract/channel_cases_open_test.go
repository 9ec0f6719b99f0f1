package contract

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// openExpectation is what the answer to one request to /realtime must be.
type openExpectation struct {
	Status         int
	Code           string
	Errors         []caseError
	Headers        map[string]string
	Keys, Mentions []string
	Preamble       *struct {
		Retry   int
		Comment []string
	}
	PingWithin   string `json:"ping_within"`
	ClosesWithin string `json:"closes_within"`
}

type caseError struct{ Field, Code string }

// opens runs a case of one request.
func (all *channelCases) opens(s *servertest.Server, t *testing.T, c channelLine) {
	var want openExpectation
	if err := json.Unmarshal(c.Expect, &want); err != nil {
		t.Fatal(err)
	}
	caller, path := all.caller(s, c.Open.As, c.Open.Headers), "/realtime?"+c.Open.Query
	var stream *servertest.Stream
	var answer *servertest.Answer
	if c.Open.Method != "" {
		answer = caller.Do(c.Open.Method, path, "")
	} else {
		stream, answer = caller.Knock(path)
	}
	if (stream != nil) != (want.Status == 200) {
		t.Fatalf("want %d, got %+v", want.Status, answer)
	}
	if stream != nil {
		want.opened(t, stream)
	} else {
		want.refused(t, answer)
	}
}

// opened holds a stream to what is said of its beginning. How long it may take is
// the streams' own patience: a slow machine is no fault of the server's.
func (want openExpectation) opened(t *testing.T, stream *servertest.Stream) {
	for name, v := range want.Headers {
		if got := stream.Header.Get(name); got != v {
			t.Errorf("%s: %q, want %q", name, got, v)
		}
	}
	first := stream.Next().Raw
	retry, comment, _ := strings.Cut(first, "\n")
	if retry != "retry: 2000" || !strings.HasPrefix(comment, ": subscribed ") {
		t.Errorf("begins with %q", first)
	}
	if want.Preamble != nil && want.Preamble.Retry != 2000 {
		t.Errorf("another retry: %d", want.Preamble.Retry)
	}
	if want.Preamble != nil {
		for _, text := range want.Preamble.Comment {
			if !strings.Contains(comment, text) {
				t.Errorf("the preamble %q does not say %q", comment, text)
			}
		}
	}
	if want.PingWithin != "" {
		stream.Ping()
	}
	if want.ClosesWithin != "" {
		rest := stream.End()
		if len(rest) == 0 || rest[len(rest)-1].Raw != ": closing, reconnect\n" {
			t.Errorf("ends with %q", rest)
		}
	}
}

func (want openExpectation) refused(t *testing.T, a *servertest.Answer) {
	var p servertest.Problem
	if want.Code != "" {
		p = a.Problem(want.Status, want.Code)
	} else {
		p = a.Problem(want.Status, a.Code())
	}
	for name, v := range want.Headers {
		if got := a.Header.Get(name); got != v {
			t.Errorf("%s: %q, want %q", name, got, v)
		}
	}
	keys := a.JSON()
	for _, key := range want.Keys {
		if _, ok := keys[key]; !ok {
			t.Errorf("no %s in %s", key, a.Body)
		}
	}
	for _, text := range want.Mentions {
		if !strings.Contains(a.Body, text) {
			t.Errorf("%q is not mentioned in %s", text, a.Body)
		}
	}
	if want.Errors != nil && !sameErrors(p, want.Errors) {
		t.Errorf("errors %v, want %v", p.Errors, want.Errors)
	}
}

// sameErrors compares as sets.
func sameErrors(p servertest.Problem, want []caseError) bool {
	var got []caseError
	for _, e := range p.Errors {
		got = append(got, caseError{e.Field, e.Code})
	}
	among := func(all []caseError) func(caseError) bool {
		return func(e caseError) bool { return slices.Contains(all, e) }
	}
	none := func(some []caseError, of func(caseError) bool) bool {
		return !slices.ContainsFunc(some, func(e caseError) bool { return !of(e) })
	}
	return none(got, among(want)) && none(want, among(got))
}
