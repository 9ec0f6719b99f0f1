package describe

import "github.com/rowcast/rowcast/internal/access"

// queryOf is a parameter of a query.
func queryOf(name, description string, schema object) object {
	return object{{"name", name}, {"in", "query"}, {"description", description}, {"schema", schema}}
}

// headerOf is a header of a request.
func headerOf(name, description string) object {
	return object{{"name", name}, {"in", "header"}, {"description", description}, {"schema", object{{"type", "string"}}}}
}

// idOf is the part of a path that names a row.
func (k known) idOf() object {
	return object{{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", typeOf(k.Fields[k.ID])}}
}

// oneOrMore is a list in one parameter, with commas between.
func oneOrMore(name, description string, names []string) object {
	schema := object{{"type", "array"}, {"items", object{{"type", "string"}, {"enum", texts(names)}}}, {"minItems", 1}}
	return append(queryOf(name, description, schema), member{"style", "form"}, member{"explode", false})
}

const filterText = "filter[FIELD][OPERATOR]=VALUE, several joined by and; filter[or][0][FIELD][OPERATOR]=VALUE for branches; or filter= and the same tree as JSON."

// filterOf is the parameters that begin with filter; nil where the caller may
// filter by nothing.
func (k known) filterOf(required bool) list {
	if len(k.names(k.filterable)) == 0 {
		return nil
	}
	p := queryOf("filter", filterText, schemaRef(filterKind, k))
	p = append(p, member{"style", "deepObject"}, member{"explode", true})
	if required {
		p = append(p, member{"required", true})
	}
	return list{p}
}

func (k known) fieldsOf() object {
	return oneOrMore("fields", "Only these fields.", k.names(k.shows))
}

// listParameters are those of a list.
func (k known) listParameters() list {
	sorts := []string{}
	for _, name := range k.names(k.sortable) {
		sorts = append(sorts, name, "-"+name)
	}
	sort := oneOrMore("sort", "In this order; - before a field is descending. Nulls come last; the id breaks ties.", sorts)
	sort = sort.with("schema", object{{"type", "array"}, {"items", object{{"type", "string"}, {"enum", texts(sorts)}}}, {"minItems", 1}, {"maxItems", 8}})
	boolean := object{{"type", "boolean"}, {"default", false}}
	all := append(k.filterOf(false), sort,
		queryOf("limit", "Rows of a page.", object{{"type", "integer"}, {"minimum", 1}, {"maximum", 100}, {"default", 20}}),
		queryOf("offset", "Rows to pass over; not with cursor.", object{{"type", "integer"}, {"minimum", 0}, {"default", 0}}),
		queryOf("cursor", "next of the page before, with the same filter and sort.", object{{"type", "string"}}),
		k.fieldsOf(),
		queryOf("count", "Whether total is counted.", boolean))
	if k.SoftDelete && k.grant.Can(access.Restore) {
		all = append(all, queryOf("deleted", "The deleted rows instead, of those that you may restore.", boolean))
	}
	return all
}

// conditions are the preconditions of a write on a row.
func conditions() list {
	return list{
		headerOf("If-Match", "The tag that the row must have, or *."),
		headerOf("If-None-Match", "A tag that the row must not have, or *."),
	}
}

// idempotency is the header of a POST that is to be carried out once; an anonymous
// caller has no identity to keep it under.
func (c *caller) idempotency() list {
	if c.principal.Anonymous {
		return nil
	}
	return list{headerOf("Idempotency-Key", "1 to 255 visible ASCII characters of your own: the same request under it is carried out once in 24 hours.")}
}
