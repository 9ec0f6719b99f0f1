package admin_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/transport"
)

const here, there = "acme:test:shop:t1", "acme:test:shop:t2"

// roles is an Authenticator whose token is "tenant role".
type roles struct{}

func (roles) Authenticate(r *http.Request) (*access.Principal, bool, error) {
	p, err := roles{}.Verify(r.Context(), r.Header.Get("Authorization"))
	return p, false, err
}

func (roles) Verify(_ context.Context, token string) (*access.Principal, error) {
	tenant, role, ok := strings.Cut(token, " ")
	if !ok {
		return nil, fault.New(fault.Unauthenticated, "no credential")
	}
	return &access.Principal{ID: "someone", Tenant: tenant, Roles: []string{role}}, nil
}

type noRows struct{}

func (noRows) Unit(string, string) (*engine.Engine, bool) { return nil, false }

var since = time.Date(2026, 9, 17, 2, 25, 12, 0, time.UTC)

// config serves two tenants with a stream each, and is ready as long as reasons is empty.
func config(reasons *[]string) admin.Config {
	return admin.Config{
		Metrics: admin.NewMetrics(func() []admin.Unit {
			return []admin.Unit{
				{
					Tenant: here, Datastore: "main", Subscribers: 2, Topics: 1, Published: 10, Delivered: 20, Dropped: 3, Replayed: 4,
					FilterFailures: 5, Lag: 1500 * time.Millisecond, Transports: []transport.Counter{{Transport: "file", Published: 9}},
					Deliveries: admin.DeliveryReading{
						Depths: []store.Depth{
							{Target: "billing", Pending: 10, Claimed: 3, Failed: 1, Blocked: 2, OldestDue: time.Now().Add(-time.Hour)},
							{Target: "gone", Failed: 7},
						},
						Counters: outbox.Counters{Targets: map[string]outbox.Counts{"billing": {Attempted: 10, Delivered: 6, Retried: 3, Failed: 1, LeaseLost: 2}, "idle": {}}},
						Targets: []outbox.TargetStats{
							{Target: outbox.Target{Name: "billing"}, InFlight: 3, Breaker: "probing"},
							{Target: outbox.Target{Name: "idle"}, Breaker: "closed"},
						},
					},
				},
				{Tenant: there, Datastore: "main", Subscribers: 7, Deliveries: admin.DeliveryReading{Depths: []store.Depth{{Target: "theirs", Failed: 1}}}},
			}
		}),
		Streams: func(string) []admin.Stream {
			return []admin.Stream{
				{ID: "s2", Tenant: here, Datastore: "main", Entity: "order", Channel: "order.7", Since: since.Add(time.Hour), Lagging: true, Dropped: 3},
				{ID: "s1", Tenant: here, Datastore: "main", Entity: "order", Subscription: "mine", Principal: "ann", Since: since, Delivered: 20, Replayed: 4},
				{ID: "s3", Tenant: there, Entity: "secret", Since: since},
			}
		},
		Ready: func() []string { return *reasons },
	}
}

