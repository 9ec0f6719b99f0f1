// Package auth turns the credential of a request into a verified Principal:
// bearer JWT, API key, cookie, or the declared anonymous one. Nothing else of
// a request is looked at before it has answered.
//
// It may import fault, document, access.
package auth

import (
	"net/http"

	"github.com/rowcast/rowcast/internal/access"
)

// Authenticator verifies credentials. Safe for concurrent use.
type Authenticator struct{}

// Authenticate returns the principal of a request, its tenant always set. The
// error is a *fault.Fault with code unauthenticated, which never says why in a
// way that helps to guess. fromCookie says that the cookie carried it.
func (a *Authenticator) Authenticate(r *http.Request) (p *access.Principal, fromCookie bool, err error) {
	panic("not written")
}
