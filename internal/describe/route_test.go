package describe_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/servertest"
)

// requests are what a description has: METHOD PATH.
func requests(t *testing.T, c *servertest.Caller) (all []string) {
	t.Helper()
	doc := c.Get("/openapi.json").Is(200).JSON()
	paths, _ := at(t, doc, "paths").(map[string]any)
	for path, methods := range paths {
		for method := range methods.(map[string]any) {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(all)
	return all
}

// pattern is the route that a described path is served by.
func pattern(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || parts[1] != "data" || parts[2] == "transaction" {
		return path
	}
	parts[2] = "{entity}"
	switch {
	case len(parts) == 5 && parts[4] != "restore" && parts[4] != "purge":
		parts[4] = "{operation}"
	case len(parts) == 4 && parts[3] != "{id}" && parts[3] != "bulk":
		parts[3] = "{operation}"
	}
	return strings.Join(parts, "/")
}

// All that the server takes is described to who may do everything, and nothing is
// described that it does not take. Pages for people are no part of it.
func TestEveryRouteIsDescribed(t *testing.T) {
	s := start(t)
	staff := callers(s)["staff"]
	described := map[string]bool{}
	for _, r := range requests(t, staff) {
		method, path, _ := strings.Cut(r, " ")
		described[method+" "+pattern(path)] = true
	}
	channels, _ := at(t, staff.Get("/asyncapi.json").Is(200).JSON(), "channels").(map[string]any)
	for _, channel := range channels {
		if address, ok := at(t, channel, "address").(string); ok {
			described["GET "+strings.Replace(address, "/subscribe/note", "/subscribe/{entity}", 1)] = true
		}
	}
	api, ok := s.Handler().(*httpapi.API)
	if !ok {
		t.Fatal("the server's handler is no httpapi.API")
	}
	var elsewhere []string // what else stands under bulk is a row with that id
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		elsewhere = append(elsewhere, method+" /data/{entity}/bulk")
	}
	for _, r := range api.Served() {
		if served := r.Method + " " + r.Pattern; !described[served] && !slices.Contains(elsewhere, served) && !page(r.Pattern) {
			t.Errorf("%s is served and not described", served)
		}
	}
}

// page reports whether a pattern is of the pages that a browser shows.
func page(pattern string) bool {
	for _, first := range []string{"/data", "/subscribe", "/realtime", "/session", "/admin/", "/metrics", "/healthz", "/readyz", "/openapi", "/asyncapi"} {
		if strings.HasPrefix(pattern, first) {
			return false
		}
	}
	return true
}

// What is described to a caller is there, and is not refused to that caller as a
// matter of rights.
func TestEveryDescribedRequestIsTaken(t *testing.T) {
	s := start(t)
	for name, caller := range callers(s) {
		for _, r := range requests(t, caller) {
			method, path, _ := strings.Cut(r, " ")
			answer := caller.Do(method, strings.Replace(path, "{id}", "01M8PS40EH1SQW3EQ38GKVA9MX", 1), "")
			switch codeOf(answer) {
			case "route_not_found", "method_not_allowed", "entity_not_found", "operation_not_found", "forbidden":
				t.Errorf("%s: %s is described and answered with %d %s", name, r, answer.Status, answer.Body)
			}
		}
	}
}

// codeOf is the code of a problem; "" of any other answer.
func codeOf(a *servertest.Answer) string {
	if a.Header.Get("Content-Type") != "application/problem+json" {
		return ""
	}
	return a.Code()
}

// What is not described is refused.
func TestWhatIsNotDescribedIsRefused(t *testing.T) {
	s := start(t)
	all := callers(s)
	for _, name := range []string{"anonymous", "user"} {
		own := requests(t, all[name])
		for _, r := range requests(t, all["staff"]) {
			if slices.Contains(own, r) {
				continue
			}
			method, path, _ := strings.Cut(r, " ")
			answer := all[name].Do(method, strings.Replace(path, "{id}", "1", 1), "")
			if answer.Status != http.StatusForbidden && answer.Status != http.StatusNotFound && codeOf(answer) != "invalid_query" {
				t.Errorf("%s: %s is not described and answered with %d %s", name, r, answer.Status, answer.Body)
			}
		}
	}
}

func TestADescriptionIsTheCallersOwn(t *testing.T) {
	s := start(t)
	ann := callers(s)["user"]
	for _, path := range paths {
		first := ann.Get(path).Is(200)
		for name, want := range map[string]string{
			"Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie", "Content-Type": "application/json", "X-Content-Type-Options": "nosniff",
		} {
			if got := first.Header.Get(name); got != want {
				t.Errorf("%s has %s %q, want %q", path, name, got, want)
			}
		}
		tag := first.Header.Get("ETag")
		if again := ann.Get(path).Is(200); again.Body != first.Body || again.Header.Get("ETag") != tag || len(tag) < 10 {
			t.Errorf("%s is another the second time", path)
		}
		if body := ann.With("If-None-Match", tag).Get(path).Is(304).Body; body != "" {
			t.Errorf("%s: 304 with a body", path)
		}
		ann.With("Range", "bytes=999999999-").Get(path).Is(200)
		if body := ann.Do("HEAD", path, "").Is(200).Body; body != "" {
			t.Errorf("HEAD %s has a body", path)
		}
		ann.Get(path+"?x=1").Problem(400, "bad_parameter")
		ann.Post(path, "{}").Problem(405, "method_not_allowed")
		if other := callers(s)["staff"].Get(path).Is(200); other.Header.Get("ETag") == tag {
			t.Errorf("%s has one tag for two callers who may do different things", path)
		}
	}
}

func TestADescriptionNeedsACredential(t *testing.T) {
	s := servertest.Start(t, servertest.Options{Schema: world})
	for _, path := range paths {
		s.As("").With("Connection", "close").Get(path).Problem(401, "unauthenticated")
		s.As("no token").With("Connection", "close").Get(path).Problem(401, "unauthenticated")
	}
}
