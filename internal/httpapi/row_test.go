package httpapi_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/httpapi"
)

func TestARowFromBirthToDeath(t *testing.T) {
	w := world(t, httpapi.Config{})
	made := ask{as: "ann", method: "POST", path: "/data/item", body: `{"title":"first","id":"i1","total":7}`}.do(t, w.Server)
	first := `{"id":"i1","title":"first","total":7,"owner_id":"ann"}`
	made.is(t, 201, first)
	made.has(t, "Location", "/data/item/i1")
	made.has(t, "Content-Type", "application/json")
	made.has(t, "Cache-Control", "private, no-cache")
	made.has(t, "Vary", "Authorization, Cookie")
	etag := made.header.Get("ETag")
	if len(etag) < 10 || etag[0] != '"' {
		t.Errorf("ETag is %s", etag)
	}

	got := ask{as: "ann", method: "GET", path: "/data/item/i1"}.do(t, w.Server)
	got.is(t, 200, first)
	got.has(t, "ETag", etag)
	got.has(t, "Cache-Control", "private, no-cache")
	got.has(t, "Vary", "Authorization, Cookie")
	head := ask{as: "ann", method: "HEAD", path: "/data/item/i1"}.do(t, w.Server)
	head.is(t, 200, "")
	head.has(t, "ETag", etag)
	head.has(t, "Content-Length", "54")
	for _, tag := range []string{etag, `W/` + etag, `"other", ` + etag, `"a,b", W/"c" ,` + etag, "*"} {
		same := ask{as: "ann", method: "GET", path: "/data/item/i1", headers: map[string]string{"If-None-Match": tag}}.do(t, w.Server)
		same.is(t, 304, "")
		same.has(t, "ETag", etag)
		same.has(t, "Vary", "Authorization, Cookie")
	}
	for _, tag := range []string{`"other"`, strings.Trim(etag, `"`), `"` + etag[1:4] + `"`, `"`, ","} {
		ask{as: "ann", method: "GET", path: "/data/item/i1", headers: map[string]string{"If-None-Match": tag}}.do(t, w.Server).is(t, 200, first)
	}

	ask{as: "ann", method: "PATCH", path: "/data/item/i1", body: `{"total":8}`, headers: map[string]string{"If-Match": `"other"`}}.do(t, w.Server).
		refused(t, 412, "precondition_failed")
	patched := ask{as: "ann", method: "PATCH", path: "/data/item/i1", body: `{"total":8}`, headers: map[string]string{"If-Match": etag}}.do(t, w.Server)
	patched.is(t, 200, `{"id":"i1","title":"first","total":8,"owner_id":"ann"}`)
	if patched.header.Get("ETag") == etag {
		t.Error("the tag is the same after a change")
	}
	put := ask{as: "ann", method: "PUT", path: "/data/item/i1", body: `{"title":"second"}`}.do(t, w.Server)
	put.is(t, 200, `{"id":"i1","title":"second","total":null,"owner_id":"ann"}`)
	ask{as: "ann", method: "PUT", path: "/data/item/none", body: `{"title":"second"}`}.do(t, w.Server).refused(t, 404, "not_found")

	ask{as: "ann", method: "PATCH", path: "/data/item/i1/restore"}.do(t, w.Server).refused(t, 409, "not_deleted")
	ask{as: "ann", method: "DELETE", path: "/data/item/i1"}.do(t, w.Server).is(t, 204, "")
	ask{as: "ann", method: "GET", path: "/data/item/i1"}.do(t, w.Server).refused(t, 404, "not_found")
	ask{as: "ann", method: "DELETE", path: "/data/item/i1"}.do(t, w.Server).refused(t, 409, "already_deleted")
	back := ask{as: "ann", method: "PATCH", path: "/data/item/i1/restore"}.do(t, w.Server)
	back.is(t, 200, `{"id":"i1","title":"second","total":null,"owner_id":"ann"}`)
	back.has(t, "ETag", put.header.Get("ETag"))
	ask{as: "ann", method: "DELETE", path: "/data/item/i1/purge"}.do(t, w.Server).refused(t, 403, "forbidden")
	ask{as: "sue", method: "DELETE", path: "/data/item/i1/purge"}.do(t, w.Server).is(t, 204, "")
	ask{as: "sue", method: "DELETE", path: "/data/item/i1/purge"}.do(t, w.Server).refused(t, 404, "not_found")
}

