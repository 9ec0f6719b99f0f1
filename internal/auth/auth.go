// Package auth turns the credential of a request into a verified Principal:
// bearer JWT, API key, cookie, or the declared anonymous one. Nothing else of
// a request is looked at before it has answered.
//
// Guarantees:
//   - A credential that was sent and does not verify is refused, never taken
//     for anonymous. A token is never taken from a URL.
//   - Each source of keys is bound to its own family of algorithms: an HMAC
//     secret verifies HS* only, a public key never does, and "none" nothing.
//   - The tenant comes from the verified credential alone.
//   - Secrets are compared in constant time and stand in no error and no log.
//
// An Authenticator is safe for concurrent use. It starts no goroutine of its
// own: Run keeps the keys behind a JWKS URL fresh, and blocks.
//
// It may import fault, document, access.
package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"golang.org/x/sync/errgroup"
)

// Challenge is the WWW-Authenticate header that goes with a 401 (RFC 6750).
const Challenge = `Bearer realm="rowcast"`

// MaxToken bounds a credential in bytes. What is longer is refused unread: a
// header of this size is all that common proxies let through.
const MaxToken = 8 << 10

// Leeway is how far the clock of who issued a token may run ahead of ours
// before its nbf holds it back. It does not lengthen a token's life: exp is
// exact, because a stream ends at that very moment.
const Leeway = 5 * time.Second

// Config says which credentials are accepted.
type Config struct {
	JWT       []Source   // tried in order; the first that verifies decides
	Keys      []Key      // API keys
	Cookie    string     // name of the cookie that may carry a token. Defaults to "": none may
	Anonymous *Anonymous // who a caller without any credential is. Defaults to nil: refused
	Tenants   []string   // the declared tenants, at least one

	Now    func() time.Time // Defaults to time.Now
	Client *http.Client     // fetches JWKS. Defaults to a client with a transport of its own
	Logger *slog.Logger     // Defaults to slog.Default()
}

// Anonymous is who a caller without a credential is taken for.
type Anonymous struct {
	Roles  []string
	Tenant string // Defaults to the only tenant
}

// Authenticator verifies credentials. Safe for concurrent use.
type Authenticator struct {
	sources   []*source
	keys      []apiKey
	cookie    string
	anonymous *access.Principal
	tenants   []string
	now       func() time.Time
	client    *http.Client
	logger    *slog.Logger
}

// New checks c and returns its Authenticator. It asks no JWKS URL: Run does.
func New(c Config) (*Authenticator, error) {
	if len(c.Tenants) == 0 {
		return nil, errors.New("auth: no tenant is declared")
	}
	if len(c.JWT) == 0 && len(c.Keys) == 0 && c.Anonymous == nil {
		return nil, errors.New("auth: nobody could ever get in: declare jwt, keys or anonymous")
	}
	a := &Authenticator{cookie: c.Cookie, tenants: slices.Clone(c.Tenants), now: c.Now, client: guarded(c.Client), logger: c.Logger}
	if a.now == nil {
		a.now = time.Now
	}
	if a.logger == nil {
		a.logger = slog.Default()
	}
	for i, s := range c.JWT {
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("auth: jwt[%d]: %w", i, err)
		}
		a.sources = append(a.sources, newSource(s, a.client, a.now, a.logger))
	}
	if err := a.addKeys(c.Keys); err != nil {
		return nil, err
	}
	return a, a.addAnonymous(c.Anonymous)
}

func (a *Authenticator) addAnonymous(an *Anonymous) error {
	if an == nil {
		return nil
	}
	tenant, err := a.tenant(an.Tenant, an.Tenant != "")
	if err != nil {
		return fmt.Errorf("auth: anonymous: %w", err)
	}
	a.anonymous = &access.Principal{Anonymous: true, Roles: slices.Clone(an.Roles), Tenant: tenant}
	return nil
}

// Run keeps the keys behind JWKS URLs fresh until ctx is done, and returns nil
// then. A URL that cannot be reached is logged and asked again; it stops
// nobody: tokens that need its keys are refused until they are there.
func (a *Authenticator) Run(ctx context.Context) error {
	var g errgroup.Group
	for _, s := range a.sources {
		if s.remote != nil {
			g.Go(func() error { s.remote.run(ctx); return nil })
		}
	}
	err := g.Wait()
	<-ctx.Done()
	a.client.CloseIdleConnections()
	return err
}

// Cookie returns the name of the cookie that may carry a token; "" for none.
func (a *Authenticator) Cookie() string { return a.cookie }

// Authenticate returns the principal of a request, its tenant always set. The
// error is a *fault.Fault with code unauthenticated, which never says why in a
// way that helps to guess; its cause does, for the log, without the
// credential. fromCookie says that the cookie carried it, so that the edge can
// refuse what another site sent.
func (a *Authenticator) Authenticate(r *http.Request) (p *access.Principal, fromCookie bool, err error) {
	cred, err := a.credential(r)
	switch {
	case err != nil:
		return nil, false, refused(err)
	case cred.from == fromHeader:
		p, err = a.bearer(r.Context(), cred.token)
		return p, false, err
	case cred.from == fromCookieNamed:
		p, err = a.Verify(r.Context(), cred.token)
		return p, true, err
	case a.anonymous != nil:
		anonymous := *a.anonymous
		return &anonymous, false, nil
	}
	return nil, false, fault.New(fault.Unauthenticated, "this needs a credential: send Authorization: Bearer TOKEN")
}

// bearer verifies what an Authorization header carried: an API key or a token.
func (a *Authenticator) bearer(ctx context.Context, token string) (*access.Principal, error) {
	if p := a.matchKey(token); p != nil {
		return p, nil
	}
	return a.Verify(ctx, token)
}

// Verify verifies a token (not an API key: those travel in the header only, so
// that a browser never keeps one). The error is as Authenticate's.
func (a *Authenticator) Verify(ctx context.Context, token string) (*access.Principal, error) {
	if len(token) > MaxToken {
		return nil, refused(errors.New("token too long"))
	}
	var errs []error
	for _, s := range a.sources {
		claims, err := s.verify(ctx, token)
		if err == nil {
			var p *access.Principal
			if p, err = a.principal(claims); err == nil {
				return p, nil
			}
		}
		errs = append(errs, err)
	}
	return nil, refused(errors.Join(errs...))
}

// tenant resolves what a credential names; named is false where it names none.
func (a *Authenticator) tenant(name string, named bool) (string, error) {
	switch {
	case !named && len(a.tenants) == 1:
		return a.tenants[0], nil
	case !named:
		return "", errors.New("it names no tenant, and there are several")
	case !slices.Contains(a.tenants, name):
		return "", errors.New("it names a tenant that is not declared")
	}
	return name, nil
}

func refused(cause error) error {
	return fault.New(fault.Unauthenticated, "the credential does not verify").Because(cause)
}
