package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/httpapi"
)

func TestAListShowsEachRowAsGETDoes(t *testing.T) {
	w := world(t, httpapi.Config{})
	var rows []string
	for i := range 5 {
		made := ask{as: "ann", method: "POST", path: "/data/item", body: fmt.Sprintf(`{"id":"i%d","title":"<é&\u2028>","total":%d}`, i, i)}.do(t, w.Server)
		made.is(t, 201)
		rows = append(rows, made.body)
	}
	ask{as: "bob", method: "POST", path: "/data/item", body: `{"id":"b","title":"x"}`}.do(t, w.Server).is(t, 201)
	got := ask{as: "ann", method: "GET", path: "/data/item"}.do(t, w.Server)
	got.is(t, 200, `{"items":[`+strings.Join(rows, ",")+`],"limit":20,"offset":0,"total":null,"next":null}`)
	got.has(t, "Content-Type", "application/json")
	got.has(t, "Cache-Control", "private, no-cache")
	got.has(t, "Vary", "Authorization, Cookie")
	head := ask{as: "ann", method: "HEAD", path: "/data/item"}.do(t, w.Server)
	head.is(t, 200, "")
	head.has(t, "Content-Length", fmt.Sprint(len(got.body)))

	second := ask{as: "ann", method: "GET", path: "/data/item?sort=-total&limit=2&offset=1&count=true&fields=id"}.do(t, w.Server)
	if want := `{"items":[{"id":"i3"},{"id":"i2"}],"limit":2,"offset":1,"total":5,"next":"`; !strings.HasPrefix(second.body, want) {
		t.Errorf("got %s, want %s…", second.body, want)
	}
	var seen []string
	for path := "/data/item?sort=-total&limit=2&fields=id"; ; {
		got := ask{as: "ann", method: "GET", path: path}.do(t, w.Server)
		var page struct {
			Items  []struct{ ID string }
			Limit  int
			Offset *int
			Next   *string
		}
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != 200 {
			t.Fatalf("%d %s %v", got.status, got.body, err)
		}
		for _, item := range page.Items {
			seen = append(seen, item.ID)
		}
		if strings.Contains(path, "cursor") != (page.Offset == nil) {
			t.Errorf("offset of %s: %s", path, got.body)
		}
		if page.Next == nil {
			break
		}
		path = "/data/item?sort=-total&limit=2&fields=id&cursor=" + *page.Next
	}
	if got := strings.Join(seen, " "); got != "i4 i3 i2 i1 i0" {
		t.Errorf("pages hold %s", got)
	}
	ask{as: "ann", method: "GET", path: "/data/item?offset=9"}.do(t, w.Server).is(t, 200, `{"items":[],"limit":20,"offset":9,"total":null,"next":null}`)
	for query, code := range map[string]string{
		"limit=101": "bad_parameter", "limit=0": "bad_parameter", "offset=1&cursor=x": "bad_parameter", "nope=1": "bad_parameter", "cursor=x": "invalid_cursor",
		"sort=hidden": "invalid_query", "filter[hidden][eq]=1": "invalid_query", "filter=": "invalid_query", "filter[total][eq]=%zz": "invalid_query",
	} {
		ask{as: "ann", method: "GET", path: "/data/item?" + query}.do(t, w.Server).refused(t, 400, code)
	}
}

func TestWritesOfManyRows(t *testing.T) {
	w := world(t, httpapi.Config{})
	bulk := ask{as: "ann", method: "POST", path: "/data/item/bulk", body: `[{"id":"a","title":"x","total":1},{"id":"b","title":"x","total":2},{"id":"c","title":"x","total":3}]`}.do(t, w.Server)
	bulk.is(t, 201, `{"ids":["a","b","c"]}`)
	bulk.has(t, "Vary", "Authorization, Cookie")
	nd := map[string]string{"Content-Type": "application/x-ndjson"}
	ask{as: "ann", method: "POST", path: "/data/item/bulk", body: "{\"id\":\"d\",\"title\":\"x\"}\n\n{\"id\":\"e\",\"title\":\"x\"}\n", headers: nd}.do(t, w.Server).is(t, 201, `{"ids":["d","e"]}`)
	ask{as: "ann", method: "POST", path: "/data/item/bulk", body: "[]"}.do(t, w.Server).is(t, 201, `{"ids":[]}`)
	ask{as: "ann", method: "POST", path: "/data/item/bulk", body: `[{"id":"f","title":"x"},{"id":"a","title":"x"}]`}.do(t, w.Server).refused(t, 409, "conflict")
	ask{as: "ann", method: "POST", path: "/data/item/bulk", body: `[{"id":"f","title":"x"},{"id":"g"}]`}.do(t, w.Server).refused(t, 422, "invalid")
	ask{as: "ann", method: "GET", path: "/data/item/f"}.do(t, w.Server).refused(t, 404, "not_found")

	patch := ask{as: "ann", method: "PATCH", path: "/data/item?filter[total][gte]=2", body: `{"title":"y"}`}.do(t, w.Server)
	patch.is(t, 200, `{"changed":2}`)
	ask{as: "bob", method: "PATCH", path: "/data/item?filter[total][gte]=0", body: `{"title":"z"}`}.do(t, w.Server).is(t, 200, `{"changed":0}`)
	for _, query := range []string{"", "?filter=", "?filter[]=", "?filters[total][gte]=2", "?filter[nothing][eq]=1"} {
		ask{as: "ann", method: "DELETE", path: "/data/item" + query}.do(t, w.Server).refused(t, 400, "invalid_query")
		ask{as: "ann", method: "PATCH", path: "/data/item" + query, body: `{"title":"z"}`}.do(t, w.Server).refused(t, 400, "invalid_query")
	}
	ask{as: "ann", method: "DELETE", path: "/data/item?filter[total][gte]=2&limit=1"}.do(t, w.Server).refused(t, 400, "bad_parameter")
	ask{as: "ann", method: "DELETE", path: "/data/item?filter[total][gte]=2"}.do(t, w.Server).is(t, 200, `{"changed":2}`)
	ask{as: "ann", method: "GET", path: "/data/item?fields=id,title"}.do(t, w.Server).
		is(t, 200, `{"items":[{"id":"a","title":"x"},{"id":"d","title":"x"},{"id":"e","title":"x"}],"limit":20,"offset":0,"total":null,"next":null}`)
}

