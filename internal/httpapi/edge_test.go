package httpapi_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
)

func TestWithoutACredentialEveryNameAnswersAlike(t *testing.T) {
	never := func(http.ResponseWriter, *http.Request, *access.Principal, bool) { t.Error("a stream was opened") }
	s := serve(t, httpapi.Config{
		Subscribe: never, Realtime: never,
		Routes: []httpapi.Route{
			{Method: "GET", Pattern: "/metrics", Guard: httpapi.Admin, Handler: ok},
			{Method: "GET", Pattern: "/admin/data/streams", Guard: httpapi.Admin, Handler: ok},
		},
	})
	var first string
	for _, path := range []string{
		"/data", "/data/", "/data/order", "/data/nothing", "/data/order/1", "/data/order/1/restore", "/data/order/1/2/3/4",
		"/data/transaction", "/data/order/bulk", "/d%61ta/order/1", "/data/a//b", "/data/order?limit=1000",
		"//data/order", "/subscribe", "/subscribe/", "/subscribe/order", "/subscribe/nothing", "/subscribe/order/more", "/realtime", "/realtime?channel=order",
		"/admin", "/admin/", "/admin/data/streams", "/admin/data/nothing", "/metrics", "/metrics/x",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			for _, credential := range []string{"", "nobody"} {
				got := ask{as: credential, method: method, path: path, body: "{"}.do(t, s)
				got.refused(t, 401, "unauthenticated")
				got.has(t, "WWW-Authenticate", `Bearer realm="rowcast"`)
				if credential != "" {
					continue
				}
				if first == "" {
					first = got.body
				}
				got.is(t, 401, first)
			}
		}
	}
}

func ok(w http.ResponseWriter, _ *http.Request, _ *access.Principal) error {
	_, err := w.Write([]byte("ok"))
	return err
}

func TestUnknownPathsAreAProblemAndNeverARedirect(t *testing.T) {
	s := serve(t, httpapi.Config{})
	for _, path := range []string{"/nothing", "/", "/x/../y", "//", "/x//y", "/session", "/healthz/"} {
		ask{method: "GET", path: path}.do(t, s).refused(t, 404, "route_not_found")
	}
	for _, path := range []string{"/data", "/data/", "/data/order/", "/data/order/1/", "/data/order//1", "/data//1", "/data/order/1/other", "/data/a/b/c/d", "/realtime"} {
		ask{as: "ann", method: "GET", path: path}.do(t, s).refused(t, 404, "route_not_found")
	}
	ask{as: "ann", method: "GET", path: "/admin/x"}.do(t, s).refused(t, 403, "forbidden")
	ask{as: "root", method: "GET", path: "/admin/x"}.do(t, s).refused(t, 404, "route_not_found")
}

func TestMethodsAPathDoesNotTake(t *testing.T) {
	s := serve(t, httpapi.Config{
		Cookie: "rowcast_session",
		Subscribe: func(w http.ResponseWriter, _ *http.Request, _ *access.Principal, _ bool) {
			w.WriteHeader(http.StatusOK)
		},
		Routes: []httpapi.Route{{Method: "GET", Pattern: "/healthz", Handler: ok}},
	})
	for path, allow := range map[string]string{
		"/data/order":           "DELETE, GET, HEAD, OPTIONS, PATCH, POST",
		"/data/order/1":         "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
		"/data/order/bulk":      "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT",
		"/data/order/1/restore": "OPTIONS, PATCH",
		"/data/order/1/purge":   "DELETE, OPTIONS",
		"/data/transaction":     "OPTIONS, POST",
		"/subscribe/order":      "GET, OPTIONS",
		"/session":              "DELETE, OPTIONS, POST",
		"/healthz":              "GET, HEAD, OPTIONS",
	} {
		got := ask{as: "ann", method: "TRACE", path: path}.do(t, s)
		got.refused(t, 405, "method_not_allowed")
		got.has(t, "Allow", allow)
		var p struct{ Available []string }
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || strings.Join(p.Available, ", ") != allow {
			t.Errorf("%s: available is %v (%v)", path, p.Available, err)
		}
		got = ask{as: "ann", method: "OPTIONS", path: path}.do(t, s)
		got.is(t, 204, "")
		got.has(t, "Allow", allow)
	}
	ask{method: "HEAD", path: "/healthz"}.do(t, s).is(t, 200, "")
	got := ask{as: "ann", method: "HEAD", path: "/subscribe/order"}.do(t, s)
	got.is(t, 405, "")
}

