package describe

import (
	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
)

// customOperations adds the custom operations of an entity.
func (d *openAPI) customOperations(k known) {
	for _, op := range k.operations {
		path, parameters := k.under()+"/"+op.Name, list(nil)
		if op.onRow() {
			path, parameters = k.under()+"/{id}/"+op.Name, append(list{k.idOf()}, conditions()...)
		}
		if op.Kind != "read" {
			parameters = append(parameters, d.idempotency()...)
		}
		d.path(path, object{{"post", d.custom(k, op, parameters)}})
	}
}

func (d *openAPI) custom(k known, op operation, parameters list) object {
	r := request{
		id: "operate." + k.Name + "." + op.Name, summary: op.Name + " on " + k.Name, tag: k.Name, parameters: parameters, answers: d.outcome(k, op),
		faults: codes(ofBodies, ofRows, ofWrites, one(fault.IdempotencyMismatch)),
	}
	if op.handled {
		r.body = object{{"content", jsonContent(object{{"type", "object"}})}}
	}
	return d.operation(r)
}

// outcome is what an operation answers with.
func (d *openAPI) outcome(k known, op operation) object {
	switch {
	case op.Kind == "read":
		nothing := empty("204", "There is nothing to reply.")
		reply := answer("200", "What the operation replies.", object{})
		return object{reply, nothing}
	case op.Cardinality == "many":
		return object{changed}
	}
	return d.written(k)
}

// transaction adds the route that takes many writes at once, with those that the
// caller may make.
func (d *openAPI) transaction() {
	writes := list{}
	for _, k := range d.entities {
		writes = append(writes, k.steps()...)
	}
	if len(writes) == 0 {
		return
	}
	body := object{
		{"type", "object"}, {"required", []string{"writes"}},
		{"properties", object{{"writes", append(listOf(object{{"oneOf", writes}}), member{"minItems", 1})}}},
	}
	results := object{
		{"type", "object"}, {"required", []string{"results"}},
		{"properties", object{{"results", listOf(object{{"type", list{"object", "null"}}})}}},
	}
	d.path("/data/transaction", object{{"post", d.operation(request{
		id: "transaction", summary: "Many writes to one datastore, all or none", parameters: d.idempotency(), body: bodyOf(body),
		answers: object{answer("200", "A row for each write as you may read it, null for a delete.", results)},
		faults:  codes(ofBodies, ofRows, ofWrites, one(fault.EntityNotFound, fault.AlreadyDeleted, fault.TooManyRows, fault.IdempotencyMismatch)),
	})}})
}

// steps describes the writes of a transaction that the caller may make on the entity.
func (k known) steps() (all list) {
	step := func(op string, named bool, data object) {
		properties := object{{"op", object{{"const", op}}}, {"entity", object{{"const", k.Name}}}}
		required := []string{"op", "entity"}
		if named {
			properties, required = append(properties, member{"id", typeOf(k.Fields[k.ID])}), append(required, "id")
		}
		if data != nil {
			properties, required = append(properties, member{"data", data}), append(required, "data")
		}
		all = append(all, object{
			{"type", "object"}, {"properties", properties}, {"required", required}, {"additionalProperties", false},
		})
	}
	if k.grant.Can(access.Create) {
		step("create", false, schemaRef(createKind, k))
	}
	if k.grant.Can(access.Update) {
		step("update", true, schemaRef(changesKind, k))
	}
	if k.grant.Can(access.Delete) {
		step("delete", true, nil)
	}
	return all
}
