package hostile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

func TestPathsThatLeadNowhere(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for path, code := range map[string]string{
		"/data/..%2f..%2fetc%2fpasswd": "entity_not_found", "/data/%2e%2e": "entity_not_found", "/data/..": "entity_not_found", "/data/../../etc/passwd": "route_not_found",
		"/data/th%C3%AFng": "entity_not_found", "/data/THING": "entity_not_found", "/data/thing%00": "entity_not_found", "/data/%ff": "entity_not_found",
		"/data/thing%20": "entity_not_found", "/data/_rowcast_log": "entity_not_found", "/data/sqlite_schema": "entity_not_found", "/data/thing;x": "entity_not_found",
		"/data/" + strings.Repeat("a", 60000): "entity_not_found", "/data/" + strings.Repeat("%00", 20000): "entity_not_found", "/data/%E2%80%A8": "entity_not_found",
		"/data/thing/..": "not_found", "/data/thing/%2e%2e": "not_found", "/data/thing/.": "not_found", "/data/thing/%00": "not_found", "/data/thing/%ff%fe": "not_found",
		"/data/thing/..%2fnote": "not_found", "/data/thing/SEED": "not_found", "/data/thing/seed%20": "not_found", "/data/thing/" + strings.Repeat("%2F", 20000): "not_found",
		"/data/thing/'%20OR%201=1--": "not_found", "/data/note/01ARZ3NDEKTSV4RRFFQ69G5FAV": "not_found", "/data/note/x": "not_found", "/data/note/%00": "not_found",
		"/data/count/1e400": "not_found", "/data/count/9223372036854775808": "not_found", "/data/count/-0": "not_found", "/data/count/%2B1": "not_found", "/data/count/%D9%A1": "not_found",
		"/data//thing": "route_not_found", "/data/thing/": "route_not_found", "/data/thing//": "route_not_found", "/data/thing/seed/": "route_not_found", "/data/": "route_not_found",
		"/data": "route_not_found", "//data/thing": "route_not_found", "/./data/thing": "route_not_found", "/x/../data/thing": "route_not_found", "/data/thing/seed/nothing": "route_not_found",
		"/subscribe": "route_not_found", "/subscribe/": "route_not_found", "/subscribe/thing/": "route_not_found", "/subscribe//thing": "route_not_found", "/subscribe/thing/seed": "route_not_found",
		"/subscribe/..": "route_not_found", "/subscribe/%2e%2e": "entity_not_found", "/subscribe/..%2fthing": "entity_not_found", "/subscribe/a%2fb": "entity_not_found",
		"/subscribe/%00": "entity_not_found", "/subscribe/%ff": "entity_not_found", "/subscribe/th%C3%AFng": "entity_not_found", "/subscribe/THING": "entity_not_found",
		"/subscribe/%E2%80%A8%0d%0a": "entity_not_found", "/subscribe/" + strings.Repeat("a", 60000): "entity_not_found", "/subscribe/" + strings.Repeat("%0a", 20000): "entity_not_found",
		"/realtime/": "route_not_found", "/realtime/thing": "route_not_found", "/realtime?channel=thing": "no_channel", "/realtime?channel=THING": "entity_not_found", "/realtime?channel=th%C3%AFng": "entity_not_found", "/": "route_not_found", "/.git/config": "route_not_found", "/debug/pprof/": "route_not_found", "/%2e%2e/%2e%2e/etc/passwd": "route_not_found", "/healthz/..": "route_not_found",
	} {
		s.send(s.request("GET "+path, "", "")).refused(t, fmt.Sprintf("%.60s", path), 404, code)
	}
	for _, path := range []string{"/data/thing/%", "/data/thing/%zz", "/data/thing/%e", "data/thing", "/data/thing/a b", "/data/thing/\x01", "http://[/data", "//", "*"} {
		a := s.send(s.request("GET "+path, "", ""))
		if a.Status != 400 && a.Status != 404 {
			t.Errorf("%q: answered %d %s", path, a.Status, a.Body)
		}
	}
	s.unharmed()
}