func TestIdsOfAnyText(t *testing.T) {
	w := world(t, httpapi.Config{})
	for _, id := range []string{
		"a/b", "a//b", "/", "//", "/a", "a/", ".", "..", "../x", "a/../b", "%", "%25", "%2F", "100%", "a b", "a+b", "é", "日本", "😀", "bulk", "transaction",
		"restore", "a?b=c", "a#b", "a;b", "a&b", "a:b", `a"b`, `a\b`, "<a>", strings.Repeat("x", 255),
	} {
		t.Run(id, func(t *testing.T) {
			made := ask{as: "sue", method: "POST", path: "/data/item", body: `{"id":` + quote(id) + `,"title":"x"}`}.do(t, w.Server)
			if made.status != 201 {
				t.Fatalf("%d %s", made.status, made.body)
			}
			place := made.header.Get("Location")
			if u, err := url.Parse(place); err != nil || u.RawQuery != "" || u.Fragment != "" {
				t.Errorf("Location %q: %v", place, err)
			}
			if strings.HasSuffix(place, "/.") || strings.HasSuffix(place, "/..") {
				t.Errorf("Location %q is a step in a path", place)
			}
			ask{as: "sue", method: "GET", path: place}.do(t, w.Server).is(t, 200, made.body)
			ask{as: "sue", method: "PATCH", path: place, body: `{"total":1}`}.do(t, w.Server).is(t, 200)
			ask{as: "sue", method: "PUT", path: place, body: `{"title":"y"}`}.do(t, w.Server).is(t, 200)
			ask{as: "sue", method: "DELETE", path: place}.do(t, w.Server).is(t, 204)
			ask{as: "sue", method: "PATCH", path: place + "/restore"}.do(t, w.Server).is(t, 200)
			ask{as: "sue", method: "DELETE", path: place + "/purge"}.do(t, w.Server).is(t, 204)
		})
	}
	for _, path := range []string{"/data/item/%00", "/data/item/%FF", "/data/item/%ED%A0%80", "/data/ticket/x", "/data/ticket/1.0", "/data/ticket/99999999999999999999", "/data/ticket/%201"} {
		ask{as: "sue", method: "GET", path: path}.do(t, w.Server).refused(t, 404, "not_found")
	}
}

func TestAWriterWhoMayNotReadIsToldNoMoreThanTheID(t *testing.T) {
	w := world(t, httpapi.Config{})
	got := ask{as: "ann", method: "POST", path: "/data/drop", body: `{"title":"x"}`}.do(t, w.Server)
	got.is(t, 201, `{"id":1}`)
	got.has(t, "Location", "/data/drop/1")
	got.has(t, "ETag", "")
	ask{as: "ann", method: "GET", path: "/data/drop/1"}.do(t, w.Server).refused(t, 403, "forbidden")
	ask{as: "sue", method: "GET", path: "/data/drop/1"}.do(t, w.Server).is(t, 200, `{"id":1,"title":"x"}`)
	for _, method := range []string{"PUT", "PATCH"} {
		got := ask{as: "ann", method: method, path: "/data/drop/1", body: `{"title":"y"}`}.do(t, w.Server)
		got.is(t, 204, "")
		got.has(t, "ETag", "")
	}
	ask{as: "sue", method: "GET", path: "/data/drop/1"}.do(t, w.Server).is(t, 200, `{"id":1,"title":"y"}`)
	tx := ask{as: "ann", method: "POST", path: "/data/transaction", body: `{"writes":[{"op":"create","entity":"drop","data":{"title":"z"}}]}`}.do(t, w.Server)
	tx.is(t, 200, `{"results":[{"id":2}]}`)
}

func TestRowsOfOthers(t *testing.T) {
	w := world(t, httpapi.Config{})
	ask{as: "bob", method: "POST", path: "/data/item", body: `{"id":"b1","title":"x"}`}.do(t, w.Server).is(t, 201)
	for _, a := range []ask{
		{method: "GET", path: "/data/item/b1"}, {method: "PUT", path: "/data/item/b1", body: `{"title":"y"}`}, {method: "PATCH", path: "/data/item/b1", body: `{"title":"y"}`},
		{method: "DELETE", path: "/data/item/b1"},
	} {
		a.as = "ann"
		a.do(t, w.Server).refused(t, 404, "not_found")
	}
	ask{as: "ann", method: "POST", path: "/data/item", body: `{"id":"b2","title":"x","owner_id":"bob"}`}.do(t, w.Server).refused(t, 403, "row_refused")
	ask{as: "ann", method: "POST", path: "/data/item", body: `{"id":"b1","title":"x"}`}.do(t, w.Server).refused(t, 409, "conflict")
	ask{as: "eve", method: "GET", path: "/data/item/b1"}.do(t, w.Server).refused(t, 404, "entity_not_found")
}

