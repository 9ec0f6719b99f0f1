package hostile

import (
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Every credential that does not verify answers alike, whatever is asked for,
// and no body is looked at.
func TestCredentialsOfEveryBadShape(t *testing.T) {
	s := besiege(t, servertest.Options{})
	good := s.Token("ann")
	parts := strings.Split(good, ".")
	for name, header := range map[string]string{
		"nothing":                  "",
		"an empty one":             "Authorization: \r\n",
		"a scheme alone":           "Authorization: Bearer\r\n",
		"a scheme and a space":     "Authorization: Bearer \r\n",
		"no scheme":                "Authorization: " + good + "\r\n",
		"another scheme":           "Authorization: Basic YTpi\r\n",
		"two tokens":               "Authorization: Bearer " + good + " " + good + "\r\n",
		"two tokens with a comma":  "Authorization: Bearer " + good + "," + good + "\r\n",
		"two headers":              "Authorization: Bearer " + good + "\r\nAuthorization: Bearer " + good + "\r\n",
		"a good and a bad header":  "Authorization: Bearer " + good + "\r\nauthorization: Bearer x\r\n",
		"dots":                     "Authorization: Bearer ..\r\n",
		"many dots":                "Authorization: Bearer " + strings.Repeat(".", 50000) + "\r\n",
		"a long one":               "Authorization: Bearer " + strings.Repeat("a", 60000) + "\r\n",
		"a long signature":         "Authorization: Bearer " + parts[0] + "." + parts[1] + "." + strings.Repeat("A", 50000) + "\r\n",
		"no signature":             "Authorization: Bearer " + parts[0] + "." + parts[1] + ".\r\n",
		"another body":             "Authorization: Bearer " + parts[0] + ".eyJzdWIiOiJyb290In0." + parts[2] + "\r\n",
		"a token that is padded":   "Authorization: Bearer " + good + "=\r\n",
		"bytes beyond ASCII":       "Authorization: Bearer \xff\xfe\r\n",
		"a quoted one":             "Authorization: Bearer \"" + good + "\"\r\n",
		"algorithm none":           "Authorization: Bearer eyJhbGciOiJub25lIn0." + parts[1] + ".\r\n",
		"run out":                  "Authorization: Bearer " + s.Sign(jwt.MapClaims{"sub": "ann", "exp": time.Now().Add(-time.Second).Unix()}) + "\r\n",
		"never runs out":           "Authorization: Bearer " + s.Sign(jwt.MapClaims{"sub": "ann"}) + "\r\n",
		"runs out as text":         "Authorization: Bearer " + s.Sign(jwt.MapClaims{"sub": "ann", "exp": "9999999999"}) + "\r\n",
		"runs out at infinity":     "Authorization: Bearer " + s.Sign(jwt.MapClaims{"sub": "ann", "exp": jwtNumber("1e400")}) + "\r\n",
		"another tenant":           "Authorization: Bearer " + s.TokenOf("acme:test:shop:t2", "ann") + "\r\n",
		"a tenant of line breaks":  "Authorization: Bearer " + s.TokenOf(servertest.Tenant+"\r\nX: y", "ann") + "\r\n",
		"no name":                  "Authorization: Bearer " + s.Token("") + "\r\n",
		"a name with NUL":          "Authorization: Bearer " + s.Token("an\x00n") + "\r\n",
		"roles that are a text":    "Authorization: Bearer " + s.Sign(jwt.MapClaims{"sub": "ann", "roles": "admin", "exp": time.Now().Add(time.Hour).Unix()}) + "\r\n",
		"a cookie that is none":    "Cookie: rowcast_session=x\r\n",
		"two cookies":              "Cookie: rowcast_session=" + good + "; rowcast_session=" + good + "\r\n",
		"two cookie headers":       "Cookie: rowcast_session=" + good + "\r\nCookie: rowcast_session=x\r\n",
		"a bad header, a cookie":   "Authorization: Bearer x\r\nCookie: rowcast_session=" + good + "\r\n",
		"a cookie with a CR":       "Cookie: rowcast_session=%0d%0aSet-Cookie:%20a=b\r\n",
		"a cookie that is long":    "Cookie: rowcast_session=" + strings.Repeat("a", 60000) + "\r\n",
		"a cookie that is quoted":  "Cookie: rowcast_session=\"" + good + "\"\r\n",
		"a token in a proxy's":     "Proxy-Authorization: Bearer " + good + "\r\n",
		"a principal in a header":  "X-Forwarded-User: ann\r\nX-User: ann\r\n",
		"twenty thousand cookies":  "Cookie: " + strings.Repeat("a;", 20000) + "\r\n",
		"the scheme in the cookie": "Cookie: rowcast_session=Bearer " + good + "\r\n",
	} {
		for _, line := range []string{"GET /data/thing", "GET /data/nothing", "POST /data/thing", "GET /subscribe/thing?name=all", "GET /admin/data/streams", "GET /metrics", "GET /data/thing/seed?fields=%zz"} {
			a := s.send(line + " HTTP/1.1\r\nHost: localhost\r\n" + header + "\r\n")
			a.refused(t, name+": "+line, 401, "unauthenticated")
			if a.Header.Get("WWW-Authenticate") == "" || len(a.Header["Set-Cookie"]) > 0 {
				t.Errorf("%s: headers %v", name, a.Header)
			}
		}
	}
	a := s.send("GET /data/thing HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + strings.Repeat("a", 100<<10) + "\r\n\r\n")
	if a.Status != 431 && a.Status != 0 {
		t.Errorf("100 KB of credential: answered %d", a.Status)
	}
	s.unharmed()
}

// jwtNumber is a number as it stands, also one that no float64 holds.
type jwtNumber string

// MarshalJSON implements json.Marshaler.
func (n jwtNumber) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// With dev: true the server hands out tokens, so a page that pointed its own
// name at this machine must not be answered, in whatever way it says its name.
func TestForeignHostsInDevelopment(t *testing.T) {
	s := besiege(t, servertest.Options{Boot: "dev: true\n"})
	for _, request := range []string{
		"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: localhost.evil.example:80\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: evil.example#localhost\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: localhost@evil.example\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: evil.example:localhost\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: 0.0.0.0\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: [::]\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: 2130706433\r\n\r\n",
		"GET /healthz HTTP/1.1\r\nHost: \r\n\r\n",
		"GET /healthz HTTP/1.0\r\n\r\n",
		"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"OPTIONS /data/thing HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: GET\r\n\r\n",
		"GET /subscribe/thing?name=all HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer " + s.Token("ann") + "\r\n\r\n",
	} {
		a := s.send(request)
		if a.Status == 400 && a.Code == "" {
			continue // no Host at all that could be one
		}
		a.refused(t, request, 403, "cross_origin")
	}
	for _, request := range []string{
		"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n", "GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: local host\r\n\r\n",
	} {
		if a := s.send(request); a.Status != 400 {
			t.Errorf("%q: answered %d", request, a.Status)
		}
	}
	if a := s.send("GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); a.Status != 200 {
		t.Errorf("an absolute form: %d %s", a.Status, a.Body)
	}
	s.unharmed()
}
