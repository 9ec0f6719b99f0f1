package contract

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Masks hold on writes too: sending back what the mask shows never erases the
// value behind it, whatever the field's type (a mask shows null for all but
// plain text).
func TestSendingBackAMaskErasesNothing(t *testing.T) {
	values := map[string]string{
		"string": `"secret"`, "int": `7`, "bigint": `7`, "double": `1.5`, "boolean": `true`, "date": `"2026-01-01"`,
		"datetime": `"2026-01-01T00:00:00Z"`, "timestamp": `"2026-01-01T00:00:00Z"`, "ulid": `"01ARZ3NDEKTSV4RRFFQ69G5FAV"`,
		"uuid": `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`, "object": `{"a":1}`, "array": `[1]`, "bytes": `"AAEC"`, "level": `"high"`,
	}
	var schema strings.Builder
	schema.WriteString("enums: [{name: level, values: [{value: low}, {value: high}]}]\nentities:\n  - name: safe\n    fields:\n      - {name: id, type: string}\n")
	body := `{"id":"s"`
	for typ, v := range values {
		schema.WriteString("      - {name: a_" + typ + ", type: " + typ + ", mask: {}}\n")
		body += `,"a_` + typ + `":` + v
	}
	schema.WriteString(`    access:
      actions: {language: expr, expression: '"staff" in user.roles ? ["create","read","update","unmask"] : ["read","update"]'}
`)
	s := servertest.Start(t, servertest.Options{Schema: schema.String()})
	sue, ann := s.User("sue", "staff"), s.User("ann")
	before := sue.Post("/data/safe", body+"}").Is(201).Body
	shown := ann.Get("/data/safe/s").Is(200).JSON()
	for typ := range values {
		field, sent := "a_"+typ, "null"
		if text, ok := shown[field].(string); ok {
			sent = `"` + text + `"`
		}
		p := ann.Patch("/data/safe/s", `{"`+field+`":`+sent+`}`).Problem(422, "invalid")
		if len(p.Errors) != 1 || p.Errors[0].Field != field || p.Errors[0].Code != "masked_value" {
			t.Errorf("%s: sent back %s, refused as %+v", typ, sent, p.Errors)
		}
	}
	if after := sue.Get("/data/safe/s").Is(200).Body; after != before {
		t.Errorf("the row was changed:\n before %s\n after  %s", before, after)
	}
}
