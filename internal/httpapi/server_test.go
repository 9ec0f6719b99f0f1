package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/httpapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tenant = "acme:test:shop:t1"

// names is an Authenticator for which a principal's name is its token.
type names map[string]*access.Principal

func (n names) Authenticate(r *http.Request) (*access.Principal, bool, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		p, err := n.Verify(r.Context(), strings.TrimPrefix(header, "Bearer "))
		return p, false, err
	}
	if cookie, err := r.Cookie("rowcast_session"); err == nil {
		p, err := n.Verify(r.Context(), cookie.Value)
		return p, true, err
	}
	return nil, false, fault.New(fault.Unauthenticated, "no credential")
}

func (n names) Verify(_ context.Context, token string) (*access.Principal, error) {
	if p := n[token]; p != nil {
		return p, nil
	}
	return nil, fault.New(fault.Unauthenticated, "the credential does not verify")
}

var everybody = names{
	"ann":  {ID: "ann", Tenant: tenant, Expires: time.Date(2036, 1, 2, 3, 4, 5, 0, time.UTC)},
	"bob":  {ID: "bob", Tenant: tenant},
	"sue":  {ID: "sue", Tenant: tenant, Roles: []string{"staff"}},
	"root": {ID: "root", Tenant: tenant, Roles: []string{"admin"}},
	"eve":  {ID: "eve", Tenant: "acme:test:shop:t2"},
}

// units is Tenants by "tenant entity".
type units map[string]*engine.Engine

func (u units) Unit(tenant, entity string) (*engine.Engine, bool) {
	e, ok := u[tenant+" "+entity]
	return e, ok
}

// serve starts an API on a real socket.
func serve(t *testing.T, c httpapi.Config) *httptest.Server {
	t.Helper()
	if c.Auth == nil {
		c.Auth = everybody
	}
	if c.Tenants == nil {
		c.Tenants = units{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	api, err := httpapi.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(api)
	t.Cleanup(s.Close)
	s.Client().CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

// ask is one request: a principal's name, method and path, and then headers and
// a body as "Name: value" and "" and the text, in the manner of HTTP itself.
type ask struct {
	as, method, path string
	headers          map[string]string
	body             string
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (a ask) do(t *testing.T, s *httptest.Server) answer {
	t.Helper()
	var body io.Reader
	if a.body != "" {
		body = strings.NewReader(a.body)
	}
	r, err := http.NewRequestWithContext(t.Context(), a.method, s.URL+a.path, body)
	if err != nil {
		t.Fatal(err)
	}
	if a.as != "" {
		r.Header.Set("Authorization", "Bearer "+a.as)
	}
	if a.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, v := range a.headers {
		r.Header.Set(name, v)
		if name == "Host" {
			r.Host = v
		}
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return read(t, resp)
}

// read takes a response to its end.
func read(t *testing.T, resp *http.Response) answer {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(data)}
}

// refused fails unless the answer is a problem of that status and code.
func (a answer) refused(t *testing.T, status int, code string) {
	t.Helper()
	var p struct {
		Type, Title, Detail, Code string
		Status                    int
	}
	dec := json.NewDecoder(bytes.NewReader([]byte(a.body)))
	if err := dec.Decode(&p); err != nil {
		t.Fatalf("status %d, body %q: %v", a.status, a.body, err)
	}
	if a.status != status || p.Code != code || p.Status != status || p.Type != "urn:rowcast:problem:"+code {
		t.Errorf("got %d %s, want %d %s", a.status, a.body, status, code)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type is %q", got)
	}
}

// is fails unless the answer has that status and, where one is given, that body.
func (a answer) is(t *testing.T, status int, body ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d; body %s", a.status, status, a.body)
	}
	if len(body) > 0 && a.body != body[0] {
		t.Errorf("body %s\nwant %s", a.body, body[0])
	}
}

// has fails unless the header has the value.
func (a answer) has(t *testing.T, name, want string) {
	t.Helper()
	if got := strings.Join(a.header.Values(name), " | "); got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}
