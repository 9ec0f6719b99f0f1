package schema

import (
	"maps"
	"slices"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
)

// The built-in traits.
const (
	common     = "common"
	softDelete = "softdelete"
)

// trait is a named list of fields that entities inherit.
type trait struct {
	fields  []*Field
	pos     document.Pos
	builtin bool
}

func builtinTraits() map[string]*trait {
	system := func(name string, t value.Type) *Field { return &Field{Name: name, Type: t, System: true} }
	return map[string]*trait{
		common: {builtin: true, fields: []*Field{
			system("createdby", value.String), system("createdon", value.Timestamp),
			system("updatedby", value.String), system("updatedon", value.Timestamp),
		}},
		softDelete: {builtin: true, fields: []*Field{
			system("deletedby", value.String), system("deletedon", value.Timestamp),
		}},
	}
}

func (l *loader) trait(n *document.Node) {
	m := n.Map(&l.refusals, traitShape)
	nameNode := m.Need("name", "give the trait a name, which entities list under inherits")
	name := l.name(nameNode, labelName)
	t := &trait{pos: n.Pos}
	list := m.Need("fields", "add the fields that the trait brings")
	seen := map[string]bool{}
	for _, item := range list.List(&l.refusals) {
		f := l.field(item, false)
		if f == nil {
			continue
		}
		if seen[fold(f.Name)] {
			l.refusals.Add(item.Refusal("field %q stands twice in the trait, upper and lower case being one to a database; rename one", f.Name))
			continue
		}
		seen[fold(f.Name)] = true
		t.fields = append(t.fields, f)
	}
	first, taken := l.traits[name]
	switch {
	case name == "":
	case taken && first.builtin:
		l.refusals.Add(nameNode.Refusal("trait %q is built in; rename yours", name))
	case taken:
		l.refusals.Add(nameNode.Refusal("trait %q is declared twice, first at %s; rename one", name, first.pos))
	default:
		l.traits[name] = t
	}
}

// inherit adds the fields of the entity's traits, in inherits order.
func (l *loader) inherit(e *Entity, list *document.Node) {
	names, items := list.Texts(&l.refusals)
	for i, name := range names {
		t, ok := l.traits[name]
		switch {
		case !ok:
			l.unresolved(items[i], "trait", slices.Collect(maps.Keys(l.traits)))
			continue
		case slices.Contains(names[:i], name):
			l.refusals.Add(items[i].Refusal("trait %q is inherited twice; keep one", name))
			continue
		}
		e.Common = e.Common || (t.builtin && name == common)
		e.SoftDelete = e.SoftDelete || (t.builtin && name == softDelete)
		for _, f := range t.fields {
			own := *f
			if t.builtin {
				own.Pos = items[i].Pos
			}
			if !e.add(&own) {
				l.refusals.Add(items[i].Refusal("trait %q brings a field %q, which the entity has already; rename one", name, f.Name))
			}
		}
	}
}
