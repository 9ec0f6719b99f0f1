package rowcast

import (
	"cmp"
	"slices"

	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/tenancy"
)

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
