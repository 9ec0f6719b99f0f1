// Package httpapi is rowcast over HTTP: the REST routes of every declared
// entity, the door to the streams, and the session cookie.
//
// It promises: nothing of a request but its path is looked at before its
// credential has been judged, so that without one every name under /data,
// /subscribe, /realtime, /admin and /metrics answers the same 401; every
// refusal is application/problem+json with a code of docs/problems.md, and what
// is not a fault of the caller shows nothing of its cause; a row leaves only
// through render.Row under the caller's Grant.
//
// An API is immutable after New and safe for concurrent use. It starts no
// goroutine. A stream is handed the connection's own ResponseWriter, so that
// deadlines and flushes reach it; all other responses go through one wrapper
// that notes the status and can be unwrapped.
//
// It may import everything from value to engine and stream.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
)

// Authenticator judges credentials; internal/auth has the one there is.
type Authenticator interface {
	// Authenticate returns the principal of a request, and whether the cookie
	// carried its credential. The error is a fault unauthenticated.
	Authenticate(r *http.Request) (p *access.Principal, fromCookie bool, err error)
	// Verify judges a token that is to become a cookie.
	Verify(ctx context.Context, token string) (*access.Principal, error)
}

// Tenants finds the engine that serves an entity of a tenant.
type Tenants interface {
	Unit(tenant, entity string) (*engine.Engine, bool)
}

// StreamHandler opens a stream for a principal. It is given the connection's
// own ResponseWriter and judges everything after authentication itself.
type StreamHandler func(w http.ResponseWriter, r *http.Request, p *access.Principal, fromCookie bool)

// Limits bound what one request may bring.
type Limits struct {
	Body      int64         // bytes of a request's body; defaults to 1 MiB
	BodyTime  time.Duration // for a body to arrive whole; defaults to 30 s
	ReplyTime time.Duration // for a client to take each 64 KiB of an answer; defaults to 30 s
}

// Config is what an API stands on. Auth and Tenants are required.
type Config struct {
	Auth      Authenticator
	Tenants   Tenants
	Subscribe StreamHandler // GET /subscribe/{entity}; nil: no such route
	Realtime  StreamHandler // GET /realtime; nil: no such route
	Routes    []Route       // further routes (probes, metrics, admin)
	Limits    Limits
	Origins   []string // cors.origins, matched exactly; "*" alone allows all, without credentials
	AdminRole string   // role that opens what is guarded by Admin; defaults to "admin"
	Cookie    string   // name of the session cookie; "": no /session
	Secure    bool     // mark the cookie Secure: true unless served on loopback alone
	Dev       bool     // answer only where Host is a loopback name
	Logger    *slog.Logger
	// Observe is told of each finished request but streams. nil: nobody is.
	Observe func(Finished)
}

// Finished is a request that was answered.
type Finished struct {
	Tenant string // of the verified caller; "" where there is none
	Route  string // the route's pattern; "none" for an unknown path
	Method string // "other" where HTTP has none by that name
	Status int
	Took   time.Duration
}

// API answers HTTP requests. It is an http.Handler.
type API struct {
	config Config
	origin originRules
	mux    *http.ServeMux
	routes []*route // of mux
	data   dataRoutes
}

// New returns an API, or what is wrong with the origins or routes of c.
func New(c Config) (*API, error) {
	c.Limits = c.Limits.orDefaults()
	if c.AdminRole == "" {
		c.AdminRole = "admin"
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	origin, err := newOriginRules(c.Origins)
	if err != nil {
		return nil, err
	}
	a := &API{config: c, origin: origin, data: newDataRoutes()}
	a.mux, a.routes, err = newMux(c)
	return a, err
}

func (l Limits) orDefaults() Limits {
	if l.Body <= 0 {
		l.Body = 1 << 20
	}
	if l.BodyTime <= 0 {
		l.BodyTime = 30 * time.Second
	}
	if l.ReplyTime <= 0 {
		l.ReplyTime = 30 * time.Second
	}
	return l
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := newCall(a, w, r)
	defer c.finish()
	if err := a.admit(c); err != nil {
		c.refuse(err)
		return
	}
	if a.origin.preflight(w, r) {
		c.WriteHeader(http.StatusNoContent)
		return
	}
	a.dispatch(c)
}

// admit refuses what must not even reach authentication: with dev the server
// hands out tokens, so a page whose name was pointed at this address (DNS
// rebinding) must not be answered.
func (a *API) admit(c *call) error {
	if a.config.Dev && !loopbackHost(c.req.Host) {
		return foreignHost(c.req.Host)
	}
	a.origin.headers(c.Header(), c.req)
	return nil
}
