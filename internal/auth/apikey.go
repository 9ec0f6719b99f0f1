package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rowcast/rowcast/internal/access"
)

// Key is one API key. Its id becomes the principal's.
type Key struct {
	ID     string
	Secret string
	Roles  []string
	Tenant string // Defaults to the only tenant
}

// apiKey keeps a hash instead of the key: comparing hashes takes the same time
// whatever the lengths.
type apiKey struct {
	sum       [sha256.Size]byte
	principal access.Principal
}

// CheckKeySecret says why a key could never be sent as a bearer token, or nil.
func CheckKeySecret(secret string) error {
	switch {
	case secret == "":
		return errors.New("it is empty")
	case len(secret) > MaxToken:
		return fmt.Errorf("it is longer than %d bytes", MaxToken)
	case strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }):
		return errors.New("it holds characters that a header cannot carry; use letters, digits and -._~+/=")
	}
	return nil
}

// CheckID says why a text cannot be a principal's id, or nil.
func CheckID(id string) error {
	switch {
	case id == "":
		return errors.New("it is empty")
	case len(id) > maxID:
		return fmt.Errorf("it is longer than %d bytes", maxID)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return errors.New("it holds control characters")
	}
	return nil
}

// maxID bounds a principal's id: it is written beside every row and log entry.
const maxID = 255

func (a *Authenticator) addKeys(keys []Key) error {
	for _, k := range keys {
		if err := CheckID(k.ID); err != nil {
			return fmt.Errorf("auth: id of a key: %w", err)
		}
		if err := CheckKeySecret(k.Secret); err != nil {
			return fmt.Errorf("auth: key %q: %w", k.ID, err)
		}
		tenant, err := a.tenant(k.Tenant, k.Tenant != "")
		if err != nil {
			return fmt.Errorf("auth: key %q: %w", k.ID, err)
		}
		sum := sha256.Sum256([]byte(k.Secret))
		for _, other := range a.keys {
			if other.sum == sum || other.principal.ID == k.ID {
				return fmt.Errorf("auth: keys %q and %q share an id or a key", other.principal.ID, k.ID)
			}
		}
		a.keys = append(a.keys, apiKey{sum, access.Principal{ID: k.ID, Roles: slices.Clone(k.Roles), Tenant: tenant}})
	}
	return nil
}

// matchKey compares with every key, so that the time tells nothing.
func (a *Authenticator) matchKey(token string) *access.Principal {
	sum := sha256.Sum256([]byte(token))
	found := -1
	for i := range a.keys {
		if subtle.ConstantTimeCompare(sum[:], a.keys[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	p := a.keys[found].principal
	return &p
}