func TestEntitiesOfAnotherTenantAreUnknown(t *testing.T) {
	s := serve(t, httpapi.Config{})
	for _, a := range []ask{
		{method: "GET", path: "/data/order"}, {method: "POST", path: "/data/order", body: "{"}, {method: "PATCH", path: "/data/order", body: "{}"},
		{method: "DELETE", path: "/data/order"}, {method: "POST", path: "/data/order/bulk", body: "["}, {method: "GET", path: "/data/order/1?x=y"},
		{method: "PUT", path: "/data/order/1"}, {method: "PATCH", path: "/data/order/1"}, {method: "DELETE", path: "/data/order/1"},
		{method: "PATCH", path: "/data/order/1/restore"}, {method: "DELETE", path: "/data/order/1/purge"}, {method: "GET", path: "/data/or%2Fder"},
	} {
		a.as = "eve"
		a.do(t, s).refused(t, 404, "entity_not_found")
	}
}

func TestCORS(t *testing.T) {
	const friend = "https://app.example"
	s := serve(t, httpapi.Config{Origins: []string{friend}, Routes: []httpapi.Route{{Method: "GET", Pattern: "/healthz", Handler: ok}}})
	preflight := map[string]string{"Origin": friend, "Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization"}
	for _, path := range []string{"/data/order/1", "/data/nothing", "/nothing", "/admin/x"} {
		got := ask{method: "OPTIONS", path: path, headers: preflight}.do(t, s)
		got.is(t, 204, "")
		got.has(t, "Access-Control-Allow-Origin", friend)
		got.has(t, "Access-Control-Allow-Credentials", "true")
		got.has(t, "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
		got.has(t, "Vary", "Origin | Access-Control-Request-Method, Access-Control-Request-Headers")
		if allowed := got.header.Get("Access-Control-Allow-Headers"); !strings.Contains(allowed, "Last-Event-ID") || !strings.Contains(allowed, "Idempotency-Key") {
			t.Errorf("Access-Control-Allow-Headers is %q", allowed)
		}
	}
	for _, stranger := range []string{"https://evil.example", "http://app.example", "https://app.example:444", "https://app.example.evil", "null", "HTTPS://APP.EXAMPLE"} {
		preflight["Origin"] = stranger
		for _, a := range []ask{{method: "OPTIONS", path: "/data/order", headers: preflight}, {method: "GET", path: "/healthz", headers: map[string]string{"Origin": stranger}}} {
			got := a.do(t, s)
			got.has(t, "Access-Control-Allow-Origin", "")
			got.has(t, "Access-Control-Allow-Credentials", "")
			got.has(t, "Access-Control-Allow-Methods", "")
			if !strings.HasPrefix(got.header.Get("Vary"), "Origin") {
				t.Errorf("Vary is %q", got.header.Get("Vary"))
			}
		}
	}
	got := ask{method: "GET", path: "/data/order", headers: map[string]string{"Origin": friend}}.do(t, s)
	got.refused(t, 401, "unauthenticated") // a page must be able to read a refusal too
	got.has(t, "Access-Control-Allow-Origin", friend)
	got.has(t, "Access-Control-Expose-Headers", "ETag, Idempotent-Replayed, Location, Retry-After, X-Request-Id")
}

func TestCORSForAllIsWithoutCredentials(t *testing.T) {
	s := serve(t, httpapi.Config{Origins: []string{"*"}})
	got := ask{method: "OPTIONS", path: "/data/x", headers: map[string]string{"Origin": "https://any.example", "Access-Control-Request-Method": "GET"}}.do(t, s)
	got.has(t, "Access-Control-Allow-Origin", "*")
	got.has(t, "Access-Control-Allow-Credentials", "")
}

func TestAnOriginThatIsNoneIsRefused(t *testing.T) {
	for _, origin := range []string{"app.example", "https://app.example/path", ""} {
		if _, err := httpapi.New(httpapi.Config{Origins: []string{origin}}); err == nil || !strings.Contains(err.Error(), "cors.origins") {
			t.Errorf("%q: %v", origin, err)
		}
	}
}

func TestTheCookieNeitherWritesNorStreamsForAnotherSite(t *testing.T) {
	opens := func(w http.ResponseWriter, _ *http.Request, _ *access.Principal, _ bool) {
		w.WriteHeader(http.StatusOK)
	}
	s := serve(t, httpapi.Config{
		Origins: []string{"https://app.example"}, Cookie: "rowcast_session", Subscribe: opens, Realtime: opens,
	})
	self := s.URL
	for name, tc := range map[string]struct {
		headers map[string]string
		refused bool
	}{
		"a browser of another site":       {map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}, true},
		"a sister site":                   {map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "https://sister.example"}, true},
		"an old browser of another site":  {map[string]string{"Origin": "https://evil.example"}, true},
		"an opaque origin":                {map[string]string{"Origin": "null"}, true},
		"a trusted origin":                {map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://app.example"}, false},
		"a page of this origin":           {map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": self}, false},
		"an old browser of this origin":   {map[string]string{"Origin": self}, false},
		"an address typed by a person":    {map[string]string{"Sec-Fetch-Site": "none"}, false},
		"a program, which is no browser":  {nil, false},
		"another site, but with a header": {map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example", "Authorization": "Bearer ann"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			headers := map[string]string{"Cookie": "rowcast_session=ann"}
			for k, v := range tc.headers {
				headers[k] = v
			}
			for _, method := range []string{"POST", "PATCH", "DELETE"} {
				got := ask{method: method, path: "/data/order", headers: headers, body: "{}"}.do(t, s)
				if tc.refused {
					got.refused(t, 403, "cross_origin")
				} else {
					got.refused(t, 404, "entity_not_found")
				}
			}
			ask{method: "GET", path: "/data/order", headers: headers}.do(t, s).refused(t, 404, "entity_not_found")
			for _, path := range []string{"/subscribe/order", "/realtime?channel=order"} {
				if got := (ask{method: "GET", path: path, headers: headers}).do(t, s); tc.refused {
					got.refused(t, 403, "cross_origin")
				} else {
					got.is(t, 200)
				}
			}
		})
	}
}

