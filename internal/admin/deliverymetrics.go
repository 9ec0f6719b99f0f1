package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/store"
)

// DeliveryReading is what a scrape is told of the deliveries of a datastore. All
// of it is read from memory.
type DeliveryReading struct {
	Depths   []store.Depth // of the whole queue, as it was looked at last
	Counters outbox.Counters
	Targets  []outbox.TargetStats // what the instance is at; without them there are no series about that
}

// deliveryDescs are the metrics of deliveries. Depths and ages are of the whole
// queue, which instances share; the rest is what this one does.
type deliveryDescs struct {
	depth, blocked, oldest, attempts, lost, inFlight, breaker *prometheus.Desc
}

func newDeliveryDescs() deliveryDescs {
	of := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"tenant", "datastore", "target"}, labels...), nil)
	}
	return deliveryDescs{
		depth:    of("rowcast_deliveries", "Deliveries in the queue: pending, claimed, or failed and waiting for an operator.", "status"),
		blocked:  of("rowcast_deliveries_blocked", "Pending deliveries that wait for an earlier one of their row."),
		oldest:   of("rowcast_delivery_oldest_due_seconds", "For how long the pending delivery that was due first has been due; 0 when none is."),
		attempts: of("rowcast_delivery_attempts_total", "Attempts of this instance, by what they came to.", "outcome"),
		lost:     of("rowcast_delivery_leases_lost_total", "Attempts whose delivery was another instance's when they had ended; it is sent again."),
		inFlight: of("rowcast_deliveries_inflight", "Attempts of this instance under way."),
		breaker:  of("rowcast_delivery_breaker", "1 for the state that this instance's breaker of the target is in, 0 for the others.", "state"),
	}
}

func (d deliveryDescs) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.depth, d.blocked, d.oldest, d.attempts, d.lost, d.inFlight, d.breaker}
}

// collect sends what u says of deliveries. A declared target has all its series
// from the start, at 0, so that an alert on a rate sees the first of them.
func (d deliveryDescs) collect(out chan<- prometheus.Metric, u Unit, now time.Time) {
	depths := map[string]store.Depth{}
	for name, counts := range u.Deliveries.Counters.Targets {
		depths[name] = store.Depth{Target: name}
		d.counted(out, u, name, counts)
	}
	for _, t := range u.Deliveries.Targets {
		d.doing(out, u, t)
	}
	for _, depth := range u.Deliveries.Depths {
		depths[depth.Target] = depth
	}
	for name, depth := range depths {
		gauge := func(desc *prometheus.Desc, v float64, label ...string) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, append([]string{u.Tenant, u.Datastore, name}, label...)...)
		}
		gauge(d.depth, float64(depth.Pending), statusNames[store.Pending])
		gauge(d.depth, float64(depth.Claimed), statusNames[store.Claimed])
		gauge(d.depth, float64(depth.Failed), statusNames[store.Failed])
		gauge(d.blocked, float64(depth.Blocked))
		gauge(d.oldest, overdue(depth.OldestDue, now))
	}
}

// counted sends what this instance has done for a declared target.
func (d deliveryDescs) counted(out chan<- prometheus.Metric, u Unit, target string, c outbox.Counts) {
	counter := func(desc *prometheus.Desc, v uint64, label ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(v), append([]string{u.Tenant, u.Datastore, target}, label...)...)
	}
	counter(d.attempts, c.Delivered, outcomes[store.Delivered])
	counter(d.attempts, c.Retried, outcomes[store.Retried])
	counter(d.attempts, c.Failed, outcomes[store.GivenUp])
	counter(d.lost, c.LeaseLost)
}

// doing sends what this instance does for a declared target.
func (d deliveryDescs) doing(out chan<- prometheus.Metric, u Unit, t outbox.TargetStats) {
	gauge := func(desc *prometheus.Desc, v float64, label ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v, append([]string{u.Tenant, u.Datastore, t.Name}, label...)...)
	}
	gauge(d.inFlight, float64(t.InFlight))
	for _, state := range breakers {
		var is float64
		if state == t.Breaker {
			is = 1
		}
		gauge(d.breaker, is, state)
	}
}

// overdue is for how long what is due at a time has been due.
func overdue(due, now time.Time) float64 {
	if due.IsZero() || !due.Before(now) {
		return 0
	}
	return seconds(now.Sub(due))
}