// Each path takes its methods, and tells the others so; none is taken for another.
func TestMethodsThatAreNone(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for _, path := range []string{"/data/thing/seed", "/data/thing", "/data/transaction", "/data/thing/bulk", "/data/thing/seed/purge", "/subscribe/thing?name=all", "/session", "/healthz", "/metrics"} {
		for _, method := range []string{"TRACE", "CONNECT", "PROPFIND", "get", "Delete", "PURGE", "X"} {
			a := s.send("" + method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + s.Token("root", "admin") + "\r\n\r\n")
			a.refused(t, method+" "+path, 405, "method_not_allowed")
			if a.Header.Get("Allow") == "" {
				t.Errorf("%s %s: Allow is missing", method, path)
			}
		}
		a := s.send(s.request("OPTIONS "+path, "", ""))
		if (a.Status != 204 || a.Header.Get("Allow") == "") && path != "/metrics" {
			t.Errorf("OPTIONS %s: %d %v", path, a.Status, a.Header)
		}
	}
	for _, override := range []string{"X-HTTP-Method-Override: DELETE\r\n", "X-Method-Override: DELETE\r\n", "X-HTTP-Method: DELETE\r\n"} {
		if a := s.send(s.request("GET /data/thing/seed?", override, "")); a.Status != 200 {
			t.Errorf("%s: answered %d", override, a.Status)
		}
	}
	head := s.send(s.request("HEAD /data/thing/seed", "", ""))
	get := s.send(s.request("GET /data/thing/seed", "", ""))
	if head.Status != 200 || head.Body != "" || head.Header.Get("ETag") != get.Header.Get("ETag") {
		t.Errorf("HEAD: %d %q %v", head.Status, head.Body, head.Header)
	}
	if a := s.send(s.request("HEAD /subscribe/thing?name=all", "", "")); a.Status != 405 {
		t.Errorf("HEAD of a stream: %d", a.Status)
	}
	if a := s.send(s.request("GET *", "", "")); a.Status != 404 && a.Status != 400 {
		t.Errorf("GET *: %d", a.Status)
	}
	if a := s.send("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"); a.Status < 400 {
		t.Errorf("CONNECT opens a tunnel: %d", a.Status)
	}
	if a := s.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"); a.Status != 0 && a.Status < 400 {
		t.Errorf("HTTP/2 without TLS: %d", a.Status)
	}
	s.unharmed()
}

// What a caller names in headers comes back as data or not at all: no header of
// the answer is the caller's to make.
func TestHeadersAreNotTheCallersToMake(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for _, headers := range []string{
		"X-Request-Id: a\tb\r\n", "X-Request-Id: <script>\r\n", "X-Request-Id: " + strings.Repeat("x", 5000) + "\r\n", "X-Request-Id: \xff\r\n",
		"Traceparent: 00-x\r\n", "Traceparent: " + strings.Repeat("0", 60000) + "\r\n", "Origin: http://evil.example\r\n", "Origin: null\r\n",
		"If-None-Match: " + strings.Repeat(`"x",`, 15000) + "\r\n", "If-None-Match: " + strings.Repeat(",", 60000) + "\r\n", "If-None-Match: \"\r\n", "If-None-Match: W/W/\"x\r\n",
		"Range: bytes=0-1\r\n", "Accept: text/html\r\n", "Accept-Encoding: gzip\r\n", "X-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: gopher\r\n", "Upgrade: websocket\r\nConnection: Upgrade\r\n",
		"Connection: X-Request-Id, close\r\n", strings.Repeat("A: b\r\n", 5000), "Expect: 100-continue\r\n", "TE: trailers\r\n", "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\nConnection: Upgrade, HTTP2-Settings\r\n",
	} {
		a := s.send(s.request("GET /data/thing/seed", headers, ""))
		id := a.Header.Get("X-Request-Id")
		if a.Status != 200 || !strings.Contains(a.Body, `"id":"seed"`) || a.Header.Get("Access-Control-Allow-Origin") != "" || len(id) < 16 || len(id) > 128 || a.Header.Get("Content-Encoding") != "" {
			t.Errorf("%.60q: %d %v %.200s", headers, a.Status, a.Header, a.Body)
		}
	}
	for _, headers := range []string{
		"Idempotency-Key: \r\n", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n", "Idempotency-Key: " + strings.Repeat("x", 256) + "\r\n", "Idempotency-Key: a b\r\n", "Idempotency-Key: \xff\r\n",
	} {
		s.send(s.request("POST /data/thing", asJSON+headers, `{"id":"keyed"}`)).refused(t, headers, 400, "bad_parameter")
	}
	for _, headers := range []string{"If-Match: \"x\"\r\n", "If-Match: " + strings.Repeat(`"x",`, 15000) + "\r\n", "If-None-Match: *\r\n"} {
		s.send(s.request("PATCH /data/thing/seed", asJSON+headers, `{"n":9}`)).refused(t, headers, 412, "precondition_failed")
		s.send(s.request("DELETE /data/thing/seed", headers, "")).refused(t, headers, 412, "precondition_failed")
	}
	for _, headers := range []string{"If-Match: \"\r\n", "If-Match: ,,,\r\n", "If-Match: x\r\n"} {
		s.send(s.request("PATCH /data/thing/seed", asJSON+headers, `{"n":9}`)).refused(t, headers, 400, "bad_parameter")
	}
	s.unharmed()
}
