package contract

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rowcast/rowcast/internal/servertest"
)

const otherTenant = "acme:test:shop:t2"

// twins serves two tenants with entities of the same names, and an API key for
// each.
func twins(t *testing.T) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Schema: shop, Tenants: map[string]string{otherTenant: shop + `
  - name: theirs
    fields: [{name: id, type: string}]
    events: [{name: e}]
    subscriptions: [{name: s}]
`}, Auth: `  keys:
    - {id: svc, key: "the-key-of-the-first-tenant-32-bytes", roles: [staff, admin], tenant: "` + servertest.Tenant + `"}
    - {id: svc2, key: "the-key-of-the-other-tenant-32-bytes", roles: [staff, admin], tenant: "` + otherTenant + `"}
`})
}

// Scope of the fan-out, and beyond it: nothing that one tenant was given works,
// or shows, in another, though entities, rows, principals, keys and listeners
// bear the same names.
func TestNothingOfATenantWorksInAnother(t *testing.T) {
	s := twins(t)
	for name, c := range map[string]struct{ one, other *servertest.Caller }{
		"tokens":       {s.User("svc", "staff", "admin"), s.As(s.TokenOf(otherTenant, "svc", "staff", "admin"))},
		"API keys":     {s.As("the-key-of-the-first-tenant-32-bytes"), s.As("the-key-of-the-other-tenant-32-bytes")},
		"key to token": {s.As("the-key-of-the-first-tenant-32-bytes"), s.As(s.TokenOf(otherTenant, "svc", "staff", "admin"))},
	} {
		t.Run(name, func(t *testing.T) { isolated(t, name, c.one, c.other) })
	}
}

func isolated(t *testing.T, name string, one, other *servertest.Caller) {
	id := strings.ReplaceAll(name, " ", "-")
	hers, his := one.Open("/subscribe/product?name=rows&heartbeat=1s"), other.Open("/subscribe/product?name=rows&heartbeat=1s")
	mark := hers.Ping().ID

	// Idempotency-Key, ids, unique names: each tenant's own.
	body := `{"id":"` + id + `","name":"of the one","price":1}`
	first := one.With("Idempotency-Key", id).Post("/data/product", body).Is(201)
	other.Get("/data/product/"+id).Problem(404, "not_found")
	second := other.With("Idempotency-Key", id).Post("/data/product", strings.Replace(body, "one", "other", 1)).Is(201)
	if second.Header.Get("Idempotent-Replayed") != "" || first.Body == second.Body {
		t.Errorf("a key of one tenant answers in the other: %s", second.Body)
	}
	f, g := hers.Frame(), his.Frame()
	if f.Row() != first.Body[:len(first.Body)-len(`,"secret":null}`)]+"}" || !strings.Contains(g.Row(), "of the other") || f.JSON()["tenant"] == g.JSON()["tenant"] {
		t.Errorf("told %s and %s", f.Data, g.Data)
	}
	hers.Ping() // and nothing before it: of the other's row she is told nothing
	his.Ping()

	// ETags: an equal row has an equal tag, another none.
	other.With("If-Match", first.Header.Get("ETag")).Patch("/data/product/"+id, `{"price":2}`).Problem(412, "precondition_failed")

	// Event ids and bookmarks are no places in another tenant's log.
	for what, since := range map[string]string{"event id": f.ID, "bookmark": mark} {
		gap := other.Resume("/subscribe/product?name=rows", since).Frame()
		if gap.Event != "stream.gap" || gap.JSON()["reason"] != "unknown" {
			t.Errorf("%s of one tenant in the other: %s", what, gap.Raw)
		}
	}

	// Cursors.
	one.Post("/data/product", `{"id":"`+id+` 2"}`).Is(201)
	other.Post("/data/product", `{"id":"`+id+` 2"}`).Is(201)
	hers.Frame()
	his.Frame()
	next, _ := one.Get("/data/product?limit=1").Is(200).JSON()["next"].(string)
	one.Get("/data/product?limit=1&cursor=" + next).Is(200)
	other.Get("/data/product?limit=1&cursor="+next).Problem(400, "invalid_cursor")

	// Names.
	other.Get("/data/theirs").Is(200)
	for _, path := range []string{"/data/theirs", "/data/theirs/x", "/subscribe/theirs"} {
		foreign, unknown := one.Get(path), one.Get(strings.Replace(path, "theirs", "nosuch", 1))
		if foreign.Status != 404 || foreign.Body != strings.ReplaceAll(unknown.Body, "nosuch", "theirs") {
			t.Errorf("GET %s: %s, of no name: %s", path, foreign.Body, unknown.Body)
		}
	}
	foreign := one.Post("/data/transaction", `{"writes":[{"op":"create","entity":"theirs","data":{"id":"x"}}]}`)
	unknown := one.Post("/data/transaction", `{"writes":[{"op":"create","entity":"nosuch","data":{"id":"x"}}]}`)
	if foreign.Status != 404 || foreign.Body != strings.ReplaceAll(unknown.Body, "nosuch", "theirs") {
		t.Errorf("in a transaction: %s, of no name: %s", foreign.Body, unknown.Body)
	}

	// What an operator of one tenant sees.
	for path, admin := range map[string]*servertest.Caller{"/admin/data/streams": one, "/metrics": one} {
		if text := admin.Get(path).Is(200).Body; strings.Contains(text, otherTenant) || !strings.Contains(text, servertest.Tenant) {
			t.Errorf("GET %s shows another tenant, or not its own:\n%s", path, text)
		}
	}
}

