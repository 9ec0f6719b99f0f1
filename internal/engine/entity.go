package engine

import (
	"regexp"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// entity is a schema entity with everything the engine compiled for it at boot.
type entity struct {
	*schema.Entity
	policy     *access.Policy
	patterns   map[*schema.Validation]*regexp.Regexp
	publishers []publisher
	channel    *channel              // nil: it has none
	operations map[string]*Operation // by name
	// Positions of the fields that rowcast itself sets; -1 where the entity has none.
	createdBy, createdOn, updatedBy, updatedOn, deletedBy, deletedOn int
}

func compileEntity(m *schema.Model, policy *access.Policy, realtime *schema.Realtime) (*entity, document.Refusals) {
	s := policy.Entity
	at := func(name string, declared bool) int {
		if i, ok := s.Field(name); ok && declared {
			return i
		}
		return -1
	}
	ent := &entity{
		Entity: s, policy: policy, channel: compileChannel(policy, realtime), patterns: map[*schema.Validation]*regexp.Regexp{},
		createdBy: at("createdby", s.Common), createdOn: at("createdon", s.Common),
		updatedBy: at("updatedby", s.Common), updatedOn: at("updatedon", s.Common),
		deletedBy: at("deletedby", s.SoftDelete), deletedOn: at("deletedon", s.SoftDelete),
	}
	refusals := ent.compilePatterns()
	for i := range s.Events {
		p, refused := compilePublisher(m, policy, &s.Events[i])
		ent.publishers = append(ent.publishers, p)
		refusals = append(refusals, refused...)
	}
	return ent, append(refusals, ent.compileOperations()...)
}

func (ent *entity) compilePatterns() (refusals document.Refusals) {
	for _, f := range ent.Fields {
		for i := range f.Validations {
			v := &f.Validations[i]
			if v.Kind != "pattern" {
				continue
			}
			re, err := regexp.Compile(v.Pattern)
			if err != nil {
				refusals = append(refusals, document.Refusal{Pos: v.Pos,
					Message: "pattern of " + f.Name + " is not a regular expression (RE2): " + err.Error()})
				continue
			}
			ent.patterns[v] = re
		}
	}
	return refusals
}

// deleted reports whether the row is soft-deleted.
func (ent *entity) deleted(row store.Row) bool {
	return ent.deletedOn >= 0 && !row[ent.deletedOn].IsNull()
}

// subject is the row's id as text.
func (ent *entity) subject(row store.Row) string {
	return ent.idText(row[ent.ID])
}

func (ent *entity) idText(id value.Value) string {
	return string(value.AppendText(nil, ent.Fields[ent.ID].Type, id))
}

// id reads the id of a path. A text that cannot be an id names no row.
func (ent *entity) id(text string) (value.Value, error) {
	id, err := ent.ParseID(text)
	if err != nil || id.IsNull() {
		return value.Value{}, ent.notFound()
	}
	return id, nil
}

func (ent *entity) notFound() error {
	return fault.New(fault.NotFound, "there is no row of %s with that id, or you may not see it", ent.Name)
}

// passes reports whether the grant's rules for the action hold of the row.
// Unknown denies.
func passes(g *access.Grant, a access.Action, row store.Row) bool {
	return g.Rows(a).Eval(row) == predicate.True
}

// shown returns the row if a GET by this grant would answer it, else nil.
func (ent *entity) shown(g *access.Grant, row store.Row) store.Row {
	if row == nil || ent.deleted(row) || !g.Can(access.Read) || !passes(g, access.Read, row) {
		return nil
	}
	return row
}
