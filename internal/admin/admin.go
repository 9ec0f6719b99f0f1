// Package admin is what an operator looks at and works with: open streams with
// their counters, the queue of deliveries, Prometheus metrics, and the probes.
//
// It promises: an admin sees the streams, the deliveries and the labelled metrics
// of the own tenant alone, and moves no delivery of another; probes need no
// credential and tell no name; no secret, no header of a target and no value of a
// row is in any answer. What is counted is read when it is asked for, through
// functions the server hands in, so that the parts that count need not know who
// looks; a scrape asks no datastore.
//
// Everything is safe for concurrent use. Only a drain starts goroutines, one a
// datastore, and waits for them. It may import fault, access, store, transport,
// outbox and httpapi.
package admin

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
)

// Stream is one open subscriber. The counters are the contract's, and Replayed beside them.
type Stream struct {
	ID           string    `json:"id"`
	Tenant       string    `json:"tenant"`
	Datastore    string    `json:"datastore"`
	Entity       string    `json:"entity"`
	Subscription string    `json:"subscription,omitempty"` // of GET /subscribe
	Channel      string    `json:"channel,omitempty"`      // of GET /realtime: ENTITY or ENTITY.ID
	Principal    string    `json:"principal"`              // "" for an anonymous one
	Delivered    uint64    `json:"delivered"`
	Dropped      uint64    `json:"dropped"`
	Replayed     uint64    `json:"replayed"`
	Since        time.Time `json:"since"`
	Lagging      bool      `json:"lagging"` // it is catching up from the log
}

// Config says whom to ask.
type Config struct {
	Metrics *Metrics
	// Streams returns the open subscribers of a tenant.
	Streams func(tenant string) []Stream
	// Outboxes returns those of a tenant's datastores, in one order each time; none
	// where no target is declared. nil: none.
	Outboxes func(tenant string) []Outbox
	// DrainTime is how long a drain may keep its caller. Defaults to 30 s.
	DrainTime time.Duration
	// Ready returns why the server is not ready; empty when it is. The reasons
	// are shown to anyone, so they name no tenant and no address.
	Ready func() []string
}

// Routes returns the routes for the server's own listener: probes for anyone,
// the rest for the admin role.
func Routes(c Config) []httpapi.Route {
	return append(deliveryRoutes(c), []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/healthz", Guard: httpapi.Open, Handler: c.healthz},
		{Method: http.MethodGet, Pattern: "/readyz", Guard: httpapi.Open, Handler: c.readyz},
		{Method: http.MethodGet, Pattern: "/metrics", Guard: httpapi.Admin, Handler: c.metrics},
		{Method: http.MethodGet, Pattern: "/admin/data/streams", Guard: httpapi.Admin, Handler: c.streams},
	}...)
}

// Handler serves the probes and all metrics without asking who calls. It is for
// admin.listen, which the operator keeps private.
func Handler(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", c.Metrics.Handler())
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request, *access.Principal) error{
		"GET /healthz": c.healthz, "GET /readyz": c.readyz,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r, nil); err != nil {
				httpapi.Problem(w, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		httpapi.Problem(w, fault.New(fault.RouteNotFound, "this listener serves GET /metrics, /healthz and /readyz"))
	})
	return mux
}

// healthz says that the process answers; it looks at nothing else, so that a
// datastore's outage does not make a supervisor restart the server.
func (c Config) healthz(w http.ResponseWriter, _ *http.Request, _ *access.Principal) error {
	return reply(w, map[string]string{"status": "ok"})
}

// readiness is what readyz answers. It is shown to anyone, so it names no tenant.
type readiness struct {
	Status string   `json:"status"`
	Log    logState `json:"log"`
}

// logState is how far behind the change log is, that of the datastore where it is
// worst. It is for whoever looks, and never a reason not to be ready.
type logState struct {
	// Lag is the age of the oldest committed event that was not handed on yet.
	Lag float64 `json:"lagseconds"`
	// Held is for how long a transaction has held up the log, and Holder the
	// database's process that does. Left out where none does.
	Held   float64 `json:"heldseconds,omitempty"`
	Holder int32   `json:"heldpid,omitempty"`
}

func worst(units []Unit) (l logState) {
	for _, u := range units {
		l.Lag = max(l.Lag, seconds(u.Lag))
		if held := seconds(u.Held); held > l.Held {
			l.Held, l.Holder = held, u.Holder
		}
	}
	return l
}

// seconds counts to the millisecond.
func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// readyz says whether requests should be sent here.
func (c Config) readyz(w http.ResponseWriter, _ *http.Request, _ *access.Principal) error {
	if reasons := c.Ready(); len(reasons) > 0 {
		return fault.New(fault.Unavailable, "not ready: %s", strings.Join(reasons, "; "))
	}
	return reply(w, readiness{Status: "ready", Log: worst(c.Metrics.units())})
}

func (c Config) metrics(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	w.Header().Set("Cache-Control", "no-store")
	c.Metrics.For(p.Tenant).ServeHTTP(w, r)
	return nil
}

// streams lists the open subscribers of the caller's tenant, longest open first.
func (c Config) streams(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	if r.URL.RawQuery != "" {
		return fault.New(fault.BadParameter, "this route takes no parameters")
	}
	items := []Stream{}
	for _, s := range c.Streams(p.Tenant) {
		if s.Tenant == p.Tenant {
			items = append(items, s)
		}
	}
	slices.SortFunc(items, func(a, b Stream) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID))
	})
	return reply(w, map[string]any{"items": items, "total": len(items)})
}

func reply(w http.ResponseWriter, doc any) error { return replyWith(w, http.StatusOK, doc) }

func replyWith(w http.ResponseWriter, status int, doc any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // it is no page, and "&" in an error reads better as such
	return enc.Encode(doc)
}