func TestTransactions(t *testing.T) {
	w := world(t, httpapi.Config{})
	tx := func(body string) answer {
		return ask{as: "ann", method: "POST", path: "/data/transaction", body: body}.do(t, w.Server)
	}
	tx(`{"writes":[{"op":"create","entity":"item","data":{"id":"a","title":"x"}},{"op":"create","entity":"ticket","data":{"title":"t"}},
		{"op":"update","entity":"item","id":"a","data":{"total":1}},{"op":"update","entity":"ticket","id":1,"data":{"title":"u"}},{"op":"delete","entity":"ticket","id":"1"}]}`).
		is(t, 200, `{"results":[{"id":"a","title":"x","total":null,"owner_id":"ann"},{"id":1,"title":"t"},{"id":"a","title":"x","total":1,"owner_id":"ann"},{"id":1,"title":"u"},null]}`)
	for name, tc := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"one step of two fails":   {`{"writes":[{"op":"create","entity":"item","data":{"id":"b","title":"x"}},{"op":"create","entity":"item","data":{"id":"a","title":"x"}}]}`, 409, "conflict"},
		"a row that is not there": {`{"writes":[{"op":"create","entity":"item","data":{"id":"b","title":"x"}},{"op":"delete","entity":"item","id":"z"}]}`, 404, "not_found"},
		"an unknown entity":       {`{"writes":[{"op":"create","entity":"item","data":{"id":"b","title":"x"}},{"op":"create","entity":"zzz","data":{}}]}`, 404, "entity_not_found"},
		"an unknown op":           {`{"writes":[{"op":"upsert","entity":"item","data":{}}]}`, 422, "invalid"},
		"a create with an id":     {`{"writes":[{"op":"create","entity":"item","id":"b","data":{"title":"x"}}]}`, 422, "invalid"},
		"an update without one":   {`{"writes":[{"op":"update","entity":"item","data":{"title":"x"}}]}`, 422, "invalid"},
		"two datastores":          {`{"writes":[{"op":"create","entity":"item","data":{"id":"b","title":"x"}},{"op":"create","entity":"far","data":{}}]}`, 422, "invalid"},
		"no writes":               {`{"writes":[]}`, 400, "malformed_body"},
		"writes that are no list": {`{"writes":{}}`, 400, "malformed_body"},
		"something else":          {`{"writes":[],"x":1}`, 400, "malformed_body"},
		"nothing":                 {`{}`, 400, "malformed_body"},
		"a key that is not known": {`{"writes":[{"op":"delete","entity":"item","id":"a","when":"now"}]}`, 400, "malformed_body"},
		"an op that is no text":   {`{"writes":[{"op":1,"entity":"item"}]}`, 400, "malformed_body"},
		"an entity that is null":  {`{"writes":[{"op":"delete","entity":null,"id":"a"}]}`, 400, "malformed_body"},
		"an id that is an object": {`{"writes":[{"op":"delete","entity":"item","id":{}}]}`, 400, "malformed_body"},
		"data that is no object":  {`{"writes":[{"op":"create","entity":"item","data":[]}]}`, 400, "malformed_body"},
		"an action not allowed":   {`{"writes":[{"op":"delete","entity":"drop","id":1}]}`, 403, "forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			got := tx(tc.body)
			got.refused(t, tc.status, tc.code)
			if strings.Contains(tc.body, `"op"`) && !strings.Contains(got.body, "writes[") {
				t.Errorf("the step is not named: %s", got.body)
			}
		})
	}
	ask{as: "ann", method: "GET", path: "/data/item/b"}.do(t, w.Server).refused(t, 404, "not_found")
}
