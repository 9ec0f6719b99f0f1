package auth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rowcast/rowcast/internal/auth"
)

// keyServer serves a key set that a test changes.
type keyServer struct {
	mu      sync.Mutex
	keys    []json.RawMessage
	status  int
	fetched atomic.Int32
	served  chan struct{}
}

func newKeyServer(keys ...json.RawMessage) *keyServer {
	return &keyServer{keys: keys, status: http.StatusOK, served: make(chan struct{}, 100)}
}

func (k *keyServer) rotate(status int, keys ...json.RawMessage) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.status, k.keys = status, keys
}

func (k *keyServer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fetched.Add(1)
	w.WriteHeader(k.status)
	_ = json.NewEncoder(w).Encode(map[string]any{"keys": k.keys})
	k.served <- struct{}{}
}

// running opens an Authenticator and runs it until the test ends.
func running(t *testing.T, c auth.Config) *auth.Authenticator {
	t.Helper()
	a := open(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	return a
}

func kid(id string) map[string]any { return map[string]any{"kid": id} }

func TestKeySetIsCachedAndRotates(t *testing.T) {
	keys := newKeyServer(jwkOf(t, publicOf(rsaKey()), "one", false))
	srv := httptest.NewServer(keys)
	defer srv.Close()
	a := running(t, auth.Config{JWT: []auth.Source{{JWKS: srv.URL, Cooldown: time.Nanosecond}}})
	<-keys.served
	first := signWith(t, "RS256", rsaKey(), claims(nil), kid("one"))
	for range 10 {
		accepts(t, a, first)
	}
	before := keys.fetched.Load()
	accepts(t, a, signWith(t, "PS384", rsaKey(), claims(nil), nil)) // no kid: any key of the set
	if got := keys.fetched.Load(); got != before {
		t.Errorf("%d fetches for keys already there", got-before)
	}

	keys.rotate(http.StatusOK, jwkOf(t, publicOf(p256()), "two", false), jwkOf(t, publicOf(edwards()), "three", false))
	accepts(t, a, signWith(t, "ES256", p256(), claims(nil), kid("two")))
	accepts(t, a, signWith(t, "EdDSA", edwards(), claims(nil), kid("three")))
	refuses(t, a, bearer(first)) // withdrawn
}

func TestKidIsBoundToItsKey(t *testing.T) {
	keys := newKeyServer(
		jwkOf(t, publicOf(rsaKey()), "rsa", false), jwkOf(t, publicOf(p256()), "ec", false),
		jwkOf(t, secret, "shared", true), // anybody can read it there
	)
	srv := httptest.NewServer(keys)
	defer srv.Close()
	a := running(t, auth.Config{JWT: []auth.Source{{JWKS: srv.URL}}})
	<-keys.served
	accepts(t, a, signWith(t, "RS256", rsaKey(), claims(nil), kid("rsa")))
	for name, token := range map[string]string{
		"the other's kid":         signWith(t, "RS256", rsaKey(), claims(nil), kid("ec")),
		"another key, same kid":   signWith(t, "ES256", must(newP256()), claims(nil), kid("ec")),
		"symmetric key of a set":  signWith(t, "HS256", secret, claims(nil), kid("shared")),
		"kid is a number":         signWith(t, "RS256", rsaKey(), claims(nil), map[string]any{"kid": 1}),
		"unknown kid":             signWith(t, "RS256", rsaKey(), claims(nil), kid("nobody")),
		"public modulus as HS256": signWith(t, "HS256", rsaKey().N.Bytes(), claims(nil), kid("rsa")),
	} {
		t.Run(name, func(t *testing.T) { refuses(t, a, bearer(token)) })
	}
}

func TestStrangersCannotMakeUsFetch(t *testing.T) {
	keys := newKeyServer(jwkOf(t, publicOf(p256()), "one", false))
	srv := httptest.NewServer(keys)
	defer srv.Close()
	a := running(t, auth.Config{JWT: []auth.Source{{JWKS: srv.URL, Cooldown: time.Hour}}})
	<-keys.served
	for range 50 {
		refuses(t, a, bearer(signWith(t, "ES256", p256(), claims(nil), kid("made up"))))
	}
	if got := keys.fetched.Load(); got > 2 {
		t.Errorf("%d fetches, want the first and one more", got)
	}
	accepts(t, a, signWith(t, "ES256", p256(), claims(nil), kid("one")))
}

func TestBadKeySetsKeepTheKeysKnownBefore(t *testing.T) {
	keys := newKeyServer(jwkOf(t, publicOf(p256()), "one", false))
	srv := httptest.NewServer(keys)
	defer srv.Close()
	a := running(t, auth.Config{JWT: []auth.Source{{JWKS: srv.URL, Cooldown: time.Nanosecond}}})
	<-keys.served
	good := signWith(t, "ES256", p256(), claims(nil), kid("one"))
	accepts(t, a, good)
	unknown := bearer(signWith(t, "ES256", p256(), claims(nil), kid("x")))
	padding := json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
	for name, answer := range map[string]struct {
		status int
		keys   []json.RawMessage
	}{
		"error":        {http.StatusInternalServerError, nil},
		"no keys":      {http.StatusOK, []json.RawMessage{}},
		"unknown keys": {http.StatusOK, []json.RawMessage{[]byte(`{"kty":"new"}`), jwkOf(t, secret, "one", true)}},
		"no end":       {http.StatusOK, []json.RawMessage{padding}},
	} {
		t.Run(name, func(t *testing.T) {
			keys.rotate(answer.status, answer.keys...)
			before := keys.fetched.Load()
			refuses(t, a, unknown)
			if keys.fetched.Load() == before {
				t.Error("did not look")
			}
			accepts(t, a, good)
		})
	}
}

// transport answers in memory, so that time in a synctest bubble moves on.
type transport struct {
	*keyServer
	down atomic.Bool
}

func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if tr.down.Load() {
		tr.fetched.Add(1)
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	tr.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestABootGoesOnWhileTheKeySetIsDown(t *testing.T) {
	token := signWith(t, "ES256", p256(), claims(nil), kid("one"))
	set := jwkOf(t, publicOf(p256()), "one", false)
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{keyServer: newKeyServer(set)}
		tr.down.Store(true)
		a := running(t, auth.Config{JWT: []auth.Source{{JWKS: "https://id.example/keys"}}, Client: &http.Client{Transport: tr}})
		synctest.Wait()
		refuses(t, a, bearer(token))
		<-time.After(30 * time.Second) // bubble time
		if got := tr.fetched.Load(); got < 4 || got > 8 {
			t.Errorf("%d attempts in 30 s", got)
		}
		tr.down.Store(false)
		<-time.After(time.Minute)
		accepts(t, a, token)
	})
}

