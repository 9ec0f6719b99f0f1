package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rowcast/rowcast/internal/auth"
)

func withAnonymous(t *testing.T) *auth.Authenticator {
	t.Helper()
	return open(t, auth.Config{
		JWT:       []auth.Source{{Secret: secret}},
		Keys:      []auth.Key{{ID: "svc-billing", Secret: "billing-key-0001", Roles: []string{"billing"}}},
		Cookie:    "rowcast_session",
		Anonymous: &auth.Anonymous{Roles: []string{"public"}},
	})
}

func TestACredentialThatDoesNotVerifyIsNeverAnonymous(t *testing.T) {
	good := sign(t, "HS256", secret, claims(nil))
	cases := map[string]http.Header{
		"basic":                      {"Authorization": {"Basic YTpi"}},
		"empty header":               {"Authorization": {""}},
		"scheme alone":               {"Authorization": {"Bearer"}},
		"scheme and a space":         {"Authorization": {"Bearer "}},
		"token without a scheme":     {"Authorization": {good}},
		"two tokens":                 {"Authorization": {"Bearer " + good + " " + good}},
		"two headers":                {"Authorization": {"Bearer " + good, "Bearer " + good}},
		"two in one header":          {"Authorization": {"Bearer " + good + ",Bearer " + good}},
		"unknown token":              {"Authorization": {"Bearer nobody"}},
		"bad header, good cookie":    {"Authorization": {"Bearer nobody"}, "Cookie": {"rowcast_session=" + good}},
		"empty header, good cookie":  {"Authorization": {""}, "Cookie": {"rowcast_session=" + good}},
		"bad cookie":                 {"Cookie": {"rowcast_session=nobody"}},
		"empty cookie":               {"Cookie": {"rowcast_session="}},
		"cookie with a bad byte":     {"Cookie": {"rowcast_session=a\x01b"}},
		"cookie without a value":     {"Cookie": {"rowcast_session"}},
		"two cookies":                {"Cookie": {"rowcast_session=" + good + "; rowcast_session=nobody"}},
		"two cookie headers":         {"Cookie": {"rowcast_session=" + good, "rowcast_session=" + good}},
		"API key in the cookie":      {"Cookie": {"rowcast_session=billing-key-0001"}},
		"API key, one letter short":  {"Authorization": {"Bearer billing-key-000"}},
		"API key in other case":      {"Authorization": {"Bearer BILLING-KEY-0001"}},
		"the id of a key is no key":  {"Authorization": {"Bearer svc-billing"}},
		"good header beside a basic": {"Authorization": {"Bearer " + good, "Basic YTpi"}},
	}
	for name, header := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/data/order", nil)
			r.Header = header
			refuses(t, withAnonymous(t), r)
		})
	}
}

func TestWhereACredentialMayStand(t *testing.T) {
	good := sign(t, "HS256", secret, claims(nil))
	cases := map[string]struct {
		header     http.Header
		target     string
		id         string
		fromCookie bool
	}{
		"header":                   {http.Header{"Authorization": {"Bearer " + good}}, "/", "ann", false},
		"scheme in any case":       {http.Header{"Authorization": {"bEARER  " + good}}, "/", "ann", false},
		"cookie":                   {http.Header{"Cookie": {"theme=dark; rowcast_session=" + good}}, "/", "ann", true},
		"header beats cookie":      {http.Header{"Authorization": {"Bearer " + good}, "Cookie": {"rowcast_session=nobody"}}, "/", "ann", false},
		"API key":                  {http.Header{"Authorization": {"Bearer billing-key-0001"}}, "/", "svc-billing", false},
		"nothing":                  {http.Header{}, "/", "", false},
		"another cookie":           {http.Header{"Cookie": {"other=" + good}}, "/", "", false},
		"a token in the URL is no": {http.Header{}, "/?access_token=" + good + "&token=" + good, "", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, c.target, nil)
			r.Header = c.header
			p, fromCookie, err := withAnonymous(t).Authenticate(r)
			if err != nil {
				t.Fatal(err, cause(err))
			}
			if p.ID != c.id || fromCookie != c.fromCookie || p.Anonymous != (c.id == "") || p.Tenant != tenant {
				t.Errorf("got %+v, from cookie %v", p, fromCookie)
			}
		})
	}
}

