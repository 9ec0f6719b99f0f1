package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/auth"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenant = "acme:test:shop:t1"

var (
	now     = time.Date(2026, 9, 17, 2, 25, 12, 0, time.UTC)
	secret  = []byte("0123456789abcdef0123456789abcdef")
	rsaKey  = sync.OnceValue(func() *rsa.PrivateKey { return must(rsa.GenerateKey(rand.Reader, 2048)) })
	p256    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	p384    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	p521    = sync.OnceValue(func() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	edwards = sync.OnceValue(func() ed25519.PrivateKey {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return must(key, err)
	})
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// claims returns good claims, changed by edits; a nil value removes the claim.
func claims(edits jwt.MapClaims) jwt.MapClaims {
	c := jwt.MapClaims{"sub": "ann", "roles": []string{"staff"}, "exp": now.Add(time.Hour).Unix()}
	maps.Copy(c, edits)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func sign(t *testing.T, alg string, key any, c jwt.MapClaims) string {
	t.Helper()
	return signWith(t, alg, key, c, nil)
}

func signWith(t *testing.T, alg string, key any, c jwt.MapClaims, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.GetSigningMethod(alg), c)
	maps.Copy(token.Header, header)
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func open(t *testing.T, c auth.Config) *auth.Authenticator {
	t.Helper()
	if c.Tenants == nil {
		c.Tenants = []string{tenant}
	}
	c.Now = func() time.Time { return now }
	c.Logger = slog.New(slog.DiscardHandler)
	a, err := auth.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func hmacOnly(t *testing.T) *auth.Authenticator {
	t.Helper()
	return open(t, auth.Config{JWT: []auth.Source{{Secret: secret}}})
}

func bearer(token string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/data/order", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func accepts(t *testing.T, a *auth.Authenticator, token string) *access.Principal {
	t.Helper()
	p, fromCookie, err := a.Authenticate(bearer(token))
	if err != nil {
		t.Fatalf("refused: %v: %v", err, cause(err))
	}
	if fromCookie {
		t.Error("said to come from the cookie")
	}
	return p
}

func refuses(t *testing.T, a *auth.Authenticator, r *http.Request) {
	t.Helper()
	p, _, err := a.Authenticate(r)
	if err == nil {
		t.Fatalf("accepted as %+v", p)
	}
	if !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("error is %v, want unauthenticated", err)
	}
}

func cause(err error) error {
	if f, ok := fault.Of(err); ok {
		return f.Unwrap()
	}
	return nil
}

func publicOf(key any) crypto.PublicKey {
	return key.(interface{ Public() crypto.PublicKey }).Public()
}

// family is one key and the algorithms it goes with.
type family struct {
	name   string
	key    any
	source auth.Source
	algs   []string
}

func families() []family {
	list := []family{
		{"rsa", rsaKey(), auth.Source{}, []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}},
		{"p256", p256(), auth.Source{}, []string{"ES256"}},
		{"p384", p384(), auth.Source{}, []string{"ES384"}},
		{"p521", p521(), auth.Source{}, []string{"ES512"}},
		{"ed25519", edwards(), auth.Source{}, []string{"EdDSA"}},
	}
	for i := range list {
		list[i].source.PublicKey = publicOf(list[i].key)
	}
	return append(list, family{"secret", secret, auth.Source{Secret: secret}, []string{"HS256", "HS384", "HS512"}})
}

func TestEachAlgorithmVerifiesItsOwnTokensOnly(t *testing.T) {
	all := families()
	for _, mine := range all {
		for _, alg := range mine.algs {
			t.Run(mine.name+" "+alg, func(t *testing.T) {
				source := mine.source
				source.Alg = alg
				a := open(t, auth.Config{JWT: []auth.Source{source}})
				if got := accepts(t, a, sign(t, alg, mine.key, claims(nil))); got.ID != "ann" {
					t.Errorf("id is %q", got.ID)
				}
				for _, other := range all {
					for _, foreign := range other.algs {
						if foreign != alg {
							refuses(t, a, bearer(sign(t, foreign, other.key, claims(nil))))
						}
					}
				}
			})
		}
	}
}

func TestAlgorithmLeftOutIsWhatTheKeyAllows(t *testing.T) {
	for _, f := range families() {
		t.Run(f.name, func(t *testing.T) {
			a := open(t, auth.Config{JWT: []auth.Source{f.source}})
			for _, alg := range f.algs {
				token := sign(t, alg, f.key, claims(nil))
				if f.name == "secret" && alg != "HS256" {
					refuses(t, a, bearer(token))
					continue
				}
				accepts(t, a, token)
			}
		})
	}
}

// The classic confusion: what anybody may read, the public key, used as a shared secret.
func TestPublicKeyIsNeverASharedSecret(t *testing.T) {
	der := must(x509.MarshalPKIXPublicKey(publicOf(rsaKey())))
	texts := map[string][]byte{
		"pem":   pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"der":   der,
		"pkcs1": x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey),
	}
	a := open(t, auth.Config{JWT: []auth.Source{{PublicKey: publicOf(rsaKey())}, {Secret: secret}}})
	for name, text := range texts {
		for _, alg := range []string{"HS256", "HS384", "HS512"} {
			t.Run(name+" "+alg, func(t *testing.T) { refuses(t, a, bearer(sign(t, alg, text, claims(nil)))) })
		}
	}
}

func TestTokensThatDoNotVerify(t *testing.T) {
	a := hmacOnly(t)
	good := sign(t, "HS256", secret, claims(nil))
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	none := b64([]byte(`{"alg":"none"}`))
	cases := map[string]string{
		"none with a signature":        none + "." + parts[1] + "." + parts[2],
		"none without a signature":     none + "." + parts[1] + ".",
		"None in other letter case":    b64([]byte(`{"alg":"NoNe"}`)) + "." + parts[1] + ".",
		"no algorithm":                 b64([]byte(`{}`)) + "." + parts[1] + "." + parts[2],
		"signature cut off":            parts[0] + "." + parts[1] + ".",
		"two parts":                    parts[0] + "." + parts[1],
		"four parts":                   good + ".x",
		"claims tampered with":         parts[0] + "." + b64([]byte(`{"sub":"root","exp":9999999999}`)) + "." + parts[2],
		"signature tampered with":      parts[0] + "." + parts[1] + "." + flip(parts[2]),
		"another secret":               sign(t, "HS256", []byte(strings.Repeat("x", 32)), claims(nil)),
		"critical extension":           signWith(t, "HS256", secret, claims(nil), map[string]any{"crit": []string{"b64"}, "b64": false}),
		"not base64":                   "!!.!!.!!",
		"not a token":                  "hello",
		"longer than any token":        good + strings.Repeat("A", auth.MaxToken),
		"expired":                      sign(t, "HS256", secret, claims(jwt.MapClaims{"exp": now.Add(-time.Second).Unix()})),
		"expires this very moment":     sign(t, "HS256", secret, claims(jwt.MapClaims{"exp": now.Unix()})),
		"no expiry":                    sign(t, "HS256", secret, claims(jwt.MapClaims{"exp": nil})),
		"expiry is a text":             sign(t, "HS256", secret, claims(jwt.MapClaims{"exp": "9999999999"})),
		"not yet valid":                sign(t, "HS256", secret, claims(jwt.MapClaims{"nbf": now.Add(auth.Leeway + time.Second).Unix()})),
		"no subject":                   sign(t, "HS256", secret, claims(jwt.MapClaims{"sub": nil})),
		"empty subject":                sign(t, "HS256", secret, claims(jwt.MapClaims{"sub": ""})),
		"subject is a number":          sign(t, "HS256", secret, claims(jwt.MapClaims{"sub": 7})),
		"subject with a control":       sign(t, "HS256", secret, claims(jwt.MapClaims{"sub": "a\x00b"})),
		"subject without end":          sign(t, "HS256", secret, claims(jwt.MapClaims{"sub": strings.Repeat("a", 256)})),
		"roles as one text":            sign(t, "HS256", secret, claims(jwt.MapClaims{"roles": "staff admin"})),
		"roles with a number":          sign(t, "HS256", secret, claims(jwt.MapClaims{"roles": []any{"staff", 1}})),
		"tenant not declared":          sign(t, "HS256", secret, claims(jwt.MapClaims{"tenant": "acme:test:shop:t2"})),
		"tenant empty":                 sign(t, "HS256", secret, claims(jwt.MapClaims{"tenant": ""})),
		"tenant is a list":             sign(t, "HS256", secret, claims(jwt.MapClaims{"tenant": []string{tenant}})),
		"claims are no object, signed": signRaw(secret, `{"alg":"HS256"}`, `null`),
	}
	for name, token := range cases {
		t.Run(name, func(t *testing.T) { refuses(t, a, bearer(token)) })
	}
}

func flip(s string) string {
	if s[0] == 'A' {
		return "B" + s[1:]
	}
	return "A" + s[1:]
}

func signRaw(key []byte, header, body string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(body))
	return text + "." + base64.RawURLEncoding.EncodeToString(must(jwt.SigningMethodHS256.Sign(text, key)))
}