func TestFieldsOfASingleRow(t *testing.T) {
	w := world(t, httpapi.Config{})
	made := ask{as: "ann", method: "POST", path: "/data/item", body: `{"id":"i1","title":"x","total":3}`}.do(t, w.Server)
	got := ask{as: "ann", method: "GET", path: "/data/item/i1?fields=total,%20title,"}.do(t, w.Server)
	got.is(t, 200, `{"title":"x","total":3}`)
	got.has(t, "ETag", made.header.Get("ETag"))
	for query, code := range map[string]string{
		"fields=hidden": "invalid_query", "fields=nothing": "invalid_query", "fields=": "invalid_query", "fields=,": "invalid_query",
		"fields=id&fields=id": "bad_parameter", "field=id": "bad_parameter", "limit=1": "bad_parameter", "filter[id][eq]=i1": "bad_parameter", "fields=%zz": "bad_parameter", "a;b": "bad_parameter",
	} {
		ask{as: "ann", method: "GET", path: "/data/item/i1?" + query}.do(t, w.Server).refused(t, 400, code)
	}
	for _, a := range []ask{
		{method: "POST", path: "/data/item?dry=true", body: `{"id":"i2","title":"x"}`}, {method: "PUT", path: "/data/item/i1?x", body: `{"title":"x"}`},
		{method: "PATCH", path: "/data/item/i1?fields=id", body: `{"title":"x"}`}, {method: "DELETE", path: "/data/item/i1?hard=true"},
		{method: "PATCH", path: "/data/item/i1/restore?x=1"}, {method: "POST", path: "/data/item/bulk?x=1", body: `[]`}, {method: "POST", path: "/data/transaction?x=1", body: `{}`},
	} {
		a.as = "ann"
		a.do(t, w.Server).refused(t, 400, "bad_parameter")
	}
}

func TestIdempotencyKeys(t *testing.T) {
	w := world(t, httpapi.Config{})
	key := map[string]string{"Idempotency-Key": "k1"}
	once := ask{as: "ann", method: "POST", path: "/data/ticket", body: `{"title":"x"}`, headers: key}.do(t, w.Server)
	once.is(t, 201, `{"id":1,"title":"x"}`)
	once.has(t, "Idempotent-Replayed", "")
	again := ask{as: "ann", method: "POST", path: "/data/ticket", body: `{"title":"x"}`, headers: key}.do(t, w.Server)
	again.is(t, 201, once.body)
	again.has(t, "Idempotent-Replayed", "true")
	again.has(t, "Location", "/data/ticket/1")
	ask{as: "ann", method: "POST", path: "/data/ticket", body: `{"title":"y"}`, headers: key}.do(t, w.Server).refused(t, 422, "idempotency_mismatch")
	ask{as: "ann", method: "POST", path: "/data/drop", body: `{"title":"x"}`, headers: key}.do(t, w.Server).refused(t, 422, "idempotency_mismatch")
	ask{as: "bob", method: "POST", path: "/data/ticket", body: `{"title":"x"}`, headers: key}.do(t, w.Server).is(t, 201, `{"id":2,"title":"x"}`)

	key["Idempotency-Key"] = "k2"
	bulk := ask{as: "ann", method: "POST", path: "/data/ticket/bulk", body: `[{"title":"a"},{"title":"b"}]`, headers: key}
	bulk.do(t, w.Server).is(t, 201, `{"ids":[3,4]}`)
	bulk.do(t, w.Server).is(t, 201, `{"ids":[3,4]}`)
	key["Idempotency-Key"] = "k3"
	tx := ask{as: "ann", method: "POST", path: "/data/transaction", body: `{"writes":[{"op":"create","entity":"ticket","data":{"title":"c"}}]}`, headers: key}
	tx.do(t, w.Server).is(t, 200, `{"results":[{"id":5,"title":"c"}]}`)
	replay := tx.do(t, w.Server)
	replay.is(t, 200, `{"results":[{"id":5,"title":"c"}]}`)
	replay.has(t, "Idempotent-Replayed", "true")
	for _, bad := range []string{"", " ", "a b", strings.Repeat("k", 256), "é"} {
		key["Idempotency-Key"] = bad
		ask{as: "ann", method: "POST", path: "/data/ticket", body: `{"title":"x"}`, headers: key}.do(t, w.Server).refused(t, 400, "bad_parameter")
	}
	got := ask{as: "ann", method: "GET", path: "/data/ticket?count=true&fields=id"}.do(t, w.Server)
	got.is(t, 200, `{"items":[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}],"limit":20,"offset":0,"total":5,"next":null}`)
}

func TestADatastoreThatIsAway(t *testing.T) {
	w := world(t, httpapi.Config{})
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, a := range []ask{
		{method: "GET", path: "/data/item/i1"}, {method: "GET", path: "/data/item"}, {method: "POST", path: "/data/item", body: `{"id":"a","title":"x"}`}, {method: "DELETE", path: "/data/item/i1"},
	} {
		a.as = "ann"
		got := a.do(t, w.Server)
		got.refused(t, 503, "unavailable")
		got.has(t, "Retry-After", "5")
		got.has(t, "Cache-Control", "no-store")
	}
}
