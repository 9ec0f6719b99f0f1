package httpapi

import (
	"net/http"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
)

// openSession puts a verified token into the cookie, so that a page's
// EventSource, which sends no headers, is authenticated. A page of another
// origin may not: it could make a visitor act as somebody else.
func openSession(c *call) error {
	if err := c.api.origin.write(c.req); err != nil {
		return err
	}
	if err := c.onlyParameters(); err != nil {
		return err
	}
	b, _, err := c.object(typeJSON)
	if err != nil {
		return err
	}
	token, err := tokenOf(b)
	if err != nil {
		return err
	}
	p, err := c.api.config.Auth.Verify(c.req.Context(), token)
	if err != nil {
		return err
	}
	c.setCookie(token, p.Expires)
	return nil
}

func tokenOf(b engine.Body) (string, error) {
	if len(b) != 1 || b[0].Name != "token" {
		return "", fault.New(fault.MalformedBody, `a session is opened with {"token": "…"} and nothing else`)
	}
	return text(b[0])
}

// closeSession clears the cookie. It needs no valid credential: a session whose
// token has run out can be closed too.
func closeSession(c *call) error {
	if err := c.api.origin.write(c.req); err != nil {
		return err
	}
	c.setCookie("", time.Unix(1, 0))
	return nil
}

func (c *call) setCookie(token string, expires time.Time) {
	cookie := &http.Cookie{ //nolint:gosec // Secure is off on loopback alone, where there is no TLS
		Name: c.api.config.Cookie, Value: token, Path: "/",
		HttpOnly: true, Secure: c.api.config.Secure, SameSite: http.SameSiteLaxMode,
		Expires: expires,
	}
	if token == "" {
		cookie.MaxAge = -1
	}
	c.Header().Set("Cache-Control", "no-store")
	http.SetCookie(c, cookie)
	c.WriteHeader(http.StatusNoContent)
}
