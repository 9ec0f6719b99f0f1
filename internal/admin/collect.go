package admin

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/rowcast/rowcast/internal/transport"
)

// reading is one metric read off a Unit.
type reading struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(u Unit) float64
}

// unitCollector reads the counters of the units at each scrape, so that the
// code that counts needs to know nothing of Prometheus.
type unitCollector struct {
	units      func() []Unit
	readings   []reading
	transports []transportReading
	deliveries deliveryDescs
}

// transportReading is one metric read off the counters of a transport.
type transportReading struct {
	desc *prometheus.Desc
	of   func(c transport.Counter) uint64
}

// transportReadings bear the tenant: an admin of one is told nothing of another.
func transportReadings() []transportReading {
	counter := func(name, help string, of func(transport.Counter) uint64) transportReading {
		return transportReading{prometheus.NewDesc(name, help, []string{"tenant", "datastore", "transport"}, nil), of}
	}
	return []transportReading{
		counter("rowcast_transport_published_total", "Channel events that a transport took.", func(c transport.Counter) uint64 { return c.Published }),
		counter("rowcast_transport_dropped_total", "Channel events that a transport's full queue had no room for.", func(c transport.Counter) uint64 { return c.Dropped }),
		counter("rowcast_transport_errors_total", "Channel events that a transport failed or panicked on.", func(c transport.Counter) uint64 { return c.Errors }),
	}
}

func newUnitCollector(units func() []Unit) *unitCollector {
	gauge := func(name, help string, of func(Unit) float64) reading {
		return reading{describe(name, help), prometheus.GaugeValue, of}
	}
	counter := func(name, help string, of func(Unit) uint64) reading {
		return reading{describe(name, help), prometheus.CounterValue, func(u Unit) float64 { return float64(of(u)) }}
	}
	return &unitCollector{units: units, transports: transportReadings(), deliveries: newDeliveryDescs(), readings: []reading{
		gauge("rowcast_subscribers", "Streams open now.", func(u Unit) float64 { return float64(u.Subscribers) }),
		gauge("rowcast_topics", "Topics and channels that somebody listens to now.", func(u Unit) float64 { return float64(u.Topics) }),
		gauge("rowcast_log_lag_seconds", "Age of the oldest committed event that was not handed on yet; 0 when none waits.",
			func(u Unit) float64 { return u.Lag.Seconds() }),
		gauge("rowcast_log_held_seconds", "For how long a transaction has held up the change log; 0 when none does.",
			func(u Unit) float64 { return u.Held.Seconds() }),
		gauge("rowcast_log_held_pid", "The database's process whose transaction holds up the change log; 0 when none does.",
			func(u Unit) float64 { return float64(u.Holder) }),
		counter("rowcast_events_published_total", "Events the change log handed on.", func(u Unit) uint64 { return u.Published }),
		counter("rowcast_events_delivered_total", "Events put into a subscriber's buffer.", func(u Unit) uint64 { return u.Delivered }),
		counter("rowcast_events_dropped_total", "Events a subscriber's full buffer had no room for; it catches up from the log.",
			func(u Unit) uint64 { return u.Dropped }),
		counter("rowcast_events_replayed_total", "Events sent from the log: on resume, or after a drop.", func(u Unit) uint64 { return u.Replayed }),
		counter("rowcast_filter_failures_total", "Subscription filters that could not be evaluated, so that nothing was delivered.",
			func(u Unit) uint64 { return u.FilterFailures }),
	}}
}

func describe(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"tenant", "datastore"}, nil)
}

// Describe implements prometheus.Collector.
func (c *unitCollector) Describe(out chan<- *prometheus.Desc) {
	for _, r := range c.readings {
		out <- r.desc
	}
	for _, r := range c.transports {
		out <- r.desc
	}
	for _, desc := range c.deliveries.all() {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *unitCollector) Collect(out chan<- prometheus.Metric) {
	now := time.Now()
	for _, u := range c.units() {
		c.deliveries.collect(out, u, now)
		for _, r := range c.readings {
			out <- prometheus.MustNewConstMetric(r.desc, r.kind, r.of(u), u.Tenant, u.Datastore)
		}
		for _, t := range u.Transports {
			for _, r := range c.transports {
				out <- prometheus.MustNewConstMetric(r.desc, prometheus.CounterValue, float64(r.of(t)), u.Tenant, u.Datastore, t.Transport)
			}
		}
	}
}

// ofTenant leaves out what bears the label of another tenant: an admin is one
// tenant's, and is told neither the numbers nor the names of the others.
func ofTenant(g prometheus.Gatherer, tenant string) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := g.Gather()
		for _, f := range families {
			f.Metric = slices.DeleteFunc(f.Metric, func(m *dto.Metric) bool { return foreign(m, tenant) })
		}
		families = slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return len(f.Metric) == 0 })
		return families, err
	})
}

func foreign(m *dto.Metric, tenant string) bool {
	return slices.ContainsFunc(m.Label, func(l *dto.LabelPair) bool {
		return l.GetName() == "tenant" && l.GetValue() != tenant
	})
}
