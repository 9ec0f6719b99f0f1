// Package post makes one attempt at a delivery: it signs the body, dials, posts
// it and says what the receiver's answer means.
//
// It guarantees:
//   - Target.Timeout is one deadline over name, connection, TLS, request and
//     answer. What is not answered within it was not accepted.
//   - A receiver costs a bounded amount of memory: 64 KiB of an answer's head and
//     4 KiB of its body are read, never decompressed. Redirects are not followed.
//   - An answer is read only after the request was begun on that connection, so
//     none is taken for another delivery's.
//   - A kept connection that the receiver has closed meanwhile costs no attempt:
//     the request is sent once more on a fresh one, in the same attempt.
//   - Link-local addresses, cloud metadata and the like are refused when they are
//     dialled, whatever name led there. Proxies of the environment are not used.
//   - A Result's Error bears no secret, no userinfo or query string, and nothing of
//     an answer but its status and the place of a redirect.
//
// A Poster is safe for concurrent use; each attempt in flight has a connection of
// its own. It runs on its callers' goroutines, and on others only as long as they
// are in Post; a lookup of a name, which cannot be broken off, may end later.
// DESIGN.md says why it is no http.Transport.
package post

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/store"
)

// Target is where deliveries are posted to.
type Target struct {
	Name string
	// URL is http or https. Its userinfo is sent as basic authentication, unless
	// Headers has an Authorization.
	URL     string
	Secrets []string      // the first is the current one
	Timeout time.Duration // of one attempt. Defaults to 10s
	// Headers are sent with each attempt. Those that belong to the request itself
	// (Host, Content-Length, Connection and the like) are left out.
	Headers http.Header
	Roots   *x509.CertPool // Defaults to the system's
}

// Config says how to post.
type Config struct {
	// Now gives the time to sign and to read a Retry-After by. Defaults to time.Now
	Now func() time.Time
	// Dial opens connections; it must come back when its context ends. Defaults to
	// a dialler that refuses what no target can be: see the package comment
	Dial      func(ctx context.Context, network, addr string) (net.Conn, error)
	Idle      int    // connections kept for the next attempt. Defaults to 8; below zero: none
	UserAgent string // Defaults to rowcast
}

const (
	defaultTimeout = 10 * time.Second
	defaultIdle    = 8
)

// Poster posts to one target.
type Poster struct {
	target Target
	now    func() time.Time
	head   head
	dialer dialer
	kept   *kept
	bad    string // why nothing can be posted there; "" it can
}

// New returns a Poster for t. A URL that cannot be used is told by each attempt.
func New(t Target, c Config) *Poster {
	if t.Timeout <= 0 {
		t.Timeout = defaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Dial == nil {
		c.Dial = guardedDial
	}
	if c.Idle == 0 {
		c.Idle = defaultIdle
	}
	if c.UserAgent == "" {
		c.UserAgent = "rowcast"
	}
	p := &Poster{target: t, now: c.Now, kept: newKept(c.Idle)}
	u, err := url.Parse(t.URL)
	switch {
	case err != nil || u.Hostname() == "" || (u.Scheme != "http" && u.Scheme != "https"):
		p.bad = "the target's url is no absolute http or https URL"
		return p
	case strings.ContainsFunc(u.Host, func(r rune) bool { return r >= utf8.RuneSelf }):
		p.bad = "the host of the target's url is not ASCII: write it in its xn-- form"
		return p
	}
	p.head = newHead(u, t.Headers, c.UserAgent)
	p.dialer = dialer{dial: c.Dial, addr: hostPort(u)}
	if u.Scheme == "https" {
		p.dialer.tls = &tls.Config{
			MinVersion:         tls.VersionTLS12,
			NextProtos:         []string{"http/1.1"},
			ServerName:         u.Hostname(),
			RootCAs:            t.Roots,
			ClientSessionCache: tls.NewLRUClientSessionCache(max(c.Idle, 1)),
		}
	}
	return p
}

// Post makes one attempt at d. Where ctx ends first the Result is Retry, and says
// nothing about the receiver; the caller looks at ctx.
func (p *Poster) Post(ctx context.Context, d *store.Delivery) Result {
	at, start := p.now(), time.Now()
	r := Result{Class: Retry, At: at.UTC().Truncate(time.Microsecond), Error: p.bad}
	if p.bad != "" {
		return r
	}
	a := &attempt{poster: p, deadline: start.Add(p.target.Timeout)}
	request := p.head.request(d, p.target.Secrets, at)
	defer request.release()
	failpoint.Hit(failpoint.BeforeSend)
	answer, err := a.make(ctx, request) //nolint:bodyclose // finish reads it, and closes the connection or keeps it
	if err != nil {
		r.Error = a.explain(err)
	} else {
		failpoint.Hit(failpoint.AfterAnswer)
		r.judge(answer.StatusCode, answer.Header, p.now())
		a.finish(answer)
	}
	r.Took = time.Since(start)
	return r
}

// Close closes the kept connections. The one of an attempt that still runs is
// closed as the attempt ends; none is kept any more.
func (p *Poster) Close() { p.kept.close() }