func TestSession(t *testing.T) {
	for _, secure := range []bool{false, true} {
		s := serve(t, httpapi.Config{Cookie: "rowcast_session", Secure: secure})
		got := ask{method: "POST", path: "/session", body: `{"token":"ann"}`}.do(t, s)
		got.is(t, 204, "")
		got.has(t, "Cache-Control", "no-store")
		want := "rowcast_session=ann; Path=/; Expires=Wed, 02 Jan 2036 03:04:05 GMT; HttpOnly; SameSite=Lax"
		gone := "rowcast_session=; Path=/; Expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=0; HttpOnly; SameSite=Lax"
		if secure {
			want = strings.Replace(want, "HttpOnly; ", "HttpOnly; Secure; ", 1)
			gone = strings.Replace(gone, "HttpOnly; ", "HttpOnly; Secure; ", 1)
		}
		got.has(t, "Set-Cookie", want)
		got = ask{method: "DELETE", path: "/session"}.do(t, s)
		got.is(t, 204, "")
		got.has(t, "Set-Cookie", gone)
	}
}

func TestSessionRefusals(t *testing.T) {
	s := serve(t, httpapi.Config{Cookie: "rowcast_session"})
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{"token":"nobody"}`:     {401, "unauthenticated"},
		`{"token":""}`:           {401, "unauthenticated"},
		`{"token":null}`:         {400, "malformed_body"},
		`{"token":["ann"]}`:      {400, "malformed_body"},
		`{"token":"ann","x":1}`:  {400, "malformed_body"},
		`{}`:                     {400, "malformed_body"},
		`"ann"`:                  {400, "malformed_body"},
		`{"token":"ann"} {"a":1`: {400, "malformed_body"},
	} {
		got := ask{method: "POST", path: "/session", body: body}.do(t, s)
		got.refused(t, want.status, want.code)
		got.has(t, "Set-Cookie", "")
	}
	evil := map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
	ask{method: "POST", path: "/session", body: `{"token":"ann"}`, headers: evil}.do(t, s).refused(t, 403, "cross_origin")
	ask{method: "DELETE", path: "/session", headers: evil}.do(t, s).refused(t, 403, "cross_origin")
	ask{method: "POST", path: "/session?token=ann", body: `{"token":"ann"}`}.do(t, s).refused(t, 400, "bad_parameter")
	ask{method: "POST", path: "/session", body: `token=ann`, headers: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}}.do(t, s).
		refused(t, 415, "unsupported_media_type")
}

func TestDevAnswersOnlyLoopbackNames(t *testing.T) {
	s := serve(t, httpapi.Config{Dev: true, Routes: []httpapi.Route{{Method: "GET", Pattern: "/healthz", Handler: ok}}})
	for host, allowed := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST.": true, "app.localhost:1": true, "127.0.0.1:80": true, "127.9.9.9": true, "[::1]:8080": true, "[::1]": true,
		"evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "10.0.0.1": false, "127.0.0.1.evil.example": false, "[::2]": false, "0.0.0.0": false,
	} {
		got := ask{method: "GET", path: "/healthz", headers: map[string]string{"Host": host}}.do(t, s)
		if allowed {
			got.is(t, 200, "ok")
		} else {
			got.refused(t, 403, "cross_origin")
		}
	}
}

func TestRequestIDsAndTraces(t *testing.T) {
	var log syncBuffer
	s := serve(t, httpapi.Config{
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Routes: []httpapi.Route{{Method: "GET", Pattern: "/fails", Handler: func(http.ResponseWriter, *http.Request, *access.Principal) error {
			return errors.New("the disk is full")
		}}},
	})
	const trace = "0af7651916cd43dd8448eb211c80319c"
	got := ask{method: "GET", path: "/fails?token=s3cret", headers: map[string]string{
		"X-Request-Id": "mine-1", "Traceparent": "00-" + trace + "-b7ad6b7169203331-01", "Authorization": "Bearer s3cret",
	}}.do(t, s)
	got.refused(t, 500, "internal")
	got.has(t, "X-Request-Id", "mine-1")
	line := log.String()
	for _, want := range []string{"level=ERROR", "request=mine-1", "trace=" + trace, "path=/fails", "status=500", "the disk is full"} {
		if !strings.Contains(line, want) {
			t.Errorf("the log lacks %q: %s", want, line)
		}
	}
	if strings.Contains(line, "s3cret") {
		t.Errorf("the log has a token: %s", line)
	}
	for _, bad := range []string{"a b", "a\tb", strings.Repeat("x", 129), "<script>", "é"} {
		got := ask{method: "GET", path: "/fails", headers: map[string]string{"X-Request-Id": bad}}.do(t, s)
		if id := got.header.Get("X-Request-Id"); id == bad || len(id) < 16 {
			t.Errorf("%q became %q", bad, id)
		}
	}
	for _, bad := range []string{"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", "ff-" + trace + "-b7ad6b7169203331-01", "00-" + trace, "00-" + trace + "-b7ad6b7169203331-01-x", "00-" + strings.ToUpper(trace) + "-b7ad6b7169203331-01"} {
		log.Reset()
		ask{method: "GET", path: "/fails", headers: map[string]string{"Traceparent": bad}}.do(t, s)
		if strings.Contains(log.String(), "trace=") {
			t.Errorf("%q was taken for a trace", bad)
		}
	}
}

// syncBuffer is written by the server's goroutine and read by the test's.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (s *syncBuffer) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b.Reset()
}

func TestAPanicIsA500AndHarmsNoOther(t *testing.T) {
	var log syncBuffer
	s := serve(t, httpapi.Config{
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Subscribe: func(w http.ResponseWriter, _ *http.Request, _ *access.Principal, _ bool) {
			w.WriteHeader(http.StatusOK)
			panic("in a stream")
		},
		Routes: []httpapi.Route{
			{Method: "GET", Pattern: "/before", Handler: func(http.ResponseWriter, *http.Request, *access.Principal) error { panic("no luck") }},
			{Method: "GET", Pattern: "/midway", Handler: func(w http.ResponseWriter, _ *http.Request, _ *access.Principal) error {
				_, _ = w.Write([]byte("half"))
				panic("no luck")
			}},
		},
	})
	got := ask{method: "GET", path: "/before"}.do(t, s)
	got.refused(t, 500, "internal")
	if strings.Contains(got.body, "luck") {
		t.Errorf("the panic is shown: %s", got.body)
	}
	if line := log.String(); !strings.Contains(line, "no luck") || !strings.Contains(line, "edge_test.go") {
		t.Errorf("the log lacks the panic and its place: %s", line)
	}
	for _, path := range []string{"/midway", "/subscribe/order"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer ann")
		if resp, err := s.Client().Do(r); err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s: a response cut off by a panic looks whole: %d", path, resp.StatusCode)
		}
	}
	ask{method: "GET", path: "/before"}.do(t, s).refused(t, 500, "internal")
}

func TestAStreamHasTheConnectionItself(t *testing.T) {
	done := make(chan error, 1)
	s := serve(t, httpapi.Config{Subscribe: func(w http.ResponseWriter, r *http.Request, p *access.Principal, fromCookie bool) {
		c := http.NewResponseController(w)
		_, wrapped := w.(interface{ Unwrap() http.ResponseWriter })
		err := errors.Join(c.SetWriteDeadline(time.Now().Add(time.Minute)), c.Flush(), c.SetWriteDeadline(time.Time{}))
		if wrapped || !fromCookie || p.ID != "ann" || r.PathValue("entity") != "or/der" || err != nil {
			err = fmt.Errorf("wrapped %v, cookie %v, principal %v, entity %q: %w", wrapped, fromCookie, p, r.PathValue("entity"), err)
		}
		done <- err
	}})
	ask{method: "GET", path: "/subscribe/or%2Fder", headers: map[string]string{"Cookie": "rowcast_session=ann"}}.do(t, s).is(t, 200)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTheConnectionIsReachedThroughTheWrapper(t *testing.T) {
	s := serve(t, httpapi.Config{Routes: []httpapi.Route{{Method: "GET", Pattern: "/x", Handler: func(w http.ResponseWriter, _ *http.Request, _ *access.Principal) error {
		c := http.NewResponseController(w)
		return errors.Join(c.SetWriteDeadline(time.Now().Add(time.Minute)), c.Flush())
	}}}})
	ask{method: "GET", path: "/x"}.do(t, s).is(t, 200)
}

func TestRequestsAreMeasuredByRouteAndStreamsAreNot(t *testing.T) {
	type sample struct {
		tenant, route, method string
		status                int
	}
	seen := make(chan sample, 16)
	api, err := httpapi.New(httpapi.Config{
		Auth: everybody, Tenants: units{}, Logger: slog.New(slog.DiscardHandler),
		Subscribe: func(http.ResponseWriter, *http.Request, *access.Principal, bool) {},
		Observe: func(f httpapi.Finished) {
			if f.Took <= 0 {
				t.Errorf("%s took %s", f.Route, f.Took)
			}
			seen <- sample{f.Tenant, f.Route, f.Method, f.Status}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		method, path string
		want         sample
	}{
		{"GET", "/subscribe/order", sample{}},
		{"GET", "/data/order/1", sample{tenant, "/data/{entity}/{id}", "GET", 404}},
		{"BREW", "/data/transaction", sample{tenant, "/data/transaction", "other", 405}},
		{"PATCH", "/data/order/1/restore", sample{tenant, "/data/{entity}/{id}/restore", "PATCH", 404}},
		{"GET", "/some/path/17", sample{"", "none", "GET", 404}},
	} {
		r := httptest.NewRequestWithContext(t.Context(), tc.method, tc.path, nil)
		r.Header.Set("Authorization", "Bearer ann")
		api.ServeHTTP(httptest.NewRecorder(), r)
		if tc.want == (sample{}) {
			continue
		}
		if got := <-seen; got != tc.want {
			t.Errorf("got %v, want %v", got, tc.want)
		}
	}
}

func TestRoutesThatCannotStandTogetherAreRefused(t *testing.T) {
	for name, routes := range map[string][]httpapi.Route{
		"twice":     {{Method: "GET", Pattern: "/x", Handler: ok}, {Method: "GET", Pattern: "/x", Handler: ok}},
		"guards":    {{Method: "GET", Pattern: "/x", Handler: ok}, {Method: "PUT", Pattern: "/x", Guard: httpapi.Admin, Handler: ok}},
		"catch-all": {{Method: "GET", Pattern: "/", Handler: ok}},
	} {
		if _, err := httpapi.New(httpapi.Config{Routes: routes}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
