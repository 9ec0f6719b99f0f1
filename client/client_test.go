package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve returns a client of a real server on loopback.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := New(Config{URL: server.URL, Token: "secret", HTTPClient: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// logAfter is what a server with three events sends to who has seen some.
func logAfter(lastEventID string) string {
	seen, _ := strconv.Atoi(lastEventID)
	text := "retry: 1\n: subscribed\n\n"
	for i := seen + 1; i <= 3; i++ {
		text += frameOf(strconv.Itoa(i)) + ": ping\nid: " + strconv.Itoa(i) + "\n\n"
	}
	return text
}

// TestACutAtAnyByteLosesNothing cuts the first connection after each byte of
// the stream in turn; the client must still see every event once, in order.
func TestACutAtAnyByteLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for cut := range len(logAfter("")) {
			server := &script{answers: []func(*http.Request) (*http.Response, error){
				stream(logAfter("")[:cut]),
				func(r *http.Request) (*http.Response, error) {
					return silent(logAfter(r.Header.Get("Last-Event-ID")))(r)
				},
			}}
			got := collect(t, newStream(t, server, Subscription{}), 3)
			if want := []string{"1", "2", "3"}; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("cut after byte %d: got %q, want %q", cut, got, want)
			}
		}
	})
}

// TestACutSocketLosesNothing does the same at some bytes on real sockets, where
// the end is an error of the chunked body.
func TestACutSocketLosesNothing(t *testing.T) {
	for cut := len("retry: 1\n"); cut < len(logAfter("")); cut += 23 {
		var connections atomic.Int32
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			text := logAfter(r.Header.Get("Last-Event-ID"))
			if connections.Add(1) == 1 {
				text = text[:cut]
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, text)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		})
		got := collect(t, c.Stream(Subscription{Entity: "order"}), 3)
		if want := []string{"1", "2", "3"}; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("cut after byte %d: got %q, want %q", cut, got, want)
		}
	}
}

func TestRowsAreWrittenAndReadByTheRoutes(t *testing.T) {
	var got string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.TrimSpace(r.Method + " " + r.RequestURI + " " + string(body))
		if r.Header.Get("Authorization") != "Bearer secret" || len(body) > 0 && r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("headers %v", r.Header)
		}
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
		case r.URL.Path == "/data/order" && r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"items":[{"id":"1"}],"limit":20,"offset":0,"total":null,"next":"c"}`)
		default:
			_, _ = io.WriteString(w, `{"id":"1"}`)
		}
	})
	row := map[string]string{"title": "first"}
	for want, call := range map[string]func(context.Context) (json.RawMessage, error){
		`POST /data/order {"title":"first"}`:    func(ctx context.Context) (json.RawMessage, error) { return c.Create(ctx, "order", row) },
		`GET /data/order/a%2Fb%25%3F`:           func(ctx context.Context) (json.RawMessage, error) { return c.Get(ctx, "order", "a/b%?") },
		`GET /data/order/%2E%2E`:                func(ctx context.Context) (json.RawMessage, error) { return c.Get(ctx, "order", "..") },
		`PATCH /data/order/1 {"title":"first"}`: func(ctx context.Context) (json.RawMessage, error) { return c.Patch(ctx, "order", "1", row) },
		`PUT /data/order/1 {"title":"first"}`:   func(ctx context.Context) (json.RawMessage, error) { return c.Replace(ctx, "order", "1", row) },
		`DELETE /data/order/1`:                  func(ctx context.Context) (json.RawMessage, error) { return nil, c.Delete(ctx, "order", "1") },
		`GET /data/order?sort=-total`: func(ctx context.Context) (json.RawMessage, error) {
			page, err := c.List(ctx, "order", url.Values{"sort": {"-total"}})
			if err == nil && (len(page.Items) != 1 || page.Next != "c" || page.Total != nil) {
				t.Errorf("page %+v", page)
			}
			return nil, err
		},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := call(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantEqual(t, "request", got, want)
		})
	}
}

func TestDecodeGivesATypedRowOrTheError(t *testing.T) {
	type order struct{ ID string }
	got, err := Decode[order](json.RawMessage(`{"id":"1"}`), nil)
	if err != nil || got.ID != "1" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Decode[order](nil, errEnough); !errors.Is(err, errEnough) {
		t.Errorf("got %v, want the call's error", err)
	}
	if _, err := Decode[order](json.RawMessage(`[]`), nil); err == nil {
		t.Error("a list became an order")
	}
}

func TestARefusedCallIsAProblem(t *testing.T) {
	for name, test := range map[string]struct {
		status     int
		body, want string
	}{
		"a problem":              {422, `{"title":"x","code":"invalid","detail":"2 fields","errors":[{"field":"title","code":"required"}]}`, "422: invalid: 2 fields: title required"},
		"a proxy's page":         {502, "<html>bad gateway\n</html>", "502: <html>bad gateway"},
		"an empty body":          {403, "", "403: Forbidden"},
		"JSON without a code":    {400, `{"error":"x"}`, `400: {"error":"x"}`},
		"a body that is no text": {500, "\xff\xfe", "500: ?"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			_, err := c.Get(t.Context(), "order", "1")
			var problem *Problem
			if !errors.As(err, &problem) || problem.Status != test.status {
				t.Fatalf("got %v, want a *Problem of %d", err, test.status)
			}
			wantEqual(t, "text", problem.Error(), test.want)
		})
	}
}

func TestNewSaysWhatIsWrongWithTheURL(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://", "http://u:pw@host", "http://host?x=1", "http://host/#f", "http://[::1"} {
		_, err := New(Config{URL: address})
		if err == nil {
			t.Errorf("URL %q was taken", address)
		} else if strings.Contains(err.Error(), "pw") {
			t.Errorf("URL %q: the error tells the password: %v", address, err)
		}
	}
}

func TestTheTokenSourceIsAskedForEachConnection(t *testing.T) {
	server := &script{answers: []func(*http.Request) (*http.Response, error){stream("retry: 0\n\n"), silent(frameOf("1"))}}
	calls := 0
	c, err := New(Config{URL: "http://rowcast.test", Token: "old", HTTPClient: &http.Client{Transport: server}, TokenSource: func(context.Context) (string, error) {
		calls++
		return "t" + strconv.Itoa(calls), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	collect(t, c.Stream(Subscription{Entity: "order"}), 1)
	wantEqual(t, "credentials", server.auth, []string{"Bearer t1", "Bearer t2"})
}
