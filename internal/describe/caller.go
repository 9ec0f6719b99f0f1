package describe

import (
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// caller is what one principal may know of its tenant.
type caller struct {
	*Config
	tenant    *Tenant
	principal *access.Principal
	admin     bool
	entities  []known
}

// known is an entity on which the caller may do something.
type known struct {
	*schema.Entity
	grant      *access.Grant
	within     *access.Grant // what grant shows is shown only as far as this reads it; nil: all
	operations []operation
}

// operation is a custom operation that the caller may take.
type operation struct {
	*schema.Operation
	handled bool // in Go
}

// caller finds what the principal may know. A tenant that is not served has
// nothing, as under every route.
func (c *Config) caller(p *access.Principal) *caller {
	role := c.AdminRole
	if role == "" {
		role = "admin"
	}
	out := &caller{Config: c, tenant: &Tenant{Name: p.Tenant, Model: &schema.Model{}}, principal: p, admin: p.HasRole(role)}
	for i := range c.Tenants {
		if c.Tenants[i].Name == p.Tenant {
			out.tenant = &c.Tenants[i]
		}
	}
	for _, e := range out.tenant.Model.Entities {
		policy, served := out.tenant.Policies[e.Name]
		if !served {
			continue
		}
		// A script that fails denies what it was to grant, and each request that it
		// denies is where that is logged.
		grant, _ := policy.Grant(p)
		k := known{Entity: e, grant: grant, operations: out.tenant.operations(e, grant)}
		if k.any(access.Create, access.Read, access.Update, access.Delete, access.Restore, access.Purge) {
			out.entities = append(out.entities, k)
		}
	}
	return out
}

// operations returns those that the grant allows: as declared, then those that Go
// alone knows of.
func (t *Tenant) operations(e *schema.Entity, g *access.Grant) (all []operation) {
	add := func(op *schema.Operation, handled bool) {
		if action, ok := access.ParseAction(op.Action); ok && g.Can(action) {
			all = append(all, operation{op, handled})
		}
	}
	for i := range e.Operations {
		if op, handled := t.handled(e.Name, e.Operations[i].Name); handled {
			add(op, true)
		} else {
			add(&e.Operations[i], false)
		}
	}
	for _, h := range t.Handled {
		if _, declared := e.Operation(h.Operation.Name); h.Entity == e.Name && !declared {
			add(h.Operation, true)
		}
	}
	return all
}

func (t *Tenant) handled(entity, name string) (*schema.Operation, bool) {
	for _, h := range t.Handled {
		if h.Entity == entity && h.Operation.Name == name {
			return h.Operation, true
		}
	}
	return nil, false
}

// onRow reports whether the operation's path names a row: not where it is for
// many, and not where its handler makes the row.
func (o operation) onRow() bool {
	return o.Cardinality == "one" && (!o.handled || o.Action != access.Create.String())
}

// readable finds an entity that the caller may read.
func (c *caller) readable(name string) (known, bool) {
	for _, k := range c.entities {
		if k.Name == name {
			return k, k.grant.Can(access.Read)
		}
	}
	return known{}, false
}

func (k known) any(actions ...access.Action) bool {
	for _, a := range actions {
		if k.grant.Can(a) {
			return true
		}
	}
	return false
}

// shows reports whether a row is described with the field.
func (k known) shows(i int) bool {
	return k.grant.Reads(i) && (k.within == nil || k.within.Reads(i))
}

// creates reports whether a body that creates is described with the field (the
// package comment has the rule).
func (k known) creates(i int) bool {
	switch {
	case k.Fields[i].System:
		return false
	case k.grant.Can(access.Read) && !k.grant.Reads(i):
		return k.demands(i)
	default:
		return true
	}
}

// updates is creates for a body that changes a row. One that the caller does not
// read as it is may not be sent at all where it is final.
func (k known) updates(i int) bool {
	f := k.Fields[i]
	final := f.Final || i == k.ID
	if f.System || (final && !k.grant.ReadsPlain(i)) {
		return false
	}
	return k.grant.Reads(i) || !k.grant.Can(access.Read)
}

// demands reports whether a create is refused without the field.
func (k known) demands(i int) bool {
	f := k.Fields[i]
	if f.Default != nil {
		return false
	}
	if i == k.ID {
		return f.Type != value.Integer && f.Type != value.BigInt // those are drawn by the store
	}
	return f.Required
}

// keeps reports whether PUT keeps the field where it is not sent.
func (k known) keeps(i int) bool { return k.Fields[i].Final || i == k.ID || !k.grant.ReadsPlain(i) }

// filterable reports whether the caller may filter by the field.
func (k known) filterable(i int) bool {
	if !k.grant.ReadsPlain(i) {
		return false
	}
	for _, field := range k.Filter.Fields {
		if field == i {
			return true
		}
	}
	return false
}

// sortable reports whether the caller may sort by the field.
func (k known) sortable(i int) bool { return k.grant.ReadsPlain(i) && k.Fields[i].Type.Scalar() }

// names returns the names of the fields that keep chooses, in declared order.
func (k known) names(keep func(field int) bool) []string {
	names := []string{}
	for i, f := range k.Fields {
		if keep(i) {
			names = append(names, f.Name)
		}
	}
	return names
}
