package describe

import (
	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
)

// The codes that requests of a kind may be refused with, beside those of every request.
var (
	ofBodies = []fault.Code{fault.MalformedBody, fault.BodyTooLarge, fault.UnsupportedMediaType, fault.Invalid}
	ofWrites = []fault.Code{fault.RowRefused, fault.Conflict, fault.EventConditionFailed}
	ofRows   = []fault.Code{fault.NotFound, fault.PreconditionFailed}
)

func codes(sets ...[]fault.Code) (all []fault.Code) {
	for _, set := range sets {
		all = append(all, set...)
	}
	return all
}

// one is a set of codes written in place.
func one(codes ...fault.Code) []fault.Code { return codes }

const merge = "application/merge-patch+json"

// under is the path of an entity.
func (k known) under() string { return "/data/" + k.Name }

// path adds a path, unless nothing of it is the caller's.
func (d *openAPI) path(path string, methods object) {
	if len(methods) > 0 {
		d.paths = append(d.paths, member{path, methods})
	}
}

// collection adds the paths of an entity as a whole.
func (d *openAPI) collection(k known) {
	var methods object
	if k.grant.Can(access.Read) {
		methods = append(methods, member{"get", d.list(k)})
	}
	if k.grant.Can(access.Create) {
		methods = append(methods, member{"post", d.create(k)})
	}
	filter := k.filterOf(true)
	if k.grant.Can(access.Update) && filter != nil {
		methods = append(methods, member{"patch", d.operation(request{
			id: "patchMany." + k.Name, summary: "Change all " + k.Name + " rows that a filter selects", tag: k.Name, parameters: filter,
			body: bodyOf(schemaRef(changesKind, k), merge), answers: object{changed},
			faults: codes(ofBodies, ofWrites, one(fault.InvalidQuery, fault.TooManyRows)),
		})})
	}
	if k.grant.Can(access.Delete) && filter != nil {
		methods = append(methods, member{"delete", d.operation(request{
			id: "deleteMany." + k.Name, summary: "Delete all " + k.Name + " rows that a filter selects", tag: k.Name, parameters: filter,
			answers: object{changed}, faults: codes(ofWrites, one(fault.InvalidQuery, fault.TooManyRows)),
		})})
	}
	d.path(k.under(), methods)
	if k.grant.Can(access.Create) {
		d.path(k.under()+"/bulk", object{{"post", d.bulk(k)}})
	}
}

// changed is the answer of a write of many rows.
var changed = answer("200", "How many rows were written.", record("changed", "integer"))

func (d *openAPI) list(k known) object {
	page := object{
		{"type", "object"}, {"required", []string{"items", "limit", "offset", "total", "next"}},
		{"properties", object{
			{"items", listOf(schemaRef(rowKind, k))},
			{"limit", object{{"type", "integer"}}},
			{"offset", object{{"type", list{"integer", "null"}}}},
			{"total", object{{"type", list{"integer", "null"}}, {"description", "Null without count=true."}}},
			{"next", object{{"type", list{"string", "null"}}, {"description", "The cursor of the next page; null on the last."}}},
		}},
	}
	return d.operation(request{
		id: "list." + k.Name, summary: "List " + k.Name + " rows", tag: k.Name, parameters: k.listParameters(),
		answers: object{answer("200", "A page.", page)}, faults: one(fault.InvalidQuery, fault.InvalidCursor),
	})
}

func (d *openAPI) create(k known) object {
	shown := object{{"type", "object"}, {"properties", object{{"id", typeOf(k.Fields[k.ID])}}}, {"required", []string{"id"}}}
	if k.grant.Can(access.Read) {
		shown = schemaRef(rowKind, k)
	}
	return d.operation(request{
		id: "create." + k.Name, summary: "Create a row of " + k.Name, tag: k.Name, parameters: d.idempotency(), body: bodyOf(schemaRef(createKind, k)),
		answers: object{tagged("201", "The row, or its id alone where you may not read it.", shown, "Location")},
		faults:  codes(ofBodies, ofWrites, one(fault.IdempotencyMismatch)),
	})
}

