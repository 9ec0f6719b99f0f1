package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/fault"
)

const (
	allowMethods  = "GET, HEAD, POST, PUT, PATCH, DELETE"
	allowHeaders  = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Traceparent, Tracestate, X-Request-Id"
	exposeHeaders = "ETag, Idempotent-Replayed, Location, Retry-After, X-Request-Id"
)

// originRules decides what pages of other origins may do: read answers (CORS)
// and, with the cookie, write or open a stream (cross-origin protection).
type originRules struct {
	origins []string
	any     bool // "*": without credentials
	guard   *http.CrossOriginProtection
}

func newOriginRules(origins []string) (originRules, error) {
	o := originRules{origins: origins, any: slices.Contains(origins, "*"), guard: http.NewCrossOriginProtection()}
	for _, origin := range origins {
		if origin == "*" {
			continue
		}
		if err := o.guard.AddTrustedOrigin(origin); err != nil {
			return o, fmt.Errorf("cors.origins: %q: %w; write scheme://host[:port] without a path", origin, err)
		}
	}
	return o, nil
}

// headers lets a page of a listed origin read the answer. Vary names Origin
// even where there is none, or a cache would give one site the answer of another.
func (o *originRules) headers(h http.Header, r *http.Request) {
	if len(o.origins) == 0 {
		return
	}
	if o.any {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", exposeHeaders)
		return
	}
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !slices.Contains(o.origins, origin) {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Credentials", "true")
	h.Set("Access-Control-Expose-Headers", exposeHeaders)
}

// preflight completes the headers of a CORS preflight, and reports whether r is
// one. It needs no credential (a browser sends none) and so answers alike for
// every path, whether anything is there or not.
func (o *originRules) preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h := w.Header()
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	if h.Get("Access-Control-Allow-Origin") == "" {
		return true
	}
	h.Set("Access-Control-Allow-Methods", allowMethods)
	h.Set("Access-Control-Allow-Headers", allowHeaders)
	h.Set("Access-Control-Max-Age", "600")
	return true
}

// write refuses an unsafe request that a page of another origin caused.
func (o *originRules) write(r *http.Request) error {
	if o.guard.Check(r) != nil {
		return fault.New(fault.CrossOrigin, "a page of another origin sent this with the session cookie; list the origin under cors.origins, or send the token in the Authorization header")
	}
	return nil
}

// read reports whether a page of this origin, or of one under cors.origins, or
// no page at all, sent a request whose method is safe. The rules are those of write.
func (o *originRules) read(r *http.Request) bool {
	asWrite := &http.Request{Method: http.MethodPost, URL: r.URL, Host: r.Host, Header: r.Header}
	return o.guard.Check(asWrite) == nil
}

// loopbackHost reports whether a Host header names this machine alone.
func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsLoopback()
}

func foreignHost(host string) error {
	return fault.New(fault.CrossOrigin, "with dev: true only a loopback Host is answered, not %q; open http://localhost or http://127.0.0.1", host)
}
