package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script is a server in memory: its n-th connection is answered by the n-th
// function, all later ones by the last.
type script struct {
	answers []func(*http.Request) (*http.Response, error)
	resumed []string        // Last-Event-ID of each request
	at      []time.Duration // when each came
	queries []string
	auth    []string
	start   time.Time
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.start.IsZero() {
		s.start = time.Now()
	}
	answer := s.answers[min(len(s.at), len(s.answers)-1)]
	s.at = append(s.at, time.Since(s.start))
	s.resumed = append(s.resumed, req.Header.Get("Last-Event-ID"))
	s.queries = append(s.queries, req.URL.RequestURI())
	s.auth = append(s.auth, req.Header.Get("Authorization"))
	return answer(req)
}

// stream answers 200 with a body that ends after text.
func stream(text string) func(*http.Request) (*http.Response, error) {
	return respond(200, "text/event-stream", io.NopCloser(strings.NewReader(text)), nil)
}

// silent answers 200 with text and then says nothing until the request is cancelled.
func silent(text string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		context.AfterFunc(req.Context(), func() { _ = w.CloseWithError(req.Context().Err()) })
		return respond(200, "text/event-stream", struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(text), r), r}, nil)(req)
	}
}

func refuse(status int, body string, header http.Header) func(*http.Request) (*http.Response, error) {
	return respond(status, "application/problem+json", io.NopCloser(strings.NewReader(body)), header)
}

func respond(status int, contentType string, body io.ReadCloser, header http.Header) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {contentType}}
		for name, values := range header {
			h[name] = values
		}
		return &http.Response{StatusCode: status, Header: h, Body: body, Request: req}, nil
	}
}

func unreachable(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") }

const preamble = "retry: 2000\n: subscribed entity=order subscription=mine closing-in=30m0s\n\n"

func frameOf(id string) string {
	return "id: " + id + "\nevent: entity.create\ndata: {\"id\":\"" + id + "\",\"type\":\"entity.create\",\"entity\":\"order\",\"operation\":\"create\",\"subject\":\"row-" + id + "\"}\n\n"
}

func newStream(t *testing.T, s *script, subscription Subscription) *Stream {
	t.Helper()
	subscription.Entity = "order"
	c, err := New(Config{URL: "http://rowcast.test/base/", Token: "secret", HTTPClient: &http.Client{Transport: s, Timeout: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	return c.Stream(subscription)
}

var errEnough = errors.New("enough")

// collect runs the stream until it has n events.
func collect(t *testing.T, s *Stream, n int) []string {
	t.Helper()
	var ids []string
	err := s.Run(t.Context(), func(ev Event) error {
		ids = append(ids, ev.ID)
		if len(ids) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("Run ended with %v after %q", err, ids)
	}
	return ids
}

func wantEqual[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestAStreamResumesWhereItStood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){
			stream(preamble + frameOf("1") + frameOf("2")),
			stream(preamble + frameOf("3") + ": ping\nid: ~p\n\n: closing, reconnect\n\n"),
			stream(preamble + frameOf("4")[:20]), // cut inside a frame
			silent(preamble + frameOf("4")),
		}}
		got := collect(t, newStream(t, server, Subscription{LastEventID: "0"}), 4)
		wantEqual(t, "events", got, []string{"1", "2", "3", "4"})
		wantEqual(t, "Last-Event-ID of each connection", server.resumed, []string{"0", "2", "~p", "~p"})
		wantEqual(t, "connections, as the retry field says", server.at, []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second})
	})
}

func TestTheWaitDoublesUntilTheServerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){
			unreachable, unreachable, refuse(500, "", nil), unreachable, unreachable, unreachable, unreachable,
			stream(preamble), silent(preamble + frameOf("1")),
		}}
		collect(t, newStream(t, server, Subscription{}), 1)
		nominal := []time.Duration{2, 4, 8, 16, 30, 30, 30}
		for i, want := range nominal {
			want *= time.Second
			if got := server.at[i+1] - server.at[i]; got < want/2 || got > want {
				t.Errorf("wait %d: got %v, want between %v and %v", i+1, got, want/2, want)
			}
		}
		if got := server.at[8] - server.at[7]; got != 2*time.Second {
			t.Errorf("wait after a stream that had opened: got %v, want the retry field's 2s", got)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	for _, status := range []int{503, 429} {
		synctest.Test(t, func(t *testing.T) {
			server := &script{answers: []func(*http.Request) (*http.Response, error){
				refuse(status, `{"code":"unavailable"}`, http.Header{"Retry-After": {"17"}}), silent(frameOf("1")),
			}}
			collect(t, newStream(t, server, Subscription{}), 1)
			wantEqual(t, "the wait", server.at[1], 17*time.Second)
		})
	}
}

func TestARefusalEndsTheStreamWithItsProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){
			refuse(404, `{"title":"Not Found","code":"subscription_not_found","detail":"no subscription \"x\"","available":["mine","all"]}`, nil),
		}}
		err := newStream(t, server, Subscription{Name: "x"}).Run(t.Context(), func(Event) error { return nil })
		var problem *Problem
		if !errors.As(err, &problem) {
			t.Fatalf("got %v, want a *Problem", err)
		}
		wantEqual(t, "code", problem.Code, "subscription_not_found")
		wantEqual(t, "text", problem.Error(), `404: subscription_not_found: no subscription "x": available: mine, all`)
		wantEqual(t, "connections", len(server.at), 1)
	})
}

func TestASilentConnectionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){silent(preamble), silent(frameOf("1"))}}
		collect(t, newStream(t, server, Subscription{Heartbeat: 10 * time.Second}), 1)
		wantEqual(t, "the second connection: two heartbeats, five seconds and the wait", server.at[1], 27*time.Second)
	})
}

func TestASlowHandlerIsNotSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){silent(frameOf("1") + frameOf("2"))}}
		seen := 0
		err := newStream(t, server, Subscription{}).Run(t.Context(), func(Event) error {
			if seen++; seen == 2 {
				return errEnough
			}
			<-time.After(time.Hour)
			return nil
		})
		if !errors.Is(err, errEnough) || len(server.at) != 1 {
			t.Errorf("got %v after %d connections, want one", err, len(server.at))
		}
	})
}

func TestAnEventThatWasNotHandledIsNotPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream(t, &script{answers: []func(*http.Request) (*http.Response, error){stream(frameOf("1") + frameOf("2"))}}, Subscription{})
		err := s.Run(t.Context(), func(ev Event) error {
			if ev.ID == "2" {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Errorf("got %v, want the handler's error", err)
		}
		wantEqual(t, "position", s.Position(), "1")
	})
}

func TestAGapIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){
			silent(preamble + "id: ~here\nevent: stream.gap\ndata: {\"reason\":\"expired\",\"since\":\"0\"}\n\n"),
		}}
		s := newStream(t, server, Subscription{LastEventID: "0"})
		var got Event
		_ = s.Run(t.Context(), func(ev Event) error { got = ev; return errEnough })
		wantEqual(t, "event", got, Event{ID: "~here", Type: "stream.gap", Gap: &Gap{Reason: "expired", Since: "0"}, Raw: got.Raw})
	})
}

func TestSubscribeEndsWithTheLoopAndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){silent(frameOf("1") + frameOf("2"))}}
		c := newStream(t, server, Subscription{}).client
		for ev, err := range c.Subscribe(t.Context(), Subscription{Entity: "order"}) {
			if err != nil || ev.Subject != "row-1" {
				t.Fatalf("got %+v, %v", ev, err)
			}
			break
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var last error
		for _, err := range c.Subscribe(ctx, Subscription{Entity: "order"}) {
			last = err
		}
		if !errors.Is(last, context.DeadlineExceeded) {
			t.Errorf("got %v, want the cause of the context", last)
		}
	})
}

func TestWhatIsNotAStreamIsSaid(t *testing.T) {
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"a page":               respond(200, "text/html", io.NopCloser(strings.NewReader("<html>")), nil),
		"a frame without JSON": stream("id: 1\nevent: entity.create\ndata: hello\n\n"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := newStream(t, &script{answers: []func(*http.Request) (*http.Response, error){answer}}, Subscription{}).
					Run(t.Context(), func(Event) error { return nil })
				if err == nil || !strings.HasPrefix(err.Error(), "client: ") {
					t.Errorf("got %v, want an error that says what was not understood", err)
				}
			})
		})
	}
}

func TestTheRequestSaysWhatTheSubscriptionSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){silent(frameOf("1"))}}
		collect(t, newStream(t, server, Subscription{Name: "mine", Ops: []string{"create", "delete"}, Leave: true, Heartbeat: 90 * time.Second, Lifetime: time.Hour}), 1)
		wantEqual(t, "request", server.queries[0], "/base/subscribe/order?heartbeat=1m30s&leave=true&lifetime=1h0m0s&name=mine&ops=create%2Cdelete")
		wantEqual(t, "credential", server.auth[0], "Bearer secret")
	})
}
