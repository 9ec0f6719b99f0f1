package auth

import (
	"errors"
	"net/http"
	"strings"
)

// origin says where a request carried its credential.
type origin uint8

const (
	fromNowhere origin = iota
	fromHeader
	fromCookieNamed
)

type credential struct {
	from  origin
	token string
}

// credential finds what the request sends. A header beats the cookie, and a
// header that is there but malformed is an error, never a reason to look further.
func (a *Authenticator) credential(r *http.Request) (credential, error) {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		// Two headers: a proxy in front and we might each believe another one.
		if len(values) > 1 {
			return credential{}, errors.New("more than one Authorization header")
		}
		token, err := bearerToken(values[0])
		return credential{from: fromHeader, token: token}, err
	}
	if a.cookie == "" {
		return credential{}, nil
	}
	values := cookieValues(r, a.cookie)
	switch len(values) {
	case 0:
		return credential{}, nil
	case 1:
		return credential{from: fromCookieNamed, token: values[0]}, nil
	}
	// A neighbouring host can plant a second cookie of the same name.
	return credential{}, errors.New("more than one cookie of that name")
}

// bearerToken reads "Bearer TOKEN"; the scheme is case-insensitive (RFC 9110, 11.1).
func bearerToken(header string) (string, error) {
	scheme, token, found := strings.Cut(header, " ")
	token = strings.Trim(token, " ")
	switch {
	case !found || !strings.EqualFold(scheme, "Bearer"):
		return "", errors.New("the Authorization header is not of the form Bearer TOKEN")
	case token == "" || strings.ContainsAny(token, " \t,"):
		return "", errors.New("the Authorization header does not hold exactly one token")
	}
	return token, nil
}

// cookieValues returns every value sent under the name. Unlike
// http.Request.Cookies it keeps malformed ones: a credential that was sent must
// not vanish and leave an anonymous caller behind.
func cookieValues(r *http.Request, name string) []string {
	var values []string
	for _, line := range r.Header.Values("Cookie") {
		for part := range strings.SplitSeq(line, ";") {
			n, v, _ := strings.Cut(strings.Trim(part, " \t"), "=")
			if strings.Trim(n, " \t") == name {
				values = append(values, strings.Trim(v, " \t"))
			}
		}
	}
	return values
}
