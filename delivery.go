package rowcast

import (
	"cmp"
	"slices"

	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/tenancy"
)

// DeliveryCounters are one target's, for one unit: the attempts of this process.
type DeliveryCounters struct {
	Target    string
	Attempted int64 // requests made
	Delivered int64 // accepted
	Retried   int64 // to be made again
	Failed    int64 // given up: they wait for an operator
	LeaseLost int64 // another instance's by the time they had ended, and sent by that one again
}

// targets are the declared ones as a tenant's units know them.
func targets(declared []boot.Target, tenant string) []tenancy.Target {
	var all []tenancy.Target
	for _, t := range declared {
		target := tenancy.Target{
			Name: t.Name, URL: t.URL, Secrets: t.Secrets, Timeout: t.Timeout, Topics: t.Topics,
			Headers: t.Headers, Ordered: t.Ordered, MaxInFlight: t.MaxInFlight, Roots: t.Roots,
		}
		if t.As != nil {
			target.As = t.As.Principal(tenant)
		}
		all = append(all, target)
	}
	return all
}

// outboxes are a tenant's relays as the admin routes know them, in the order of
// their datastores' names.
func (s *Server) outboxes(tenant string) (all []admin.Outbox) {
	for _, u := range s.units.Units() {
		if name, datastore := u.Name(); name == tenant && u.Outbox != nil {
			all = append(all, admin.Outbox{Tenant: name, Datastore: datastore, Relay: u.Outbox})
		}
	}
	slices.SortFunc(all, func(a, b admin.Outbox) int { return cmp.Compare(a.Datastore, b.Datastore) })
	return all
}

// deliveryCounters are what the relay of a unit has counted, target by target.
func (s *Server) deliveryCounters(u *tenancy.Unit) (all []DeliveryCounters) {
	if u.Outbox == nil {
		return nil
	}
	counts := u.Outbox.Counters().Targets
	for _, t := range s.document.Events.Targets {
		c := counts[t.Name]
		all = append(all, DeliveryCounters{
			Target: t.Name, Attempted: int64(c.Attempted), Delivered: int64(c.Delivered), Retried: int64(c.Retried),
			Failed: int64(c.Failed), LeaseLost: int64(c.LeaseLost),
		})
	}
	return all
}

// deliveryReading is what the relay of a unit says from memory.
func deliveryReading(u *tenancy.Unit) admin.DeliveryReading {
	if u.Outbox == nil {
		return admin.DeliveryReading{}
	}
	return admin.DeliveryReading{Depths: u.Outbox.Depths(), Counters: u.Outbox.Counters(), Targets: u.Outbox.Targets()}
}