func TestKeysAreLookedAtInTheBackground(t *testing.T) {
	old := signWith(t, "ES256", p256(), claims(nil), kid("one"))
	one, two := jwkOf(t, publicOf(p256()), "one", false), jwkOf(t, publicOf(edwards()), "two", false)
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{keyServer: newKeyServer(one)}
		a := running(t, auth.Config{JWT: []auth.Source{{JWKS: "https://id.example/keys"}}, Client: &http.Client{Transport: tr}})
		synctest.Wait()
		accepts(t, a, old)
		tr.rotate(http.StatusOK, two)
		<-time.After(14 * time.Minute)
		accepts(t, a, old)
		<-time.After(2 * time.Minute)
		refuses(t, a, bearer(old))
	})
}

// slow blocks until released.
type slow struct {
	inner   http.RoundTripper
	release chan struct{}
}

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	select {
	case <-s.release:
		return s.inner.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

func TestManyWaitForOneFetch(t *testing.T) {
	set := jwkOf(t, publicOf(p256()), "one", false)
	token := signWith(t, "ES256", p256(), claims(nil), kid("one"))
	synctest.Test(t, func(t *testing.T) {
		tr := &transport{keyServer: newKeyServer(set)}
		gate := &slow{tr, make(chan struct{})}
		a := running(t, auth.Config{JWT: []auth.Source{{JWKS: "https://id.example/keys"}}, Client: &http.Client{Transport: gate}})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { accepts(t, a, token) })
		}
		synctest.Wait()
		close(gate.release)
		wg.Wait()
		if got := tr.fetched.Load(); got != 1 {
			t.Errorf("%d fetches for 20 callers", got)
		}
	})
}

func TestAStalledKeySetHoldsNobodyForLong(t *testing.T) {
	token := signWith(t, "ES256", p256(), claims(nil), kid("one"))
	synctest.Test(t, func(t *testing.T) {
		gate := &slow{nil, make(chan struct{})}
		a := running(t, auth.Config{JWT: []auth.Source{{JWKS: "https://id.example/keys"}}, Client: &http.Client{Transport: gate}})
		start := time.Now()
		refuses(t, a, bearer(token))
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestRedirectsThatAreNotFollowed(t *testing.T) {
	keys := newKeyServer(jwkOf(t, publicOf(p256()), "one", false))
	plain := httptest.NewServer(keys)
	defer plain.Close()
	var asked atomic.Int32
	redirect := func(to func(*http.Request) string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, to(r), http.StatusFound)
		})
	}
	cases := map[string]struct {
		handler http.Handler
		asked   int32
	}{
		"from https to http": {redirect(func(*http.Request) string { return plain.URL }), 1},
		"without end":        {redirect(func(r *http.Request) string { return r.URL.Path + "x" }), 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			srv := httptest.NewTLSServer(c.handler)
			defer srv.Close()
			// No Run: the token's own kid makes for exactly one look.
			a := open(t, auth.Config{JWT: []auth.Source{{JWKS: srv.URL + "/"}}, Client: srv.Client()})
			refuses(t, a, bearer(signWith(t, "ES256", p256(), claims(nil), kid("one"))))
			if asked.Load() != c.asked || keys.fetched.Load() != 0 {
				t.Errorf("asked %d times, and %d times where it was sent", asked.Load(), keys.fetched.Load())
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	a := must(auth.New(auth.Config{JWT: []auth.Source{{Secret: secret}, {PublicKey: publicOf(p256())}}, Tenants: []string{tenant}}))
	good := must(jwt.NewWithClaims(jwt.SigningMethodHS256, claims(nil)).SignedString([]byte("another secret, of 32 bytes long")))
	f.Add(good)
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + ".e30.")
	f.Fuzz(func(t *testing.T, token string) {
		if p, err := a.Verify(t.Context(), token); err == nil {
			t.Errorf("%q became %+v", token, p)
		}
	})
}

func newP256() (*ecdsa.PrivateKey, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) }
