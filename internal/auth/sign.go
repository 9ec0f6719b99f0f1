package auth

import (
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ErrNoSecret says that no source has an HMAC secret to sign with.
var ErrNoSecret = errors.New("auth: no source has an HMAC secret; tokens come from whoever holds the private key")

// Claims are what a token made here says.
type Claims struct {
	Subject string
	Roles   []string
	Tenant  string // left out when ""
	Issued  time.Time
	Expires time.Time
}

// Signer makes tokens for the command line and for development. It is
// immutable and safe for concurrent use.
type Signer struct {
	method jwt.SigningMethod
	source Source
}

// NewSigner returns a Signer over the first source with an HMAC secret, whose
// tokens that very source accepts. ErrNoSecret where there is none.
func NewSigner(sources []Source) (*Signer, error) {
	for _, s := range sources {
		if s.Secret == nil {
			continue
		}
		if err := s.Validate(); err != nil {
			return nil, fmt.Errorf("auth: %w", err)
		}
		return &Signer{method: jwt.GetSigningMethod(s.methods()[0]), source: s}, nil
	}
	return nil, ErrNoSecret
}

// Sign returns the token for c.
func (s *Signer) Sign(c Claims) (string, error) {
	if err := CheckID(c.Subject); err != nil {
		return "", fmt.Errorf("auth: subject: %w", err)
	}
	claims := jwt.MapClaims{"sub": c.Subject, "iat": c.Issued.Unix(), "exp": c.Expires.Unix()}
	if len(c.Roles) > 0 {
		claims["roles"] = c.Roles
	}
	if c.Tenant != "" {
		claims["tenant"] = c.Tenant
	}
	if s.source.Issuer != "" {
		claims["iss"] = s.source.Issuer
	}
	if s.source.Audience != "" {
		claims["aud"] = s.source.Audience
	}
	return jwt.NewWithClaims(s.method, claims).SignedString(s.source.Secret)
}
