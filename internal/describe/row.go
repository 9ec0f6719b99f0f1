package describe

import (
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/value"
)

// The kinds of schema that an entity has; a component is named KIND.ENTITY, which
// no two can share, for a kind holds no dot.
const (
	rowKind     = "row"
	createKind  = "create"
	replaceKind = "replace"
	changesKind = "changes"
	filterKind  = "filter"
)

// entitySchemas adds the components of the entity that the caller has a use for.
func (d *openAPI) entitySchemas(k known) {
	reads, updates := k.grant.Can(access.Read), k.grant.Can(access.Update)
	if reads {
		d.schemas = append(d.schemas, member{rowKind + "." + k.Name, k.row()})
		if len(k.names(k.filterable)) > 0 {
			d.schemas = append(d.schemas, member{filterKind + "." + k.Name, k.filter()})
		}
	}
	if k.grant.Can(access.Create) {
		d.schemas = append(d.schemas, member{createKind + "." + k.Name, k.body(k.creates, k.demands)})
	}
	if updates {
		needs := func(i int) bool { return k.demands(i) && !k.keeps(i) }
		d.schemas = append(d.schemas,
			member{replaceKind + "." + k.Name, k.body(k.updates, needs)},
			member{changesKind + "." + k.Name, k.body(k.updates, nil)})
	}
}

// row describes a row as the caller reads it. No member is required: fields=
// leaves out what it does not name.
func (k known) row() object {
	return object{{"type", "object"}, {"title", k.Name}, {"properties", k.properties(k.shows, k.shown)}}
}

// whole is a row with all that the caller reads of it.
func (k known) whole() object {
	return append(schemaRef(rowKind, k), member{"required", k.names(k.shows)})
}

// body describes an object that is sent.
func (k known) body(keep, needed func(field int) bool) object {
	o := object{{"type", "object"}, {"properties", k.properties(keep, k.sent)}}
	if needed == nil {
		return o
	}
	if names := k.names(func(i int) bool { return keep(i) && needed(i) }); len(names) > 0 {
		o = append(o, member{"required", names})
	}
	return o
}

func (k known) properties(keep func(field int) bool, describe func(field int) object) object {
	properties := object{}
	for i, f := range k.Fields {
		if keep(i) {
			properties = append(properties, member{f.Name, describe(i)})
		}
	}
	return properties
}

// filter describes the tree of a filter, whose branches are like the whole.
func (k known) filter() object {
	branch := schemaRef(filterKind, k)
	properties := object{
		{"and", object{{"type", "array"}, {"items", branch}}},
		{"or", object{{"type", "array"}, {"items", branch}}},
		{"not", branch},
	}
	for i, f := range k.Fields {
		if !k.filterable(i) {
			continue
		}
		properties = append(properties, member{f.Name, comparisons(typeOf(f), f.Type == value.String, f.Type.Scalar())})
	}
	return object{{"type", "object"}, {"properties", properties}, {"additionalProperties", false}}
}

// comparisons describes the operators that a field of a type takes.
func comparisons(operand object, text, scalar bool) object {
	operators := object{}
	many := object{{"type", list{"array", "string"}}, {"items", operand}, {"description", "Values, or their texts with commas between."}}
	if scalar {
		for _, name := range []string{"eq", "ne", "lt", "lte", "gt", "gte"} {
			operators = append(operators, member{name, operand})
		}
		operators = append(operators, member{"in", many}, member{"notIn", many}, member{"between", many})
	}
	if text {
		operators = append(operators, member{"like", operand}, member{"ilike", operand})
	}
	boolean := object{{"type", "boolean"}}
	operators = append(operators, member{"isNull", boolean}, member{"isNotNull", boolean})
	return object{{"type", "object"}, {"properties", operators}, {"additionalProperties", false}}
}

func schemaRef(kind string, k known) object { return ref("schemas", kind+"."+k.Name) }
