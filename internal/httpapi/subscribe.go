package httpapi

import (
	"net/http"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/stream"
)

// Streams finds the streams of an entity of a tenant.
type Streams interface {
	Streams(tenant, entity string) (*stream.Server, bool)
}

// Subscribe returns the handler of GET /subscribe/{entity}.
func Subscribe(s Streams) StreamHandler {
	return func(w http.ResponseWriter, r *http.Request, p *access.Principal, _ bool) {
		if err := subscribeTo(s, w, r, p); err != nil {
			Problem(w, err)
		}
	}
}

func subscribeTo(s Streams, w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	entity := r.PathValue("entity")
	server, ok := s.Streams(p.Tenant, entity)
	if !ok {
		return fault.New(fault.EntityNotFound, "there is no entity %q", entity)
	}
	opened, err := server.Open(r.Context(), stream.Request{
		Principal: p, Entity: entity, RawQuery: r.URL.RawQuery, LastEventID: r.Header.Get("Last-Event-ID"),
	})
	if err != nil {
		return err
	}
	return opened.Serve(w, r)
}