func TestClaimsBecomeThePrincipal(t *testing.T) {
	token := sign(t, "HS256", secret, claims(jwt.MapClaims{
		"tenant": tenant, "roles": []string{"staff", "billing"}, "n": json.Number("9007199254740993"), "team": "blue",
		"nbf": now.Add(auth.Leeway).Unix(),
	}))
	got := accepts(t, hmacOnly(t), token)
	want := &access.Principal{
		ID: "ann", Roles: []string{"staff", "billing"}, Tenant: tenant, Expires: now.Add(time.Hour),
	}
	if got.Claims["n"] != json.Number("9007199254740993") || got.Claims["team"] != "blue" {
		t.Errorf("claims are %v", got.Claims)
	}
	got.Claims = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRolesMayBeAbsent(t *testing.T) {
	for name, roles := range map[string]any{"absent": nil, "empty": []string{}} {
		t.Run(name, func(t *testing.T) {
			if got := accepts(t, hmacOnly(t), sign(t, "HS256", secret, claims(jwt.MapClaims{"roles": roles}))); len(got.Roles) != 0 {
				t.Errorf("roles are %v", got.Roles)
			}
		})
	}
	t.Run("null", func(t *testing.T) {
		accepts(t, hmacOnly(t), signRaw(secret, `{"alg":"HS256"}`, `{"sub":"ann","roles":null,"exp":9999999999999}`))
	})
}

func TestWithSeveralTenantsATokenNamesItsOwn(t *testing.T) {
	a := open(t, auth.Config{JWT: []auth.Source{{Secret: secret}}, Tenants: []string{tenant, "acme:test:shop:t2"}})
	refuses(t, a, bearer(sign(t, "HS256", secret, claims(nil))))
	got := accepts(t, a, sign(t, "HS256", secret, claims(jwt.MapClaims{"tenant": "acme:test:shop:t2"})))
	if got.Tenant != "acme:test:shop:t2" {
		t.Errorf("tenant is %q", got.Tenant)
	}
}

func TestIssuerAndAudience(t *testing.T) {
	a := open(t, auth.Config{JWT: []auth.Source{{Secret: secret, Issuer: "https://id.example", Audience: "shop"}}})
	good := jwt.MapClaims{"iss": "https://id.example", "aud": []string{"other", "shop"}}
	accepts(t, a, sign(t, "HS256", secret, claims(good)))
	for name, edit := range map[string]jwt.MapClaims{
		"another issuer":   {"iss": "https://evil.example", "aud": "shop"},
		"no issuer":        {"aud": "shop"},
		"another audience": {"iss": "https://id.example", "aud": "bank"},
		"no audience":      {"iss": "https://id.example"},
	} {
		t.Run(name, func(t *testing.T) { refuses(t, a, bearer(sign(t, "HS256", secret, claims(edit)))) })
	}
}

func TestAnySourceThatVerifiesWill(t *testing.T) {
	a := open(t, auth.Config{JWT: []auth.Source{{PublicKey: publicOf(p256())}, {Secret: secret}, {PublicKey: publicOf(edwards())}}})
	accepts(t, a, sign(t, "ES256", p256(), claims(nil)))
	accepts(t, a, sign(t, "HS256", secret, claims(nil)))
	accepts(t, a, sign(t, "EdDSA", edwards(), claims(nil)))
	refuses(t, a, bearer(sign(t, "ES384", p384(), claims(nil))))
}

// A kid is a name in a key set and nothing else: with a fixed key it is no path, no query, no choice.
func TestKidChangesNothingForAFixedKey(t *testing.T) {
	a := hmacOnly(t)
	for _, kid := range []any{"../../../dev/null", "' OR 1=1 --", 7, nil} {
		accepts(t, a, signWith(t, "HS256", secret, claims(nil), map[string]any{"kid": kid}))
		refuses(t, a, bearer(signWith(t, "HS256", []byte(""), claims(nil), map[string]any{"kid": kid})))
	}
	// Keys that the token itself brings are not looked at.
	jwk := map[string]any{"kty": "oct", "k": base64.RawURLEncoding.EncodeToString([]byte("x"))}
	refuses(t, a, bearer(signWith(t, "HS256", []byte("x"), claims(nil), map[string]any{"jwk": jwk, "jku": "http://evil.example"})))
}

func TestSecretsNeverStandInErrors(t *testing.T) {
	a := open(t, auth.Config{JWT: []auth.Source{{Secret: secret}}, Keys: []auth.Key{{ID: "svc", Secret: "key-of-the-service"}}})
	token := sign(t, "HS256", []byte(strings.Repeat("y", 32)), claims(jwt.MapClaims{"note": "sesame"}))
	_, _, err := a.Authenticate(bearer(token))
	text := err.Error() + cause(err).Error()
	for _, part := range append(strings.Split(token, "."), string(secret), "key-of-the-service") {
		if strings.Contains(text, part) {
			t.Errorf("%q gives away %q", text, part)
		}
	}
}
