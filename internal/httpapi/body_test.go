package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
)

// raw sends bytes as they stand, then says no more, and returns the answer.
func raw(t *testing.T, address, request string) answer {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

func TestBodiesThatDoNotArriveWhole(t *testing.T) {
	w := world(t, httpapi.Config{Limits: httpapi.Limits{Body: 1000, BodyTime: time.Minute}})
	head := "POST /data/item HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\n"
	for name, tc := range map[string]struct {
		request string
		status  int
		code    string
	}{
		"shorter than announced":   {"Content-Length: 100\r\n\r\n{\"id\":\"a\"}", 400, "malformed_body"},
		"chunks without an end":    {"Transfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"", 400, "malformed_body"},
		"no body at all":           {"\r\n", 400, "malformed_body"},
		"announced too large":      {"Content-Length: 1001\r\n\r\n{", 413, "body_too_large"},
		"too large, in chunks":     {"Transfer-Encoding: chunked\r\n\r\n3e9\r\n" + strings.Repeat(" ", 1001) + "\r\n0\r\n\r\n", 413, "body_too_large"},
		"as large as it may be":    {"Content-Length: 1000\r\n\r\n" + strings.Repeat(" ", 1000), 400, "malformed_body"},
		"a chunk that is no chunk": {"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "malformed_body"},
	} {
		t.Run(name, func(t *testing.T) {
			raw(t, w.Listener.Addr().String(), head+tc.request).refused(t, tc.status, tc.code)
		})
	}
	w.empty(t, "item")
}

func TestABodyThatDoesNotArriveInTime(t *testing.T) {
	w := world(t, httpapi.Config{Limits: httpapi.Limits{BodyTime: 20 * time.Millisecond}})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, body := io.Pipe()
	t.Cleanup(func() { _ = body.Close() })
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL+"/data/item", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer ann")
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	read(t, resp).refused(t, 400, "malformed_body")
}

// unhurried verifies a token in five times the time a body may take.
type unhurried struct{ names }

func (u unhurried) Verify(ctx context.Context, token string) (*access.Principal, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(100 * time.Millisecond):
		return u.names.Verify(ctx, token)
	}
}

func TestTheTimeForABodyDoesNotBoundTheAnswer(t *testing.T) {
	s := serve(t, httpapi.Config{Auth: unhurried{everybody}, Cookie: "rowcast_session", Limits: httpapi.Limits{BodyTime: 20 * time.Millisecond}})
	for range 2 { // the second time on the same connection
		ask{method: "POST", path: "/session", body: `{"token":"ann"}`}.do(t, s).is(t, 204)
	}
}

func TestBadBodiesLeaveNothingBehind(t *testing.T) {
	w := world(t, httpapi.Config{})
	deep := strings.Repeat(`[`, 10_000) + strings.Repeat(`]`, 10_000)
	for name, tc := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"invalid UTF-8":             {"{\"id\":\"a\",\"title\":\"\xff\"}", 400, "malformed_body"},
		"half a surrogate pair":     {`{"id":"a","title":"\ud800"}`, 400, "malformed_body"},
		"a key twice":               {`{"id":"a","title":"x","title":"y"}`, 400, "malformed_body"},
		"a key twice, escaped":      {`{"id":"a","title":"x","t\u0069tle":"y"}`, 400, "malformed_body"},
		"10,000 deep":               {`{"id":"a","title":` + deep + `}`, 400, "malformed_body"},
		"10,000 deep, no end":       {strings.Repeat(`{"a":`, 10_000), 400, "malformed_body"},
		"something after the end":   {`{"id":"a","title":"x"} {}`, 400, "malformed_body"},
		"an array":                  {`[{"id":"a","title":"x"}]`, 400, "malformed_body"},
		"a text":                    {`"a"`, 400, "malformed_body"},
		"null":                      {`null`, 400, "malformed_body"},
		"a comment":                 {`{"id":"a",/**/"title":"x"}`, 400, "malformed_body"},
		"a trailing comma":          {`{"id":"a","title":"x",}`, 400, "malformed_body"},
		"NaN":                       {`{"id":"a","title":"x","total":NaN}`, 400, "malformed_body"},
		"a NUL in a value":          {`{"id":"a","title":"x\u0000"}`, 400, "malformed_body"},
		"an unknown field":          {`{"id":"a","title":"x","other":1}`, 422, "invalid"},
		"a value of the wrong type": {`{"id":"a","title":7}`, 422, "invalid"},
		"a number out of range":     {`{"id":"a","title":"x","total":2147483648}`, 422, "invalid"},
		"a field missing":           {`{"id":"a"}`, 422, "invalid"},
		"a field too long":          {`{"id":"a","title":"` + strings.Repeat("é", 81) + `"}`, 422, "invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			ask{as: "ann", method: "POST", path: "/data/item", body: tc.body}.do(t, w.Server).refused(t, tc.status, tc.code)
			ask{as: "ann", method: "PUT", path: "/data/item/a", body: tc.body}.do(t, w.Server)
			ask{as: "ann", method: "POST", path: "/data/item/bulk", body: "[" + tc.body + "]"}.do(t, w.Server)
		})
	}
	w.empty(t, "item")
}