func TestWithoutAnonymousACallerWithoutCredentialIsRefused(t *testing.T) {
	refuses(t, hmacOnly(t), httptest.NewRequest(http.MethodGet, "/", nil))
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Cookie", "rowcast_session="+sign(t, "HS256", secret, claims(nil)))
	refuses(t, hmacOnly(t), r) // no cookie is declared
}

func TestVerifyTakesTokensNotKeys(t *testing.T) {
	a := withAnonymous(t)
	if p, err := a.Verify(t.Context(), sign(t, "HS256", secret, claims(nil))); err != nil || p.ID != "ann" {
		t.Errorf("got %v, %v", p, err)
	}
	for _, token := range []string{"billing-key-0001", "", "x"} {
		if p, err := a.Verify(t.Context(), token); err == nil {
			t.Errorf("%q became %v", token, p)
		}
	}
}

func TestKeyBringsRolesAndTenant(t *testing.T) {
	a := open(t, auth.Config{
		Tenants: []string{tenant, "t2"},
		Keys:    []auth.Key{{ID: "a", Secret: "k1", Tenant: tenant}, {ID: "b", Secret: "k2", Roles: []string{"x"}, Tenant: "t2"}},
	})
	p := accepts(t, a, "k2")
	if p.ID != "b" || p.Tenant != "t2" || len(p.Roles) != 1 || !p.Expires.IsZero() {
		t.Errorf("got %+v", p)
	}
}

func TestNewRefuses(t *testing.T) {
	one, two := []string{tenant}, []string{tenant, "t2"}
	key := func(id, secret, tenant string) auth.Key { return auth.Key{ID: id, Secret: secret, Tenant: tenant} }
	cases := map[string]auth.Config{
		"no tenant":                  {JWT: []auth.Source{{Secret: secret}}},
		"nobody gets in":             {Tenants: one},
		"short secret":               {Tenants: one, JWT: []auth.Source{{Secret: secret[:31]}}},
		"empty secret":               {Tenants: one, JWT: []auth.Source{{Secret: []byte{}}}},
		"no source":                  {Tenants: one, JWT: []auth.Source{{Alg: "HS256"}}},
		"two sources":                {Tenants: one, JWT: []auth.Source{{Secret: secret, JWKS: "https://id.example/jwks"}}},
		"none":                       {Tenants: one, JWT: []auth.Source{{Secret: secret, Alg: "none"}}},
		"RS256 with a secret":        {Tenants: one, JWT: []auth.Source{{Secret: secret, Alg: "RS256"}}},
		"HS256 with a public key":    {Tenants: one, JWT: []auth.Source{{PublicKey: publicOf(rsaKey()), Alg: "HS256"}}},
		"HS256 with a key set":       {Tenants: one, JWT: []auth.Source{{JWKS: "https://id.example/jwks", Alg: "HS256"}}},
		"ES384 with P-256":           {Tenants: one, JWT: []auth.Source{{PublicKey: publicOf(p256()), Alg: "ES384"}}},
		"a key set that is no URL":   {Tenants: one, JWT: []auth.Source{{JWKS: "file:///etc/passwd"}}},
		"anonymous names no tenant":  {Tenants: two, Anonymous: &auth.Anonymous{}},
		"anonymous of another":       {Tenants: two, Anonymous: &auth.Anonymous{Tenant: "t3"}},
		"key names no tenant":        {Tenants: two, Keys: []auth.Key{key("a", "k", "")}},
		"key of another tenant":      {Tenants: two, Keys: []auth.Key{key("a", "k", "t3")}},
		"key without an id":          {Tenants: one, Keys: []auth.Key{key("", "k", "")}},
		"key without a key":          {Tenants: one, Keys: []auth.Key{key("a", "", "")}},
		"key that no header carries": {Tenants: one, Keys: []auth.Key{key("a", "k k", "")}},
		"two keys of one id":         {Tenants: one, Keys: []auth.Key{key("a", "k1", ""), key("a", "k2", "")}},
		"two ids of one key":         {Tenants: one, Keys: []auth.Key{key("a", "k", ""), key("b", "k", "")}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := auth.New(c); err == nil {
				t.Error("accepted")
			}
		})
	}
}
