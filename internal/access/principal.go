package access

import (
	"slices"
	"time"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/script"
)

// Principal is a verified caller. It is not changed once made.
type Principal struct {
	ID        string // "" when Anonymous
	Anonymous bool
	Roles     []string
	Tenant    string
	Claims    map[string]any // as decoded JSON; numbers are json.Number
	Expires   time.Time      // zero: never
}

// HasRole reports whether the principal bears the role.
func (p *Principal) HasRole(role string) bool { return slices.Contains(p.Roles, role) }

// User returns the principal as scripts see it.
func (p *Principal) User() script.User {
	return script.User{ID: p.ID, Anonymous: p.Anonymous, Roles: p.Roles, Tenant: p.Tenant, Claims: p.Claims}
}

// Caller returns the principal as row rules see it.
func (p *Principal) Caller() predicate.Caller {
	return predicate.Caller{ID: p.ID, Anonymous: p.Anonymous, Roles: p.Roles, Tenant: p.Tenant, Claims: p.Claims}
}
