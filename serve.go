package rowcast

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/describe"
	"github.com/rowcast/rowcast/internal/httpapi"
)

// Bounds of the HTTP server. There is no timeout on whole requests: streams
// live for hours, and bodies have a bound of their own.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 64 << 10
)

func (s *Server) openHTTP() (err error) {
	doc := s.document
	looks := admin.Config{Metrics: s.metrics, Streams: s.openStreams, Outboxes: s.outboxes, Ready: s.unready}
	s.handler, err = httpapi.New(httpapi.Config{
		Auth: s.auth, Tenants: &s.units, Subscribe: httpapi.Subscribe(&s.units), Realtime: httpapi.Realtime(&s.units),
		Routes: append(admin.Routes(looks), describe.Routes(s.described())...),
		Limits: httpapi.Limits{Body: doc.Limits.Body}, Origins: doc.CORS.Origins, AdminRole: doc.Admin.Role,
		Cookie: doc.Auth.Cookie, Secure: !loopback(doc.Listen), Dev: doc.Dev, Logger: s.logger, Observe: s.metrics.Request,
	})
	return err
}

// loopback reports whether HOST:PORT can be reached from this machine alone.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && addr.IsLoopback())
}

// Serve is Run with an HTTP server on l (nil: on the boot document's listen),
// and one on admin.listen where that is set. When ctx is done it refuses new
// requests, ends the streams, waits for what is under way, and closes everything.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if l == nil {
		var err error
		if l, err = net.Listen("tcp", s.document.Listen); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	servers := []*http.Server{s.httpServer(s.handler)}
	listeners := []net.Listener{l}
	if private := s.document.Admin.Listen; private != "" {
		pl, err := net.Listen("tcp", private)
		if err != nil {
			return errors.Join(err, l.Close(), s.Close())
		}
		servers = append(servers, s.httpServer(admin.Handler(admin.Config{Metrics: s.metrics, Streams: s.openStreams, Ready: s.unready})))
		listeners = append(listeners, pl)
	}
	ctx, fail := context.WithCancel(ctx)
	defer fail()
	var group errgroup.Group
	for i := range servers {
		group.Go(func() error {
			defer fail() // one that ends on its own ends the others
			return s.listen(servers[i], listeners[i], i == 0)
		})
	}
	err := s.run(ctx, func(ctx context.Context) error { return shutdown(ctx, servers) })
	return errors.Join(err, group.Wait())
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(s.logger.Handler(), slog.LevelDebug),
	}
}

func (s *Server) listen(srv *http.Server, l net.Listener, public bool) error {
	defer func() { _ = l.Close() }() // ServeTLS leaves it open when it cannot read the certificate
	var err error
	if t := s.document.TLS; public && t.Cert != "" {
		err = srv.ServeTLS(l, t.Cert, t.Key)
	} else {
		err = srv.Serve(l)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// shutdown waits for requests under way; what does not end is cut off.
func shutdown(ctx context.Context, servers []*http.Server) error {
	var errs []error
	for _, srv := range servers {
		if err := srv.Shutdown(ctx); err != nil {
			errs = append(errs, err, srv.Close())
		}
	}
	return errors.Join(errs...)
}
