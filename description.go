package rowcast

import (
	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/describe"
)

// described is what is served, as descriptions of it are made from.
func (s *Server) described() describe.Config {
	doc := s.document
	c := describe.Config{Realtime: doc.Realtime, AdminRole: doc.Admin.Role, Cookie: doc.Auth.Cookie}
	for i := range doc.Tenants {
		t := &doc.Tenants[i]
		c.Tenants = append(c.Tenants, describe.Tenant{
			Name: t.Name, Model: t.Model, Policies: t.Policies, Handled: s.config.handled(t), Targets: describedTargets(doc.Events.Targets, t.Name),
		})
	}
	return c
}

// handled are the operations in Go of a tenant's entities.
func (c Config) handled(t *boot.Tenant) (all []describe.Handled) {
	for name := range t.Datastores {
		for _, h := range c.handlers(t.Model, name) {
			all = append(all, describe.Handled{Entity: h.Entity, Operation: h.Operation})
		}
	}
	return all
}

func describedTargets(declared []boot.Target, tenant string) (all []describe.Target) {
	for _, t := range targets(declared, tenant) {
		all = append(all, describe.Target{Name: t.Name, Topics: t.Topics, As: t.As, Ordered: t.Ordered})
	}
	return all
}
