package httpapi

import (
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
)

// Guard says who may use a route.
type Guard uint8

// The guards.
const (
	Open   Guard = iota // anyone
	Caller              // whoever is authenticated (or the declared anonymous)
	Admin               // who bears the admin role
)

// Route is one further route of an API: a probe, the metrics, an admin page.
type Route struct {
	Method  string
	Pattern string // of http.ServeMux, without method and host
	Guard   Guard
	// Handler answers, or returns the error that becomes the problem. p is nil on an Open route.
	Handler func(w http.ResponseWriter, r *http.Request, p *access.Principal) error
}

type handler func(c *call) error

// route is all that answers under one pattern.
type route struct {
	pattern string // for logs and metrics
	guard   Guard
	stream  bool // long-lived: handed the connection itself; no HEAD; not timed
	methods map[string]handler
}

// unknownRoute answers for every path that nothing stands under.
var unknownRoute = &route{pattern: "none"}

// newMux registers all that is not below /data.
func newMux(c Config) (*http.ServeMux, []*route, error) {
	routes := map[string]*route{"/": unknownRoute}
	for pattern, open := range map[string]StreamHandler{"/subscribe/{entity}": c.Subscribe, "/realtime": c.Realtime} {
		if open != nil {
			routes[pattern] = &route{guard: Caller, stream: true, methods: map[string]handler{http.MethodGet: handOver(open)}}
		}
	}
	if c.Cookie != "" {
		routes["/session"] = &route{methods: map[string]handler{http.MethodPost: openSession, http.MethodDelete: closeSession}}
	}
	for _, r := range c.Routes {
		if err := addRoute(routes, r); err != nil {
			return nil, nil, err
		}
	}
	mux, all := http.NewServeMux(), []*route(nil)
	for pattern, rt := range routes {
		if rt.pattern == "" {
			rt.pattern = pattern
		}
		mux.Handle(pattern, rt)
		all = append(all, rt)
	}
	return mux, all, nil
}

func addRoute(routes map[string]*route, r Route) error {
	rt := routes[r.Pattern]
	if rt == nil {
		rt = &route{guard: r.Guard, methods: map[string]handler{}}
		routes[r.Pattern] = rt
	}
	if _, taken := rt.methods[r.Method]; taken || rt == unknownRoute {
		return fmt.Errorf("route %s %s: registered twice", r.Method, r.Pattern)
	}
	if rt.guard != r.Guard {
		return fmt.Errorf("route %s %s: all methods of a path need the same guard", r.Method, r.Pattern)
	}
	rt.methods[r.Method] = func(c *call) error { return r.Handler(c, c.req, c.principal) }
	return nil
}

// dispatch finds the route. Paths below /data are split here and not by
// ServeMux, which would clean ids such as ".." and "a//b" away with a redirect.
func (a *API) dispatch(c *call) {
	escaped := c.req.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(escaped, "/data/"); ok {
		a.data.find(c, c.req.Method, rest).ServeHTTP(c, c.req)
		return
	}
	if clean := path.Clean(escaped); escaped != clean && (clean == "/" || escaped != clean+"/") {
		unknownRoute.ServeHTTP(c, c.req)
		return
	}
	a.mux.ServeHTTP(c, c.req)
}

// ServeHTTP implements http.Handler. w is the call, which passed through the
// mux so that its wildcards end up in the request.
func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, ok := w.(*call)
	if !ok {
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	c.route, c.req = rt, r
	if err := rt.serve(c); err != nil {
		c.refuse(err)
	}
}

func (rt *route) serve(c *call) error {
	guard := rt.guard
	if rt == unknownRoute {
		guard = guardOf(c.req.URL.Path)
	}
	if err := c.pass(guard); err != nil {
		return err
	}
	if h, ok := rt.method(c.req.Method); ok {
		return h(c)
	}
	if rt == unknownRoute {
		return fault.New(fault.RouteNotFound, "nothing is served under this path")
	}
	return c.notAllowed(rt)
}

// notAllowed answers a method that the route does not take; OPTIONS asks for
// just that answer.
func (c *call) notAllowed(rt *route) error {
	allow := rt.allowed()
	c.Header().Set("Allow", strings.Join(allow, ", "))
	if c.req.Method == http.MethodOptions {
		c.WriteHeader(http.StatusNoContent)
		return nil
	}
	f := fault.New(fault.MethodNotAllowed, "this path does not take %s", methodLabel(c.req.Method))
	f.Available = allow
	return f
}

// method finds the handler; HEAD is GET whose body net/http does not send.
func (rt *route) method(m string) (handler, bool) {
	if m == http.MethodHead && !rt.stream {
		m = http.MethodGet
	}
	h, ok := rt.methods[m]
	return h, ok
}

func (rt *route) allowed() []string {
	allow := []string{http.MethodOptions}
	for m := range rt.methods {
		allow = append(allow, m)
		if m == http.MethodGet && !rt.stream {
			allow = append(allow, http.MethodHead)
		}
	}
	slices.Sort(allow)
	return allow
}

// guardOf is the guard of a path under which nothing is registered: where a
// registered one would ask for a credential, this one does too.
func guardOf(decoded string) Guard {
	first, _, _ := strings.Cut(strings.TrimLeft(decoded, "/"), "/")
	switch first {
	case "data", "subscribe", "realtime":
		return Caller
	case "admin", "metrics":
		return Admin
	}
	return Open
}

// pass authenticates the caller as the guard asks for, and refuses what a page
// of another origin does with the cookie.
func (c *call) pass(g Guard) error {
	if g == Open {
		return nil
	}
	var err error
	if c.principal, c.fromCookie, err = c.api.config.Auth.Authenticate(c.req); err != nil {
		return err
	}
	if c.fromCookie {
		if err := c.api.origin.write(c.req); err != nil {
			return err
		}
	}
	if g == Admin && !c.principal.HasRole(c.api.config.AdminRole) {
		return fault.New(fault.Forbidden, "this needs the role %q", c.api.config.AdminRole)
	}
	return nil
}