func (d *openAPI) bulk(k known) object {
	rows := listOf(schemaRef(createKind, k))
	body := bodyOf(rows)
	body = body.with("content", append(jsonContent(rows), member{"application/x-ndjson", object{
		{"schema", object{{"type", "string"}, {"description", "A row a line."}}},
	}}))
	ids := object{
		{"type", "object"}, {"required", []string{"ids"}},
		{"properties", object{{"ids", listOf(typeOf(k.Fields[k.ID]))}}},
	}
	return d.operation(request{
		id: "bulk." + k.Name, summary: "Create many rows of " + k.Name + ", all or none", tag: k.Name, parameters: d.idempotency(), body: body,
		answers: object{answer("201", "The ids, in the order of the rows.", ids)},
		faults:  codes(ofBodies, ofWrites, one(fault.TooManyRows, fault.IdempotencyMismatch)),
	})
}

// row adds the paths of one row.
func (d *openAPI) row(k known) {
	var methods object
	if k.grant.Can(access.Read) {
		methods = append(methods, member{"get", d.operation(request{
			id: "get." + k.Name, summary: "Read a row of " + k.Name, tag: k.Name,
			parameters: list{k.idOf(), k.fieldsOf(), headerOf("If-None-Match", "The tag of the row that you have.")},
			answers:    object{tagged("200", "The row.", schemaRef(rowKind, k)), empty("304", "The row is the one that you have.")},
			faults:     one(fault.NotFound, fault.InvalidQuery),
		})})
	}
	if k.grant.Can(access.Update) {
		methods = append(methods,
			member{"put", d.operation(request{
				id: "replace." + k.Name, summary: "Replace a row of " + k.Name, tag: k.Name, parameters: append(list{k.idOf()}, conditions()...),
				body: bodyOf(schemaRef(replaceKind, k)), answers: d.written(k), faults: codes(ofBodies, ofRows, ofWrites),
			})},
			member{"patch", d.operation(request{
				id: "patch." + k.Name, summary: "Change a row of " + k.Name, tag: k.Name, parameters: append(list{k.idOf()}, conditions()...),
				body: bodyOf(schemaRef(changesKind, k), merge), answers: d.written(k), faults: codes(ofBodies, ofRows, ofWrites),
			})})
	}
	if k.grant.Can(access.Delete) {
		methods = append(methods, member{"delete", d.operation(request{
			id: "delete." + k.Name, summary: "Delete a row of " + k.Name, tag: k.Name, parameters: append(list{k.idOf()}, conditions()...),
			answers: object{empty("204", "It is deleted.")}, faults: codes(ofRows, ofWrites, one(fault.AlreadyDeleted)),
		})})
	}
	d.path(k.under()+"/{id}", methods)
	d.deletedRow(k)
}

// deletedRow adds what may be done with a row that is deleted.
func (d *openAPI) deletedRow(k known) {
	if k.SoftDelete && k.grant.Can(access.Restore) {
		d.path(k.under()+"/{id}/restore", object{{"patch", d.operation(request{
			id: "restore." + k.Name, summary: "Bring a deleted row of " + k.Name + " back", tag: k.Name,
			parameters: append(list{k.idOf()}, conditions()...), answers: d.written(k),
			faults: codes(ofRows, ofWrites, one(fault.NotDeleted, fault.Invalid)),
		})}})
	}
	if k.grant.Can(access.Purge) {
		d.path(k.under()+"/{id}/purge", object{{"delete", d.operation(request{
			id: "purge." + k.Name, summary: "Remove a row of " + k.Name + " for good", tag: k.Name,
			parameters: append(list{k.idOf()}, conditions()...), answers: object{empty("204", "It is gone.")}, faults: codes(ofRows, ofWrites),
		})}})
	}
}

// written is the answer of a write on a row: the row as far as the caller may read it.
func (d *openAPI) written(k known) object {
	nothing := empty("204", "It is written; you may not read the row.")
	if !k.grant.Can(access.Read) {
		return object{nothing}
	}
	return object{tagged("200", "The row as it is now.", k.whole()), nothing}
}
