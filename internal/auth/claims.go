package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/rowcast/rowcast/internal/access"
)

// farthest is the last expiry kept; RFC 3339 can write no later year.
var farthest = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// principal reads the claims of a verified token. Every claim stays at hand in
// Claims, numbers as json.Number.
func (a *Authenticator) principal(claims jwt.MapClaims) (*access.Principal, error) {
	sub, _ := claims["sub"].(string)
	if err := CheckID(sub); err != nil {
		return nil, fmt.Errorf("claim sub: %w", err)
	}
	roles, err := roleList(claims["roles"])
	if err != nil {
		return nil, fmt.Errorf("claim roles: %w", err)
	}
	raw, named := claims["tenant"]
	name, isText := raw.(string)
	if named && !isText {
		return nil, errors.New("claim tenant: it is not a text")
	}
	tenant, err := a.tenant(name, named)
	if err != nil {
		return nil, fmt.Errorf("claim tenant: %w", err)
	}
	expires, err := claims.GetExpirationTime()
	if err != nil || expires == nil {
		return nil, errors.New("claim exp: it is missing")
	}
	at := expires.UTC()
	if at.After(farthest) {
		at = farthest
	}
	return &access.Principal{ID: sub, Roles: roles, Tenant: tenant, Claims: claims, Expires: at}, nil
}

// roleList reads a list of texts; absent or null is none. A single text is
// refused: some issuers join roles with spaces, and guessing would grant.
func roleList(claim any) ([]string, error) {
	if claim == nil {
		return nil, nil
	}
	list, ok := claim.([]any)
	if !ok {
		return nil, errors.New("it is not a list")
	}
	roles := make([]string, 0, len(list))
	for _, item := range list {
		role, ok := item.(string)
		if !ok || role == "" {
			return nil, errors.New("it holds something other than texts")
		}
		roles = append(roles, role)
	}
	return roles, nil
}
