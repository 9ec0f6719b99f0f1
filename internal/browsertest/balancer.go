package browsertest

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Balancer is the least that a load balancer does: one origin for all instances,
// each request to the next of them. It passes over an instance that does not
// take the connection, and one that dies before it answers a GET. Where none is
// left it hangs up without an answer: an EventSource tries again after that, and
// never after a 502.
//
// At /page it serves an empty page of the same origin.
type Balancer struct {
	URL string

	t         testing.TB
	instances []string // host:port
	turn      atomic.Uint64
	transport *http.Transport

	news
	streams []*Passage
}

// Balance starts a Balancer before instances, which are given by URL. It ends
// with the test, and so does everything that goes through it.
func Balance(t testing.TB, instances ...string) *Balancer {
	t.Helper()
	b := &Balancer{t: t}
	for _, instance := range instances {
		u, err := url.Parse(instance)
		if err != nil {
			t.Fatal(err)
		}
		b.instances = append(b.instances, u.Host)
	}
	// A connection of its own for each request gives each the next instance.
	b.transport = &http.Transport{DialContext: b.dial, DisableKeepAlives: true}
	quiet := log.New(io.Discard, "", 0)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "instances"
			r.SetXForwarded()
		},
		Transport:    b,
		ErrorLog:     quiet,
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("/page", page)
	server := httptest.NewUnstartedServer(mux)
	server.Config.ErrorLog = quiet
	server.Start()
	b.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		b.transport.CloseIdleConnections()
	})
	return b
}

// page serves an empty page, in which a test can run scripts.
func page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, `<!doctype html><html lang="en"><head><title>test</title><link rel="icon" href="data:,"></head><body></body></html>`)
}

// dial connects to the next instance that takes the connection.
func (b *Balancer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var dialer net.Dialer
	var failed error
	first := int(b.turn.Add(1)) //#nosec G115 -- a count of requests
	for i := range b.instances {
		conn, err := dialer.DialContext(ctx, network, b.instances[(first+i)%len(b.instances)])
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// RoundTrip sends a request to the next instance; a GET that gets no answer, to
// as many as there are.
func (b *Balancer) RoundTrip(r *http.Request) (*http.Response, error) {
	p := &Passage{LastEventID: r.Header.Get("Last-Event-ID"), Began: time.Now()}
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { p.Instance = info.Conn.RemoteAddr().String() },
	}))
	resp, err := b.transport.RoundTrip(r)
	for range b.instances[1:] {
		if err == nil || r.Method != http.MethodGet || r.Context().Err() != nil {
			break
		}
		resp, err = b.transport.RoundTrip(r)
	}
	if err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = b.pass(p, resp.Body)
	}
	return resp, err
}
