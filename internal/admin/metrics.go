package admin

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/transport"
)

// Unit is what a scrape is told of one tenant's datastore. Counters count from
// the start of this process.
type Unit struct {
	Tenant, Datastore string
	Subscribers       int    // streams open now
	Topics            int    // topics somebody listens to now
	Published         uint64 // events the log handed on
	Delivered         uint64 // events put into a subscriber's buffer
	Dropped           uint64 // events a full buffer had no room for
	Replayed          uint64 // events sent from the log instead: on resume, or after a drop
	FilterFailures    uint64 // subscription filters that could not be evaluated; nothing was delivered
	Lag               time.Duration
	Held              time.Duration // for how long a transaction has held up the change log
	Holder            int32         // the database's process that does
	Transports        []transport.Counter
	Deliveries        DeliveryReading // zero where no target is declared
}

// Metrics is the registry of one server. Each server has its own, so that two
// in one process (embedded, or in a test) share nothing. Safe for concurrent use.
type Metrics struct {
	units    func() []Unit
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	store    *prometheus.HistogramVec

	mu      sync.RWMutex
	handles map[series]prometheus.Observer
}

// series names one request histogram. As a map key it costs a request no
// allocation, which resolving label values each time would.
type series struct {
	tenant, route, method string
	class                 int // 2 for 2xx
}

// buckets spans a hit in the page cache and a query at its limit.
var buckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// NewMetrics returns a registry that asks units at each scrape and each probe of
// readiness. units must be safe for concurrent use and quick.
func NewMetrics(units func() []Unit) *Metrics {
	m := &Metrics{
		units:    units,
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rowcast_http_request_duration_seconds", Buckets: buckets,
			Help: "Time to answer a request, streams excepted, by tenant of the caller, route pattern, method and status class.",
		}, []string{"tenant", "route", "method", "status"}),
		store: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "rowcast_store_duration_seconds", Buckets: buckets,
			Help: "Time of one write until it is durable, or of one snapshot read.",
		}, []string{"tenant", "datastore", "operation"}),
		handles: map[series]prometheus.Observer{},
	}
	m.registry.MustRegister(m.requests, m.store, newUnitCollector(units),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Registerer takes further collectors into the same registry.
func (m *Metrics) Registerer() prometheus.Registerer { return m.registry }

// Request notes one finished request. It fits httpapi.Config.Observe.
func (m *Metrics) Request(f httpapi.Finished) {
	m.handle(series{f.Tenant, f.Route, f.Method, f.Status / 100}).Observe(f.Took.Seconds())
}

func (m *Metrics) handle(s series) prometheus.Observer {
	m.mu.RLock()
	h, ok := m.handles[s]
	m.mu.RUnlock()
	if ok {
		return h
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h = m.requests.WithLabelValues(s.tenant, s.route, s.method, string(rune('0'+s.class%10))+"xx")
	m.handles[s] = h
	return h
}

// Handler serves every metric there is. It judges no caller: it is for a
// listener of its own.
func (m *Metrics) Handler() http.Handler { return serve(m.registry) }

// For serves the metrics to a caller of one tenant: what bears the label of
// another tenant is left out, and so are requests that no credential vouched
// for, since they may be another's.
func (m *Metrics) For(tenant string) http.Handler { return serve(ofTenant(m.registry, tenant)) }

func serve(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{})
}