func get(t *testing.T, h http.Handler, path, token string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	if token != "" {
		r.Header.Set("Authorization", token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func api(t *testing.T, c admin.Config) http.Handler {
	t.Helper()
	a, err := httpapi.New(httpapi.Config{
		Auth: roles{}, Tenants: noRows{}, Routes: admin.Routes(c), AdminRole: "operator",
		Observe: c.Metrics.Request, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWhoMayLook(t *testing.T) {
	h := api(t, config(new([]string)))
	for _, path := range []string{"/metrics", "/admin/data/streams"} {
		for token, want := range map[string]int{"": 401, here + " clerk": 403, here + " operator": 200} {
			if got := get(t, h, path, token); got.Code != want {
				t.Errorf("%s as %q: %d, want %d", path, token, got.Code, want)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := get(t, h, path, ""); got.Code != 200 {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

func TestStreamsAreTheCallersTenantsAlone(t *testing.T) {
	h := api(t, config(new([]string)))
	got := get(t, h, "/admin/data/streams", here+" operator")
	want := `{"items":[` +
		`{"id":"s1","tenant":"acme:test:shop:t1","datastore":"main","entity":"order","subscription":"mine","principal":"ann","delivered":20,"dropped":0,"replayed":4,"since":"2026-09-17T02:25:12Z","lagging":false},` +
		`{"id":"s2","tenant":"acme:test:shop:t1","datastore":"main","entity":"order","channel":"order.7","principal":"","delivered":0,"dropped":3,"replayed":0,"since":"2026-09-17T03:25:12Z","lagging":true}` +
		`],"total":2}` + "\n"
	if got.Body.String() != want {
		t.Errorf("got  %s\nwant %s", got.Body, want)
	}
	if got := get(t, h, "/admin/data/streams", "other:tenant operator"); got.Body.String() != `{"items":[],"total":0}`+"\n" {
		t.Errorf("a tenant without streams sees %s", got.Body)
	}
	if got := get(t, h, "/admin/data/streams?tenant="+there, here+" operator"); got.Code != 400 {
		t.Errorf("a parameter: %d", got.Code)
	}
}

func TestMetricsOfTheOwnTenant(t *testing.T) {
	c := config(new([]string))
	h := api(t, c)
	get(t, h, "/data/order", here+" clerk")
	body := get(t, h, "/metrics", here+" operator").Body.String()
	for _, line := range []string{
		`rowcast_subscribers{datastore="main",tenant="acme:test:shop:t1"} 2`,
		`rowcast_topics{datastore="main",tenant="acme:test:shop:t1"} 1`,
		`rowcast_events_published_total{datastore="main",tenant="acme:test:shop:t1"} 10`,
		`rowcast_events_delivered_total{datastore="main",tenant="acme:test:shop:t1"} 20`,
		`rowcast_events_dropped_total{datastore="main",tenant="acme:test:shop:t1"} 3`,
		`rowcast_events_replayed_total{datastore="main",tenant="acme:test:shop:t1"} 4`,
		`rowcast_filter_failures_total{datastore="main",tenant="acme:test:shop:t1"} 5`,
		`rowcast_log_lag_seconds{datastore="main",tenant="acme:test:shop:t1"} 1.5`,
		`rowcast_http_request_duration_seconds_count{method="GET",route="/data/{entity}",status="4xx",tenant="acme:test:shop:t1"} 1`,
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if !strings.Contains(body, "go_goroutines") || !strings.Contains(body, "process_open_fds") {
		t.Error("the runtime's own metrics are missing")
	}
	if strings.Contains(body, there) {
		t.Error("another tenant is named")
	}
	if open := get(t, admin.Handler(c), "/metrics", "").Body.String(); !strings.Contains(open, there) || !strings.Contains(open, here) {
		t.Error("the operator's listener does not show every tenant")
	}
}

func TestReadiness(t *testing.T) {
	var reasons []string
	c := config(&reasons)
	for name, h := range map[string]http.Handler{"main": api(t, c), "admin.listen": admin.Handler(c)} {
		reasons = nil
		if got := get(t, h, "/readyz", ""); got.Code != 200 || got.Body.String() != `{"status":"ready","log":{"lagseconds":1.5}}`+"\n" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
		reasons = []string{"a datastore cannot be reached", "stopping"}
		got := get(t, h, "/readyz", "")
		if got.Code != 503 || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "a datastore cannot be reached; stopping") {
			t.Errorf("%s: %d %v %s", name, got.Code, got.Header(), got.Body)
		}
		if got := get(t, h, "/healthz", ""); got.Code != 200 {
			t.Errorf("%s: healthz follows readiness: %d", name, got.Code)
		}
	}
	if got := get(t, admin.Handler(c), "/data/order", ""); got.Code != 404 || got.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("an unknown path of admin.listen: %d %v", got.Code, got.Header())
	}
}

// Readiness tells of the worst log, without a name, and is never lost by it.
func TestReadinessTellsOfTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		units []admin.Unit
		want  string
	}{
		"nothing waits": {[]admin.Unit{{Tenant: here}}, `{"lagseconds":0}`},
		"the worst of two": {[]admin.Unit{
			{Tenant: here, Lag: time.Second, Held: time.Hour, Holder: 4711},
			{Tenant: there, Lag: 2500 * time.Millisecond, Held: 1234567 * time.Microsecond, Holder: 12},
		}, `{"lagseconds":2.5,"heldseconds":3600,"heldpid":4711}`},
	} {
		config := admin.Config{Metrics: admin.NewMetrics(func() []admin.Unit { return c.units }), Ready: func() []string { return nil }}
		got := get(t, admin.Handler(config), "/readyz", "")
		if want := `{"status":"ready","log":` + c.want + "}\n"; got.Code != 200 || got.Body.String() != want {
			t.Errorf("%s: %d %s, want %s", name, got.Code, got.Body, want)
		}
	}
}

// slow is a store whose calls fail after they were counted.
type slow struct{ store.Store }

var errSlow = errors.New("slow")

func (slow) Write(context.Context, store.Work) error              { return errSlow }
func (slow) View(context.Context, func(store.Reader) error) error { return errSlow }

func TestStoreTimings(t *testing.T) {
	m := admin.NewMetrics(func() []admin.Unit { return nil })
	s := m.Store(slow{}, here, "main")
	for range 3 {
		if err := s.Write(t.Context(), store.Work{}); !errors.Is(err, errSlow) {
			t.Error(err)
		}
	}
	if err := s.View(t.Context(), nil); !errors.Is(err, errSlow) {
		t.Error(err)
	}
	body, err := io.ReadAll(get(t, m.Handler(), "/metrics", "").Body)
	if err != nil {
		t.Fatal(err)
	}
	for operation, n := range map[string]string{"write": "3", "view": "1"} {
		line := `rowcast_store_duration_seconds_count{datastore="main",operation="` + operation + `",tenant="` + here + `"} ` + n + "\n"
		if !strings.Contains(string(body), line) {
			t.Errorf("missing: %s", line)
		}
	}
}

// listed is a request for a list that went well.
var listed = httpapi.Finished{Tenant: here, Route: "/data/{entity}", Method: "GET", Status: 200, Took: time.Millisecond}

func TestTwoServersInOneProcessShareNothing(t *testing.T) {
	a, b := admin.NewMetrics(func() []admin.Unit { return nil }), admin.NewMetrics(func() []admin.Unit { return nil })
	a.Request(listed)
	if body := get(t, b.Handler(), "/metrics", "").Body.String(); strings.Contains(body, "/data/{entity}") {
		t.Error("a request to one server is counted by the other")
	}
}

func TestCountingARequestAllocatesNothing(t *testing.T) {
	m := admin.NewMetrics(func() []admin.Unit { return nil })
	m.Request(listed)
	if n := testing.AllocsPerRun(100, func() { m.Request(listed) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMetricsAreWellFormedAndDocumented(t *testing.T) {
	c := config(new([]string))
	c.Metrics.Request(listed)
	c.Metrics.Store(slow{}, here, "main")
	gatherer, ok := c.Metrics.Registerer().(prometheus.Gatherer)
	if !ok {
		t.Fatal("the registry cannot be gathered")
	}
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	families, err := gatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
	served := map[string]bool{}
	for _, f := range families {
		served[f.GetName()] = true
		if strings.HasPrefix(f.GetName(), "rowcast_") && !strings.Contains(string(page), "| `"+f.GetName()+"` | "+strings.ToLower(f.GetType().String())+" |") {
			t.Errorf("docs/reference/metrics.md has no row for the %s %s", f.GetType(), f.GetName())
		}
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(rowcast_[a-z_]+)`").FindAllStringSubmatch(string(page), -1) {
		if !served[m[1]] {
			t.Errorf("docs/reference/metrics.md names %s, which is not served", m[1])
		}
	}
}
