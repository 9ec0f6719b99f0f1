package contract

import (
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rowcast/rowcast/internal/servertest"
	"time"
)

// The route: every row of the table of refusals, and what it names.
func TestRefusals(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	for _, c := range []struct {
		name, path, code string
		status           int
		available        []string
	}{
		{"no such entity", "/subscribe/nothing", "entity_not_found", 404, nil},
		{"an entity without subscriptions", "/subscribe/quiet", "no_subscription_declared", 404, nil},
		{"an entity without subscriptions, one named", "/subscribe/quiet?name=x", "no_subscription_declared", 404, nil},
		{"no such subscription", "/subscribe/bell?name=x", "subscription_not_found", 404, []string{"rings"}},
		{"no such subscription among several", "/subscribe/product?name=x", "subscription_not_found", 404,
			[]string{"changes", "rows", "own", "dear", "arrivals", "writes"}},
		{"several and none named", "/subscribe/product", "subscription_ambiguous", 400,
			[]string{"changes", "rows", "own", "dear", "arrivals", "writes"}},
		{"unknown operation", "/subscribe/bell?ops=read", "bad_ops", 400, []string{"create", "update", "delete"}},
		{"operation the subscription leaves out", "/subscribe/product?name=writes&ops=delete", "bad_ops", 400, []string{"create", "update"}},
		{"no operation", "/subscribe/bell?ops=", "bad_ops", 400, nil},
		{"leave without update", "/subscribe/bell?ops=create&leave=true", "bad_ops", 400, nil},
		{"heartbeat below", "/subscribe/bell?heartbeat=500ms", "bad_heartbeat", 400, nil},
		{"heartbeat above", "/subscribe/bell?heartbeat=6m", "bad_heartbeat", 400, nil},
		{"heartbeat without unit", "/subscribe/bell?heartbeat=25", "bad_heartbeat", 400, nil},
		{"lifetime below", "/subscribe/bell?lifetime=10ms", "bad_lifetime", 400, nil},
		{"lifetime above", "/subscribe/bell?lifetime=4h1s", "bad_lifetime", 400, nil},
		{"unknown parameter", "/subscribe/bell?beat=1s", "bad_parameter", 400, nil},
		{"a name given twice", "/subscribe/product?name=rows&name=own", "bad_parameter", 400, nil},
		{"a query that does not decode", "/subscribe/product?name=rows&x=%zz", "bad_parameter", 400, nil},
		{"caller cannot read", "/subscribe/diary", "forbidden", 403, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := ann.Get(c.path).Problem(c.status, c.code)
			if c.available != nil && !slices.Equal(p.Available, c.available) {
				t.Errorf("available: %v, want %v", p.Available, c.available)
			}
			if p.Detail == "" || p.Title == "" {
				t.Errorf("says too little: %+v", p)
			}
		})
	}
}

// The route: a caller whom REST refuses cannot open a stream, and a credential
// is judged before anything is looked up: without one every name is 401.
func TestConnectingIsARead(t *testing.T) {
	s := start(t)
	s.User("ann").Get("/data/diary").Problem(403, "forbidden")
	s.User("sue", "staff").Open("/subscribe/diary")
	expired := s.Sign(jwt.MapClaims{"sub": "ann", "tenant": servertest.Tenant, "exp": time.Now().Add(-time.Hour).Unix()})
	for name, token := range map[string]string{"none": "", "rubbish": "x", "expired": expired} {
		for _, path := range []string{"/subscribe/bell", "/subscribe/diary", "/subscribe/nothing", "/subscribe/bell?ops=x"} {
			t.Run(name+" "+path, func(t *testing.T) {
				a := s.As(token).Get(path)
				a.Problem(401, "unauthenticated")
				if a.Header.Get("WWW-Authenticate") == "" {
					t.Error("401 without WWW-Authenticate")
				}
			})
		}
	}
}

