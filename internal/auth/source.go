package auth

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// MinSecret is the least length of an HMAC secret in bytes: RFC 7518, 3.2 asks
// for as many bits as the hash has, and HS256 has the fewest.
const MinSecret = 32

// Source is where keys that verify tokens come from: exactly one of Secret,
// PublicKey and JWKS.
type Source struct {
	Secret    []byte           // HMAC, at least MinSecret bytes
	PublicKey crypto.PublicKey // see ParsePublicKey
	JWKS      string           // URL of a JSON Web Key Set

	// Alg is the one algorithm accepted. Defaults to HS256 for a Secret, and for
	// the others to whatever the type of the key allows.
	Alg      string
	Issuer   string // iss must be this. Defaults to "": not judged
	Audience string // aud must hold this. Defaults to "": not judged

	Refresh  time.Duration // between two looks at JWKS. Defaults to 15 minutes
	Cooldown time.Duration // least time between two looks that an unknown key id causes. Defaults to 10 seconds
}

// SourceError says which key of a Source is wrong.
type SourceError struct {
	Key     string // alg, secret, publickey or jwks; "" for the source as a whole
	Message string
}

// Error implements error.
func (e *SourceError) Error() string { return e.Message }

// Validate says what is wrong with s: nil or a *SourceError.
func (s Source) Validate() error {
	given := 0
	for _, is := range []bool{s.Secret != nil, s.PublicKey != nil, s.JWKS != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return &SourceError{"", "a source of keys needs exactly one of secret, publickey and jwks"}
	}
	if s.Secret != nil && len(s.Secret) < MinSecret {
		return &SourceError{"secret", fmt.Sprintf("the secret has %d bytes and needs at least %d; make one with: openssl rand -hex 32", len(s.Secret), MinSecret)}
	}
	if s.JWKS != "" {
		if u, err := url.Parse(s.JWKS); err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
			return &SourceError{"jwks", "jwks is not an http or https URL; write https://HOST/PATH"}
		}
	}
	allowed := s.possible()
	if s.Alg != "" && !slices.Contains(allowed, s.Alg) {
		return &SourceError{"alg", fmt.Sprintf("algorithm %q does not go with this source; write one of %s, or leave alg out", s.Alg, strings.Join(allowed, ", "))}
	}
	return nil
}

// possible returns the algorithms that the kind of key can go with. None of
// the lists holds HS* beside another family: that is what keeps a public key
// from being used as a shared secret.
func (s Source) possible() []string {
	switch {
	case s.Secret != nil:
		return hmacMethods
	case s.PublicKey != nil:
		return methodsOf(s.PublicKey)
	}
	return asymmetricMethods
}

// methods returns the algorithms accepted.
func (s Source) methods() []string {
	switch {
	case s.Alg != "":
		return []string{s.Alg}
	case s.Secret != nil:
		return []string{"HS256"}
	}
	return s.possible()
}

// source verifies tokens with the keys of one Source.
type source struct {
	parser *jwt.Parser
	key    any   // a []byte or a public key; nil where remote is set
	remote *jwks // nil for a fixed key
	now    func() time.Time
}

func newSource(s Source, client *http.Client, now func() time.Time, logger *slog.Logger) *source {
	options := []jwt.ParserOption{
		jwt.WithValidMethods(s.methods()),
		jwt.WithExpirationRequired(),
		jwt.WithJSONNumber(),
		jwt.WithStrictDecoding(),
		jwt.WithLeeway(Leeway),
		jwt.WithTimeFunc(now),
	}
	if s.Issuer != "" {
		options = append(options, jwt.WithIssuer(s.Issuer))
	}
	if s.Audience != "" {
		options = append(options, jwt.WithAudience(s.Audience))
	}
	v := &source{parser: jwt.NewParser(options...), key: s.PublicKey, now: now}
	switch {
	case s.Secret != nil:
		v.key = slices.Clone(s.Secret)
	case s.JWKS != "":
		v.remote = newJWKS(s, client, logger)
	}
	return v
}

// verify returns the claims of a token that verifies now.
func (v *source) verify(ctx context.Context, token string) (jwt.MapClaims, error) {
	claims := jwt.MapClaims{}
	parsed, err := v.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) { return v.keys(ctx, t) })
	if err != nil {
		return nil, err
	}
	// The parser's leeway serves nbf; a token is not good for a moment longer than it says.
	expires, err := parsed.Claims.GetExpirationTime()
	if err != nil || expires == nil || !v.now().Before(expires.Time) {
		return nil, jwt.ErrTokenExpired
	}
	return claims, nil
}

// keys returns what may verify the token. Its algorithm is already one of the source's.
func (v *source) keys(ctx context.Context, t *jwt.Token) (any, error) {
	// RFC 7515, 4.1.11: whoever does not know a critical extension must refuse; we know none.
	if _, critical := t.Header["crit"]; critical {
		return nil, errors.New("the token has critical extensions")
	}
	if v.remote != nil {
		return v.remote.keys(ctx, t)
	}
	return v.key, nil
}
