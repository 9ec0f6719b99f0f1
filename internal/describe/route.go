package describe

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
)

// Routes returns GET /openapi.json and GET /asyncapi.json, for whoever may read
// anything at all.
func Routes(c Config) []httpapi.Route {
	return []httpapi.Route{
		{Method: http.MethodGet, Pattern: "/openapi.json", Guard: httpapi.Caller, Handler: serve(c.OpenAPI)},
		{Method: http.MethodGet, Pattern: "/asyncapi.json", Guard: httpapi.Caller, Handler: serve(c.AsyncAPI)},
	}
}

// serve answers with a description, or with 304 where the caller has it. It is the
// caller's own, like a row.
func serve(describe func(*access.Principal) []byte) func(http.ResponseWriter, *http.Request, *access.Principal) error {
	return func(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
		if _, err := httpapi.Parameters(w); err != nil {
			return err
		}
		body := describe(p)
		sum := sha256.Sum256(body)
		h := w.Header()
		h.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`)
		h.Set("Cache-Control", "private, no-cache")
		h.Add("Vary", "Authorization, Cookie")
		h.Set("Content-Type", "application/json")
		h.Set("X-Content-Type-Options", "nosniff")
		// It is asked for no part of the body: half a description is of no use, and a
		// wrong range would be refused in a form of its own.
		asked := &http.Request{Method: r.Method, Header: http.Header{"If-None-Match": r.Header["If-None-Match"]}}
		http.ServeContent(w, asked, "", time.Time{}, bytes.NewReader(body))
		return nil
	}
}