// The route: a stream is opened by GET alone.
func TestOtherMethodsAreRefused(t *testing.T) {
	s := start(t)
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		s.User("ann").Do(method, "/subscribe/bell", "").Problem(405, "method_not_allowed")
	}
	if got := s.User("ann").Do("HEAD", "/subscribe/bell", "").Status; got != 405 {
		t.Errorf("HEAD: %d, want 405", got)
	}
}

// The route: the only subscription needs no name; ops narrows it.
func TestOpsNarrow(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	all, narrowed := ann.Open("/subscribe/bell"), ann.Open("/subscribe/bell?ops=delete,update")
	ann.Post("/data/bell", `{"id":"b","text":"x"}`).Is(201)
	ann.Patch("/data/bell/b", `{"text":"y"}`).Is(200)
	ann.Delete("/data/bell/b").Is(204)
	for _, want := range []string{"entity.create", "entity.update", "entity.delete"} {
		if got := all.Frame().Event; got != want {
			t.Errorf("all: got %s, want %s", got, want)
		}
	}
	for _, want := range []string{"entity.update", "entity.delete"} {
		if got := narrowed.Frame().Event; got != want {
			t.Errorf("narrowed: got %s, want %s", got, want)
		}
	}
}

// Response headers: every row of the table.
func TestResponseHeaders(t *testing.T) {
	s := start(t)
	stream := s.User("ann").Open("/subscribe/bell")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "Connection": "keep-alive", "X-Accel-Buffering": "no",
	} {
		if got := stream.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := stream.Header.Get("Content-Encoding"); got != "" {
		t.Errorf("a stream is compressed: %s", got)
	}
}

// The route: the lifetime ends the stream, with the comment that says so; the
// preamble says when. Beyond the contract: a token that expires earlier ends it.
func TestLifetime(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	short := ann.Connect("/subscribe/bell?lifetime=1s")
	if got, want := short.Next().Raw, "retry: 2000\n: subscribed entity=bell subscription=rings closing-in=1s\n"; got != want {
		t.Errorf("preamble:\n got %q\nwant %q", got, want)
	}
	short.Ping()
	if rest := short.End(); len(rest) != 1 || rest[0].Raw != ": closing, reconnect\n" {
		t.Errorf("ends with %q", rest)
	}
	usual := ann.Connect("/subscribe/bell")
	if got := usual.Next().Raw; !strings.HasSuffix(got, " closing-in=30m0s\n") {
		t.Errorf("preamble %q", got)
	}
	dying := s.Sign(jwt.MapClaims{"sub": "ann", "tenant": servertest.Tenant, "exp": time.Now().Add(3 * time.Second).Unix()})
	bound := s.As(dying).Connect("/subscribe/bell")
	if got := bound.Next().Raw; !strings.Contains(got, "closing-in=1s") && !strings.Contains(got, "closing-in=2s") {
		t.Errorf("a token with seconds to live opens a stream with %q", got)
	}
	bound.Ping()
	if rest := bound.End(); len(rest) != 1 || rest[0].Raw != ": closing, reconnect\n" {
		t.Errorf("ends with %q", rest)
	}
}

// The route: a heartbeat comes at the asked interval. Beyond the contract it
// carries a position, so that a client resumes from where it has read to, and
// the first one comes at once, so that it can from the start.
func TestHeartbeat(t *testing.T) {
	s := start(t)
	ann := s.User("ann")
	stream := ann.Open("/subscribe/bell?heartbeat=1s")
	first, second := stream.Ping(), stream.Ping()
	for _, b := range []servertest.Block{first, second} {
		if !strings.HasPrefix(b.Raw, ": ping\nid: ~") || strings.Count(b.Raw, "\n") != 2 {
			t.Errorf("heartbeat %q", b.Raw)
		}
	}
	if first.ID == second.ID {
		t.Error("two heartbeats bear the same bookmark")
	}
	ann.Post("/data/bell", `{"id":"b"}`).Is(201)
	if got := ann.Resume("/subscribe/bell", first.ID).Frame().Subject(); got != "b" {
		t.Errorf("resumed from a heartbeat: got row %q, want b", got)
	}
}
