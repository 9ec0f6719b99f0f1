package rowcast

import (
	"time"

	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/transport"
)

// Counters are one unit's: a tenant in one datastore (contract: Counters). They count
// from the start of the process.
type Counters struct {
	Tenant, Datastore string
	Subscribers       int   // streams open now
	Topics            int   // topics and channels somebody listens to now
	Published         int64 // events the change log handed on
	Delivered         int64 // events put into a subscriber's buffer
	Dropped           int64 // events that found a buffer full
	Replayed          int64 // events sent from the log instead
	Transports        []TransportCounters
	Deliveries        []DeliveryCounters // of each declared target, in declared order
}

// TransportCounters are one transport's, for one unit.
type TransportCounters struct {
	Transport string
	Published int64 // events it took
	Dropped   int64 // events its queue had no room for
	Errors    int64 // events it failed or panicked on
}

// Subscriber is one open stream with its own counters (contract: Counters).
type Subscriber struct {
	ID                           string
	Tenant, Datastore            string
	Entity                       string
	Subscription                 string // the declared one's name; "" on a channel
	Channel                      string // ENTITY or ENTITY.ID; "" of a declared subscription
	Principal                    string // "" when anonymous
	Since                        time.Time
	Delivered, Dropped, Replayed int64
	Lagging                      bool // it is catching up from the log
}

// Counters returns a reading of every unit.
func (s *Server) Counters() []Counters {
	var all []Counters
	for _, u := range s.units.Units() {
		tenant, datastore := u.Name()
		c := u.Hub.Counters()
		all = append(all, Counters{
			Tenant: tenant, Datastore: datastore, Subscribers: c.Subscribers, Topics: c.Topics,
			Published: c.Published, Delivered: c.Delivered, Dropped: c.Dropped, Replayed: c.Replayed,
			Transports: transportCounters(u.Outlet.Counters()), Deliveries: s.deliveryCounters(u),
		})
	}
	return all
}

func transportCounters(list []transport.Counter) (all []TransportCounters) {
	for _, c := range list {
		all = append(all, TransportCounters{Transport: c.Transport, Published: int64(c.Published), Dropped: int64(c.Dropped), Errors: int64(c.Errors)})
	}
	return all
}

// Subscribers returns the open streams.
func (s *Server) Subscribers() []Subscriber {
	var all []Subscriber
	for _, u := range s.units.Units() {
		tenant, datastore := u.Name()
		for _, sub := range u.Hub.Subscribers() {
			a, about := sub.Account(), sub.View.About()
			all = append(all, Subscriber{
				ID: sub.ID, Tenant: tenant, Datastore: datastore, Entity: about.Entity.Name,
				Subscription: about.Subscription, Channel: about.Channel, Principal: about.Principal.ID, Since: sub.Since,
				Delivered: a.Delivered, Dropped: a.Dropped, Replayed: a.Replayed, Lagging: a.Lagging,
			})
		}
	}
	return all
}

// openStreams is Subscribers as the admin routes show them.
func (s *Server) openStreams(tenant string) []admin.Stream {
	var all []admin.Stream
	for _, sub := range s.Subscribers() {
		if sub.Tenant == tenant {
			all = append(all, admin.Stream{
				ID: sub.ID, Tenant: sub.Tenant, Datastore: sub.Datastore, Entity: sub.Entity,
				Subscription: sub.Subscription, Channel: sub.Channel, Principal: sub.Principal, Since: sub.Since, Lagging: sub.Lagging,
				Delivered: uint64(sub.Delivered), Dropped: uint64(sub.Dropped), Replayed: uint64(sub.Replayed),
			})
		}
	}
	return all
}

// readings are the counters as the metrics read them.
func (s *Server) readings() []admin.Unit {
	var all []admin.Unit
	for _, u := range s.units.Units() {
		tenant, datastore := u.Name()
		c := u.Hub.Counters()
		held, holder := s.held(tenant, datastore)
		all = append(all, admin.Unit{
			Tenant: tenant, Datastore: datastore, Subscribers: c.Subscribers, Topics: c.Topics,
			Published: uint64(c.Published), Delivered: uint64(c.Delivered), Dropped: uint64(c.Dropped),
			Replayed: uint64(c.Replayed), FilterFailures: uint64(c.Failing), Lag: u.Tail.Lag(),
			Held: held, Holder: holder, Transports: u.Outlet.Counters(), Deliveries: deliveryReading(u),
		})
	}
	return all
}

// held says for how long a transaction has held up the log of a datastore that
// is shared, and which process of the database does.
func (s *Server) held(tenant, datastore string) (time.Duration, int32) {
	if shared := s.shared[[2]string{tenant, datastore}]; shared != nil {
		return shared.Held()
	}
	return 0, 0
}

// unready says why requests should go elsewhere, without names: anyone may ask.
func (s *Server) unready() []string {
	if s.stopping.Load() {
		return []string{"the server is stopping"}
	}
	var reasons []string
	for _, u := range s.units.Units() {
		if why := u.Unready(); why != "" {
			reasons = append(reasons, why)
		}
	}
	return reasons
}
