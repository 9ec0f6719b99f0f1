package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/store"
)

func adminRoutes(theirs *box, own ...*box) []httpapi.Route {
	return admin.Routes(deskConfig(theirs, own...))
}

// Whatever is not just what a route takes is refused, with the field, and moves nothing.
func TestRequestsThatAreRefused(t *testing.T) {
	id := `"` + uid(1) + `"`
	many := `{"ids":["` + strings.Repeat(uid(1)+`","`, 1000) + uid(1) + `"]}`
	for _, c := range []struct {
		path, body string
		status     int
		wants      string
	}{
		{"pending?limit=0", "", 400, "from 1 to 100"},
		{"pending?limit=101", "", 400, "from 1 to 100"},
		{"pending?limit=x", "", 400, "from 1 to 100"},
		{"pending?limit=", "", 400, "from 1 to 100"},
		{"pending?status=delivered", "", 400, `"available":["claimed","failed","pending"]`},
		{"pending?status=", "", 400, "status"},
		{"pending?target=", "", 400, "target is empty"},
		{"pending?target=nosuch", "", 404, `"code":"target_not_found","available":["billing"]`},
		{"pending?targets=billing", "", 400, `"available":["target","status","limit","cursor"]`},
		{"pending?status=failed&status=pending", "", 400, "given twice"},
		{"pending?tenant=" + there, "", 400, "no parameter"},
		{"stats?x=1", "", 400, "no parameter"},
		{"attempts", "", 400, "id must be"},
		{"attempts?id=1", "", 400, "id must be"},
		{"attempts?id=" + uid(1) + "&x=1", "", 400, "no parameter"},
		{"drain?x=1", "{}", 400, "no parameter"},
		{"drain", `{"target":"billing"}`, 400, "takes nothing"},
		{"drain", `[]`, 400, "malformed_body"},

		{"requeue?x=1", `{"ids":[` + id + `]}`, 400, "no parameter"},
		{"requeue", ` `, 422, `"field":"target","code":"required"`},
		{"requeue", `{}`, 422, `"field":"target","code":"required"`},
		{"requeue", `[` + id + `]`, 400, "malformed_body"},
		{"requeue", `{"ids":[` + id + `]`, 400, "malformed_body"},
		{"requeue", `{"ids":[` + id + `],"ids":[]}`, 400, "malformed_body"},
		{"requeue", `{"ids":[` + id + `]} x`, 400, "malformed_body"},
		{"requeue", `{"ids":[` + id + `],"id":1}`, 422, `"field":"id","code":"unknown_field"`},
		{"requeue", `{"IDS":[` + id + `]}`, 422, `"field":"IDS","code":"unknown_field"`},
		{"requeue", `{"ids":[` + id + `],"target":"billing"}`, 422, `"field":"target","code":"invalid_value"`},
		{"requeue", `{"ids":[` + id + `],"since":null}`, 422, `"field":"since","code":"invalid_value"`},
		{"requeue", `{"ids":[]}`, 422, `"field":"ids","code":"required"`},
		{"requeue", `{"ids":null}`, 422, `"field":"ids","code":"invalid_type"`},
		{"requeue", `{"ids":` + id + `}`, 422, `"field":"ids","code":"invalid_type"`},
		{"requeue", `{"ids":[` + id + `,7]}`, 422, `"field":"ids[1]","code":"invalid_value"`},
		{"requeue", `{"ids":[` + id + `,null]}`, 422, `"field":"ids[1]","code":"invalid_value"`},
		{"requeue", `{"ids":["` + uid(1)[1:] + `"]}`, 422, `"field":"ids[0]","code":"invalid_value"`},
		{"requeue", `{"ids":["` + strings.ToLower(uid(1)) + `"]}`, 422, `"field":"ids[0]","code":"invalid_value"`},
		{"requeue", `{"ids":["` + uid(1) + `\n"]}`, 422, `"field":"ids[0]","code":"invalid_value"`},
		{"requeue", many, 422, `"field":"ids","code":"limit_exceeded"`},
		{"requeue", `{"target":""}`, 422, `"field":"target","code":"required"`},
		{"requeue", `{"target":["billing"]}`, 422, `"field":"target","code":"invalid_type"`},
		{"requeue", `{"since":"2026-09-17T02:25:12Z"}`, 422, `"field":"target","code":"required"`},
		{"requeue", `{"target":"billing","since":"yesterday"}`, 422, `"field":"since","code":"invalid_value"`},
		{"requeue", `{"target":"billing","until":1789245912}`, 422, `"field":"until","code":"invalid_value"`},
		{"requeue", `{"target":"billing","until":null}`, 422, `"field":"until","code":"invalid_value"`},
		{"requeue", `{"target":"billing","since":"2026-09-17T02:25:12Z","until":"2026-09-17T02:25:12Z"}`, 422, `"field":"until","code":"invalid_value"`},
		{"requeue", `{"target":"nosuch"}`, 404, `"code":"target_not_found","available":["billing"]`},
		{"requeue", `{"ids":["x"],"more":1}`, 422, `{"field":"more","code":"unknown_field","detail":"this route takes ids, target, since, until"},{"field":"ids[0]"`},

		{"skip", `{}`, 422, `"field":"ids","code":"required"`},
		{"skip", `{"target":"billing"}`, 422, `"field":"target","code":"unknown_field"`},
		{"skip", `{"ids":["x"]}`, 422, `"field":"ids[0]","code":"invalid_value"`},
		{"skip", many, 422, `"field":"ids","code":"limit_exceeded"`},
		{"test", `{}`, 422, `"field":"target","code":"required"`},
		{"test", `{"target":null}`, 422, `"field":"target","code":"invalid_type"`},
		{"test", `{"target":"billing","url":"http://elsewhere.example"}`, 422, `"field":"url","code":"unknown_field"`},
		{"test", `{"target":"nosuch"}`, 404, `"code":"target_not_found","available":["billing"]`},
	} {
		t.Run(fmt.Sprintf("%s %.60s", c.path, c.body), func(t *testing.T) {
			own := newBox(queued(1, store.Failed))
			got := ask(t, desk(t, newBox(), own), c.path, c.body)
			if got.Code != c.status || !strings.Contains(got.Body.String(), c.wants) || got.Header().Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %d %s, want %d with %s", got.Code, got.Body, c.status, c.wants)
			}
			if len(own.queue) != 1 || own.queue[0].Status != store.Failed {
				t.Error("something was moved")
			}
		})
	}
}

// A body is held to the limits and the content type of every other one.
func TestBodiesAreLimitedAsAnyOther(t *testing.T) {
	h, err := httpapi.New(httpapi.Config{
		Auth: roles{}, Tenants: noRows{}, Routes: adminRoutes(newBox(), newBox()), AdminRole: "operator", Limits: httpapi.Limits{Body: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body, contentType string
		status            int
	}{
		"too large":          {`{"ids":["` + strings.Repeat(" ", 100) + `"]}`, "application/json", http.StatusRequestEntityTooLarge},
		"as a form sends it": {`{"ids":["` + uid(1) + `"]}`, "text/plain", http.StatusUnsupportedMediaType},
		"of no type":         {`{"ids":["` + uid(1) + `"]}`, "", http.StatusUnsupportedMediaType},
		"well":               {`{"ids":["` + uid(1) + `"]}`, "application/json; charset=utf-8", http.StatusOK},
	} {
		got := send(t, h, "requeue", c.body, map[string]string{"Authorization": here + " operator", "Content-Type": c.contentType})
		if got.Code != c.status {
			t.Errorf("%s: %d %s, want %d", name, got.Code, got.Body, c.status)
		}
	}
}