// Counters are a tenant's own, those of requests among them: an operator learns
// nothing of how much another tenant does.
func TestMetricsShowNothingOfAnotherTenant(t *testing.T) {
	s := twins(t)
	one, other := s.User("root", "admin"), s.As(s.TokenOf(otherTenant, "zoe", "staff"))
	one.Get("/metrics").Is(200) // so that the route itself is counted before
	before := countersOf(one.Get("/metrics").Is(200).Body)
	other.Post("/data/bell", `{"id":"b"}`).Is(201)
	for range 20 {
		other.Put("/data/bell/b", `{"text":"x"}`).Is(200)
		other.Get("/data/nothing").Problem(404, "entity_not_found")
	}
	other.Open("/subscribe/bell")
	after := countersOf(one.Get("/metrics").Is(200).Body)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		own := strings.Contains(name, `route="/metrics"`)
		if !own && before[name] != after[name] {
			t.Errorf("%s went from %q to %q by what another tenant did", name, before[name], after[name])
		}
	}
}

// countersOf returns the samples of rowcast's own metrics but gauges of time.
func countersOf(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		name, n, ok := strings.Cut(line, "} ")
		if ok && strings.HasPrefix(name, "rowcast_") && !strings.Contains(name, "_seconds_sum") && !strings.Contains(name, "lag") {
			out[name+"}"] = n
		}
	}
	return out
}

// A tenant comes from the verified credential alone; with several declared one
// must be named, and one that is declared.
func TestTenantComesFromTheCredentialAlone(t *testing.T) {
	s := twins(t)
	exp := time.Now().Add(time.Hour).Unix()
	for name, claims := range map[string]jwt.MapClaims{
		"none": {"sub": "a", "exp": exp}, "null": {"sub": "a", "exp": exp, "tenant": nil}, "empty": {"sub": "a", "exp": exp, "tenant": ""},
		"undeclared": {"sub": "a", "exp": exp, "tenant": "acme:test:shop:t3"}, "both": {"sub": "a", "exp": exp, "tenant": []string{servertest.Tenant, otherTenant}},
		"prefix": {"sub": "a", "exp": exp, "tenant": servertest.Tenant[:len(servertest.Tenant)-1]}, "case": {"sub": "a", "exp": exp, "tenant": strings.ToUpper(servertest.Tenant)},
	} {
		t.Run(name, func(t *testing.T) { s.As(s.Sign(claims)).Get("/data/bell").Problem(401, "unauthenticated") })
	}
	zoe := s.As(s.TokenOf(otherTenant, "zoe"))
	zoe.Post("/data/bell", `{"id":"z"}`).Is(201)
	for _, h := range [][2]string{{"X-Tenant", otherTenant}, {"X-Tenant-Id", otherTenant}, {"Tenant", otherTenant}, {"Host", "t2"}} {
		s.User("ann").With(h[0], h[1]).Get("/data/bell/z").Problem(404, "not_found")
	}
	s.User("ann").Get("/data/bell?tenant="+url.QueryEscape(otherTenant)).Problem(400, "bad_parameter")
}

