package rowcast

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/auth"
	"github.com/rowcast/rowcast/internal/boot"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres"
	"github.com/rowcast/rowcast/internal/store/sqlite"
	"github.com/rowcast/rowcast/internal/stream"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/internal/tenancy"
	"github.com/rowcast/rowcast/internal/transport"
)

// drainTime bounds how long a stopping server waits for requests and streams. It
// is longer than a stream bears a client that does not read (10 s): such a
// client must not make an orderly stop look like a failed one.
const drainTime = 15 * time.Second

// Server serves one boot document. All methods are safe for concurrent use; Run
// or Serve is called once.
type Server struct {
	config     Config
	document   *boot.Document
	transports []transport.Transport
	logger     *slog.Logger
	auth       *auth.Authenticator
	units      tenancy.Registry
	cluster    *postgres.Cluster             // what datastores on one PostgreSQL share
	shared     map[[2]string]*postgres.Store // by tenant and datastore
	metrics    *admin.Metrics
	handler    http.Handler
	ready      chan struct{}
	stopping   atomic.Bool
}

// Open reads the boot document and everything it names, opens the datastores
// and creates the tables and columns that are missing. The error lists every
// refusal, a line each: file:line:col: message. A failed Open leaves nothing
// open; a Server that is opened must be run, or closed with Close.
func Open(ctx context.Context, c Config) (*Server, error) {
	c = c.withDefaults()
	transports, err := c.transports()
	if err = errors.Join(checkOperations(c.Operations), err); err != nil {
		return nil, err
	}
	doc, refusals := boot.LoadWith(c.File, c.Env, c.handles)
	if len(refusals) > 0 {
		return nil, refusals
	}
	if err := knownOperations(c.Operations, doc.Tenants); err != nil {
		return nil, err
	}
	s := &Server{config: c, document: doc, transports: transports, logger: c.Logger, cluster: postgres.NewCluster(), shared: map[[2]string]*postgres.Store{}, ready: make(chan struct{})}
	if s.logger == nil {
		s.logger = newLogger(doc.Log)
	}
	for _, warning := range doc.Warnings {
		s.logger.Warn(warning.Message, "at", warning.Pos.String())
	}
	s.metrics = admin.NewMetrics(s.readings)
	if err := s.openAll(ctx); err != nil {
		return nil, errors.Join(err, s.units.Discard())
	}
	return s, nil
}

func newLogger(l boot.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: l.Level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}

func (s *Server) openAll(ctx context.Context) error {
	if err := s.openAuth(); err != nil {
		return err
	}
	limits := s.document.Limits
	limit := &stream.Limit{PerPrincipal: limits.StreamsPerPrincipal, Total: limits.Streams}
	origin := event.NewSource(s.config.Now).Next()
	for i := range s.document.Tenants {
		for name := range s.document.Tenants[i].Datastores {
			unit, err := tenancy.Open(ctx, s.unitConfig(&s.document.Tenants[i], name, origin, limit))
			if err != nil {
				return err
			}
			s.units.Add(unit)
		}
	}
	return s.openHTTP()
}

func (s *Server) openAuth() (err error) {
	c := s.document.Auth
	c.Now, c.Logger = s.config.Now, s.logger
	s.auth, err = auth.New(c)
	return err
}

func (s *Server) unitConfig(t *boot.Tenant, datastore, origin string, limit *stream.Limit) tenancy.Config {
	where, limits := t.Datastores[datastore], s.document.Limits
	return tenancy.Config{
		Tenant: t.Name, Datastore: datastore, Origin: origin, Model: t.Model, Policies: t.Policies, Realtime: s.document.Realtime,
		Handlers: s.config.handlers(t.Model, datastore), Transports: s.transports, OnPublishError: s.config.OnPublishError,
		Targets: targets(s.document.Events.Targets, t.Name), Every: s.document.Scheduler.Outbox.Every,
		// A source for each unit: ids must not tell one tenant how busy another is.
		IDs: event.NewSource(s.config.Now), Retention: s.document.Events.Retention, MaxRows: limits.Rows, MaxQuery: limits.Query,
		Limit: limit, Logger: s.logger, Now: s.config.Now,
		Driver: func(ctx context.Context, follow *tail.Tail) (store.Store, error) {
			opened, err := s.openStore(ctx, where, follow)
			if err != nil {
				return nil, err
			}
			if shared, ok := opened.(*postgres.Store); ok {
				s.shared[[2]string{t.Name, datastore}] = shared
			}
			return s.metrics.Store(opened, t.Name, datastore), nil
		},
	}
}

// openStore opens a datastore. SQLite hands over what it commits; PostgreSQL,
// which others write to as well, has its log read.
func (s *Server) openStore(ctx context.Context, where boot.Datastore, follow *tail.Tail) (store.Store, error) {
	query := s.document.Limits.Query
	if where.Driver == "postgres" {
		return s.cluster.Open(ctx, postgres.Config{
			URL: where.URL, ListenURL: where.ListenURL, Namespace: where.Namespace, MaxConns: where.MaxConns,
			QueryTimeout: query, Committed: follow.Expect, Look: follow.Look, Logger: s.logger,
		})
	}
	return sqlite.Open(ctx, sqlite.Config{Path: where.Path, QueryTimeout: query, Committed: follow.Offer, Logger: s.logger})
}

// Handler serves HTTP: REST, streams, probes, metrics. It answers while Run runs.
func (s *Server) Handler() http.Handler { return s.handler }

// Ready is closed once every change log is open and Handler may be used.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Document returns the boot document that is served.
func (s *Server) Document() *boot.Document { return s.document }

// Run does the background work until ctx is done; then it ends the streams,
// waits for them, and closes everything. It starts nothing that outlives it.
func (s *Server) Run(ctx context.Context) error { return s.run(ctx, s.drain) }

func (s *Server) run(ctx context.Context, drain func(context.Context) error) error {
	// The work goes on while streams say goodbye, so it has a context of its own.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, running := errgroup.WithContext(background)
	group.Go(func() error { return s.auth.Run(running) })
	group.Go(func() error { return s.units.Run(running) })
	group.Go(func() error {
		if s.units.Ready(running) == nil {
			close(s.ready)
		}
		return nil
	})
	select {
	case <-ctx.Done():
	case <-running.Done(): // something failed: its error is the group's
	}
	s.stopping.Store(true)
	s.units.CloseStreams()
	deadline, cancel := context.WithTimeout(background, drainTime)
	err := drain(deadline)
	cancel()
	stop()
	return errors.Join(err, group.Wait())
}

// drain waits until no stream is left.
func (s *Server) drain(ctx context.Context) error {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		open := 0
		for _, u := range s.units.Units() {
			open += u.Hub.Counters().Subscribers
		}
		if open == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d streams did not end within %s", open, drainTime)
		case <-ticker.C:
		}
	}
}

// Close closes a Server that was never run.
func (s *Server) Close() error { return s.units.Discard() }
