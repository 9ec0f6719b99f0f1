package httpapi_test

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/httpapi"
)

// An operation answers 200 and the row as its caller may read it, 204 where the
// caller may not read it at all, and its refusals come in the order of a write's.
func TestAnOperationOverHTTP(t *testing.T) {
	s := world(t, httpapi.Config{})
	json := map[string]string{"Content-Type": "application/json"}
	for path, body := range map[string]string{
		"/data/item": `{"id":"a/b","title":"lamp","total":1}`,
		"/data/drop": `{"title":"x"}`,
	} {
		ask{as: "ann", method: "POST", path: path, headers: json, body: body}.do(t, s.Server).is(t, 201)
	}
	got := ask{as: "ann", method: "POST", path: "/data/item/a%2Fb/finish"}.do(t, s.Server)
	got.is(t, 200, `{"id":"a/b","title":"done","total":1,"owner_id":"ann"}`)
	got.has(t, "ETag", ask{as: "ann", method: "GET", path: "/data/item/a%2Fb"}.do(t, s.Server).header.Get("ETag"))
	ask{as: "ann", method: "POST", path: "/data/drop/1/stamp", headers: json, body: " {} "}.do(t, s.Server).is(t, 204, "")
	ask{as: "sue", method: "GET", path: "/data/drop/1"}.do(t, s.Server).is(t, 200, `{"id":1,"title":"stamped"}`)

	with := func(name, value string) map[string]string {
		return map[string]string{"Content-Type": "application/json", name: value}
	}
	for _, c := range []struct {
		name, as, path string
		headers        map[string]string
		body           string
		status         int
		code           string
	}{
		{"no credential, and nothing is told", "", "/data/item/a%2Fb/nothing", nil, "x", 401, "unauthenticated"},
		{"no such entity", "ann", "/data/nothing/1/finish", nil, "x", 404, "entity_not_found"},
		{"another tenant's entity", "eve", "/data/item/1/finish", nil, "x", 404, "entity_not_found"},
		{"no such operation", "ann", "/data/item/a%2Fb/paint", nil, "x", 404, "operation_not_found"},
		{"in other letters", "ann", "/data/item/a%2Fb/Finish", nil, "x", 404, "operation_not_found"},
		{"the action", "ann", "/data/drop/1/burn", nil, "x", 403, "forbidden"},
		{"a parameter", "ann", "/data/item/nope/finish?x=1", nil, "x", 400, "bad_parameter"},
		{"a body of another type", "ann", "/data/item/nope/finish", map[string]string{"Content-Type": "text/plain"}, "x", 415, "unsupported_media_type"},
		{"a body that is no JSON", "ann", "/data/item/nope/finish", json, "x", 400, "malformed_body"},
		{"a body with something in it", "ann", "/data/item/nope/finish", json, `{"title":"mine"}`, 400, "malformed_body"},
		{"a body that is no object", "ann", "/data/item/nope/finish", json, `[]`, 400, "malformed_body"},
		{"no such row", "ann", "/data/item/nope/finish", with("If-Match", `"x"`), "{}", 404, "not_found"},
		{"another's row", "bob", "/data/item/a%2Fb/finish", nil, "", 404, "not_found"},
		{"another version", "ann", "/data/item/a%2Fb/give", with("If-Match", `"x"`), "", 412, "precondition_failed"},
		{"the row as written", "ann", "/data/item/a%2Fb/give", nil, "", 403, "row_refused"},
		{"below the entity", "ann", "/data/item/finish", nil, "", 405, "method_not_allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ask{as: c.as, method: "POST", path: c.path, headers: c.headers, body: c.body}.do(t, s.Server).refused(t, c.status, c.code)
		})
	}
	if got := (ask{as: "ann", method: "POST", path: "/data/item/x/paint"}).do(t, s.Server); !strings.Contains(got.body, `"available":["finish","give","raise"]`) {
		t.Errorf("got %s", got.body)
	}
	ask{as: "ann", method: "GET", path: "/data/item/x/finish"}.do(t, s.Server).refused(t, 404, "route_not_found")
	ask{as: "ann", method: "OPTIONS", path: "/data/item/x/finish"}.do(t, s.Server).has(t, "Allow", "OPTIONS, POST")
}

// One key is one taking of the operation, for this row and this operation alone.
func TestAnOperationUnderAnIdempotencyKey(t *testing.T) {
	s := world(t, httpapi.Config{})
	json := map[string]string{"Content-Type": "application/json"}
	ask{as: "ann", method: "POST", path: "/data/item", headers: json, body: `{"id":"a","title":"lamp","total":1}`}.do(t, s.Server).is(t, 201)
	for i := range 2 {
		got := ask{as: "ann", method: "POST", path: "/data/item/a/raise", headers: map[string]string{"Idempotency-Key": "k"}}.do(t, s.Server)
		got.is(t, 200, `{"id":"a","title":"lamp","total":2,"owner_id":"ann"}`)
		if want := []string{"", "true"}[i]; got.header.Get("Idempotent-Replayed") != want {
			t.Errorf("time %d: replayed is %q", i, got.header.Get("Idempotent-Replayed"))
		}
	}
	ask{as: "ann", method: "POST", path: "/data/item/a/finish", headers: map[string]string{"Idempotency-Key": "k"}}.do(t, s.Server).refused(t, 422, "idempotency_mismatch")
}
