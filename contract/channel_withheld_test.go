package contract

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Section 4.1 and 6: a filter, an order or changed= on a field that the caller
// cannot read, or sees masked, is refused on every route, in every form, exactly
// as on a field that does not exist. Who reads it as it is may use it.
func TestAWithheldFieldIsRefusedOnEveryRoute(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: channelVault})
	ann, sue := s.User("ann"), s.User("sue", "staff")
	sue.Post("/data/acct", strings.ReplaceAll(worlds[0].row, "{id}", "a")).Is(201)
	sue.Post("/data/acct", strings.ReplaceAll(worlds[0].row, "{id}", "b")).Is(201)
	cursor := url.QueryEscape(sue.Get("/data/acct?limit=1&sort=secret&filter[secret][eq]=alpha").Is(200).JSON()["next"].(string))
	conditions := []string{
		"filter[%s][isNull]=true", "filter[not][%s][isNotNull]=true", "filter[or][0][title][eq]=x&filter[or][1][%s][isNull]=true", `filter={"%s":{"isNull":true}}`, `filter={"not":{"and":[{"%s":{"isNull":true}}]}}`,
	}
	routes := []probe{
		{method: "GET", path: "/data/acct?"}, {method: "GET", path: "/data/acct?count=true&limit=1&"}, {method: "GET", path: "/data/acct?deleted=true&"},
		{method: "GET", path: "/data/acct?cursor=" + cursor + "&"}, {method: "PATCH", path: "/data/acct?"}, {method: "DELETE", path: "/data/acct?"},
		{method: "GET", path: "/realtime?channel=acct&"}, {method: "GET", path: "/realtime?channel=acct.a&leave=true&"},
	}
	var asked []probe
	for _, r := range routes {
		for _, c := range conditions {
			asked = append(asked, probe{method: r.method, path: r.path + c})
		}
	}
	for _, path := range []string{
		"/data/acct?sort=%s", "/data/acct?sort=-title,%s&count=true", "/data/acct?cursor=" + cursor + "&sort=%s",
		"/realtime?channel=acct&changed=%s", "/realtime?channel=acct.a&changed=title,%s", "/realtime?channel=acct&fields=title&changed=%s",
	} {
		asked = append(asked, probe{method: "GET", path: path})
	}
	for _, field := range []string{"secret", "card", "pin", "rank", "born", "origin", "needed", "blob", "deletedby"} {
		for _, p := range asked {
			got, none := p.refusal(ann, field), p.refusal(ann, "none")
			if !slices.ContainsFunc(got.Errors, func(e struct{ Field, Code, Detail string }) bool {
				return e.Field == field && e.Code == "invalid_field"
			}) {
				t.Errorf("%s %s of %s is refused as %+v", p.method, p.path, field, got)
			}
			if here, there := fmt.Sprint(got), fmt.Sprint(none); strings.ReplaceAll(here, field, "none") != there {
				t.Errorf("%s %s: refused as %s\nof a field that does not exist %s", p.method, p.path, here, there)
			}
		}
	}
	for _, query := range []string{"channel=acct&filter[secret][eq]=alpha", "channel=acct.a&filter[card][like]=11%25&changed=pin,secret"} {
		sue.Open("/realtime?" + query)
	}
	ann.Get("/data/acct?cursor="+cursor).Problem(400, "invalid_cursor")
}

// refusal is how the probe is refused for a field.
func (p probe) refusal(c *servertest.Caller, field string) (refused servertest.Problem) {
	path := strings.NewReplacer(`{"`, "%7B%22", `":`, "%22:", `"`, "%22", "{", "%7B", "}", "%7D").Replace(fill(p.path, field))
	var a *servertest.Answer
	if strings.HasPrefix(path, "/realtime") {
		a = knock(c, path)
	} else {
		a = c.Do(p.method, path, map[string]string{"PATCH": `{"title":"x"}`}[p.method])
	}
	if a == nil || a.Status != 400 || json.Unmarshal([]byte(a.Body), &refused) != nil {
		return servertest.Problem{Detail: fmt.Sprintf("%+v", a)}
	}
	return refused
}