func TestContentTypes(t *testing.T) {
	w := world(t, httpapi.Config{})
	n := 0
	for _, tc := range []struct {
		method, path, contentType string
		taken                     bool
	}{
		{"POST", "/data/item", "application/json", true},
		{"POST", "/data/item", "Application/JSON; charset=UTF-8", true},
		{"POST", "/data/item", "application/json; charset=latin1", false},
		{"POST", "/data/item", "application/merge-patch+json", false},
		{"POST", "/data/item", "text/plain", false},
		{"POST", "/data/item", "application/x-www-form-urlencoded", false},
		{"POST", "/data/item", "multipart/form-data; boundary=x", false},
		{"POST", "/data/item", "", false},
		{"POST", "/data/item", "application/", false},
		{"PATCH", "/data/item/x", "application/merge-patch+json", true},
		{"PATCH", "/data/item/x", "application/json", true},
		{"PATCH", "/data/item/x", "application/json-patch+json", false},
		{"PUT", "/data/item/x", "application/merge-patch+json", false},
		{"POST", "/data/item/bulk", "application/x-ndjson", true},
		{"POST", "/data/item/bulk", "text/csv", false},
		{"POST", "/data/transaction", "text/json", false},
	} {
		n++
		body := fmt.Sprintf(`{"id":"n%d","title":"x"}`, n)
		got := ask{as: "ann", method: tc.method, path: tc.path, body: body, headers: map[string]string{"Content-Type": tc.contentType}}.do(t, w.Server)
		if tc.taken == (got.status == 415) {
			t.Errorf("%s %s as %q: %d %s", tc.method, tc.path, tc.contentType, got.status, got.body)
		}
		if !tc.taken {
			got.refused(t, 415, "unsupported_media_type")
		}
	}
	ask{as: "ann", method: "POST", path: "/data/item", body: "x", headers: map[string]string{"Content-Encoding": "gzip"}}.do(t, w.Server).
		refused(t, 415, "unsupported_media_type")
}

func TestHugeQueriesAndHeaders(t *testing.T) {
	w := world(t, httpapi.Config{})
	many := strings.TrimSuffix(strings.Repeat("1,", 30_000), ",")
	ask{as: "ann", method: "GET", path: "/data/item?filter[total][in]=" + many}.do(t, w.Server).refused(t, 400, "invalid_query")
	ask{as: "ann", method: "GET", path: "/data/item?" + strings.Repeat("x=1&", 10_000)}.do(t, w.Server).refused(t, 400, "bad_parameter")
	ask{as: "ann", method: "GET", path: "/data/item/" + strings.Repeat("x", 100_000)}.do(t, w.Server).refused(t, 404, "not_found")
	ask{as: "ann", method: "GET", path: "/data/" + strings.Repeat("x", 100_000)}.do(t, w.Server).refused(t, 404, "entity_not_found")
	got := ask{as: "ann", method: "GET", path: "/data/item", headers: map[string]string{"X-Filler": strings.Repeat("x", 2<<20)}}.do(t, w.Server)
	got.is(t, 431)
}
