package httpapi

import (
	"net/http"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/stream"
)

// Realtime returns the handler of GET /realtime (channels contract, section 3).
func Realtime(s Streams) StreamHandler {
	return func(w http.ResponseWriter, r *http.Request, p *access.Principal, _ bool) {
		if err := listenTo(s, w, r, p); err != nil {
			Problem(w, err)
		}
	}
}

func listenTo(s Streams, w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	channel, err := stream.ChannelOf(r.URL.RawQuery, func(entity string) bool {
		_, exists := s.Streams(p.Tenant, entity)
		return exists
	})
	if err != nil {
		return err
	}
	server, ok := s.Streams(p.Tenant, channel.Entity)
	if !ok {
		return fault.New(fault.EntityNotFound, "there is no entity %q", channel.Entity)
	}
	opened, err := server.OpenChannel(r.Context(), stream.ChannelRequest{
		Principal: p, Channel: channel, RawQuery: r.URL.RawQuery, LastEventID: r.Header.Get("Last-Event-ID"),
	})
	if err != nil {
		return err
	}
	return opened.Serve(w, r)
}