// Connecting is a read, and so is everything else: without a valid credential
// nothing tells whether a name exists, by whatever route and method it is asked
// for: status, headers and body are those of any other name.
func TestWithoutACredentialNoNameExists(t *testing.T) {
	s := twins(t)
	sue := s.User("sue", "staff")
	sue.Post("/data/product", `{"id":"p"}`).Is(201)
	sue.Post("/data/bell", `{"id":"bulk"}`).Is(201)
	expired := s.Sign(jwt.MapClaims{"sub": "sue", "roles": []string{"staff", "admin"}, "tenant": servertest.Tenant, "exp": time.Now().Add(-time.Minute).Unix()})
	credentials := map[string]http.Header{
		"none": {}, "expired": {"Authorization": {"Bearer " + expired}}, "rubbish": {"Authorization": {"Bearer x"}}, "basic": {"Authorization": {"Basic c3VlOnN1ZQ=="}},
		"cookie": {"Cookie": {"rowcast_session=" + expired}}, "key as cookie": {"Cookie": {"rowcast_session=the-key-of-the-first-tenant-32-bytes"}},
		"in the URL": {},
	}
	for name, header := range credentials {
		t.Run(name, func(t *testing.T) {
			query := ""
			if name == "in the URL" {
				query = "?token=" + s.Token("sue", "staff") + "&access_token=" + s.Token("sue", "staff")
			}
			seen := map[string]string{} // by method: the one answer
			for _, path := range everyPath() {
				for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
					got := anonymous(t, s, method, path+query, header)
					if want, ok := seen[method]; ok && got != want {
						t.Errorf("%s %s answers\n%s\nwhere another path answers\n%s", method, path, got, want)
					}
					seen[method] = got
				}
			}
			for method, answer := range seen {
				if !strings.HasPrefix(answer, "401 ") {
					t.Errorf("%s: %s", method, answer)
				}
			}
		})
	}
}

// everyPath is every route below the four roots, for names that exist, in this
// tenant or the other, and names that do not, and paths that are no route.
func everyPath() (out []string) {
	for _, entity := range []string{"product", "bell", "diary", "mute", "theirs", "nosuch", "transaction", "Product", "%70roduct", "a%2Fb", "..", "%2e%2e", "%00"} {
		out = append(out, "/data/"+entity, "/data/"+entity+"?filter[id][eq]=p", "/data/"+entity+"?filter=", "/data/"+entity+"/", "/subscribe/"+entity,
			"/subscribe/"+entity+"?name=rows", "/subscribe/"+entity+"?heartbeat=x", "/subscribe/"+entity+"/x",
			"/realtime?channel="+entity, "/realtime?channel="+entity+".p&heartbeat=x", "/realtime?channel="+entity+"&filter[nope][eq]=1")
		for _, id := range []string{"p", "none", "bulk", "%zz"} {
			if id == "%zz" {
				continue // net/http itself refuses what does not decode, whoever asks
			}
			out = append(out, "/data/"+entity+"/"+id, "/data/"+entity+"/"+id+"/restore", "/data/"+entity+"/"+id+"/purge", "/data/"+entity+"/"+id+"/other", "/data/"+entity+"/"+id+"/a/b")
		}
	}
	return append(out, "/data", "/data/", "/data//product", "/subscribe", "/subscribe/", "/admin", "/admin/", "/admin/data/streams", "/admin/data/nothing",
		"/admin/data/events/pending", "/metrics", "/metrics/x", "/realtime?channel=product", "/realtime?channel=nosuch", "//data/product", "/data/../admin/data/streams", "/%64ata/product")
}

// Who is not an operator is told nothing of what there is to operate: under
// /admin and /metrics every path and method answers the same.
func TestWithoutTheRoleNoAdminRouteExists(t *testing.T) {
	s := twins(t)
	first := s.User("ann", "staff").Get("/admin/data/streams")
	first.Problem(403, "forbidden")
	for _, path := range everyPath() {
		if !strings.HasPrefix(path, "/admin") && !strings.HasPrefix(path, "/metrics") {
			continue
		}
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			if got := s.User("ann", "staff").Do(method, path, ""); got.Status != 403 || got.Body != first.Body {
				t.Errorf("%s %s: %d %s", method, path, got.Status, got.Body)
			}
		}
	}
}

// anonymous sends a request as it stands, and returns all of the answer that
// could differ from path to path.
func anonymous(t *testing.T, s *servertest.Server, method, path string, header http.Header) string {
	t.Helper()
	var body io.Reader
	if method == "POST" || method == "PUT" || method == "PATCH" {
		body = strings.NewReader(`{"id":"p"}`)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	plain, query, _ := strings.Cut(path, "?")
	req.URL.Opaque, req.URL.RawQuery, req.Header = "//"+req.URL.Host+plain, query, header.Clone()
	if strings.HasPrefix(plain, "//") {
		req.URL.Opaque = "" // it would be taken for a host
		req.URL.Path = plain
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	resp.Header.Del("Date")
	resp.Header.Del("X-Request-Id")
	var b strings.Builder
	fmt.Fprintf(&b, "%d ", resp.StatusCode)
	_ = resp.Header.Write(&b)
	return b.String() + string(text)
}
