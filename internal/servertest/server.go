// Package servertest runs a whole server for tests that see rowcast from
// outside: a boot document and a schema in a folder of the test's own, a real
// SQLite file or PostgreSQL database, a real listener on loopback, and a client
// that keeps bytes as they came.
//
// A Server stops at the end of its test and proves that nothing of it is left.
// It imports the root package, client, webhook and internal/pgtest alone.
package servertest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/rowcast/rowcast"
)

// Secret signs the tokens of a Server.
const Secret = "a-secret-for-tests-alone-32-bytes!"

// Tenant is the tenant of a Server whose Options name no others.
const Tenant = "acme:test:shop:t1"

// Options say what a Server serves.
type Options struct {
	Schema string // YAML of schema/schema.yaml
	// Boot is YAML put below the usual boot document: further top-level keys.
	Boot string
	// Targets are YAML put below events.targets, a target each: see Receiver.Target.
	Targets []string
	// Events is YAML put below events:, indented by two. Where there are Targets or
	// this, Boot has no events.
	Events string
	// Failpoint is where a process kills itself at its first Start, as NAME:N (see
	// package failpoint): its binary is then one that can. Server.Died waits for it.
	Failpoint string
	// Auth is YAML put below auth:, indented by two.
	Auth string
	// Tenants maps further tenants to the YAML of their schemas.
	Tenants map[string]string
	// Driver is that of the datastores. Defaults to what Main runs the tests on,
	// and else to sqlite.
	Driver string
	// Database is the URL of the database that servers share, of postgres.
	// Defaults to a new one.
	Database string
	// Listen is where a process listens. Defaults to any free port, another at
	// each start.
	Listen string
	Now    func() time.Time
	Logger *slog.Logger // defaults to none
	// Embed completes what an application that embeds rowcast says in Go.
	Embed func(*rowcast.Config)
}

// Server is a running rowcast.
type Server struct {
	*rowcast.Server
	URL string
	Dir string

	t       testing.TB
	options Options
	stop    context.CancelFunc
	done    chan error

	process bool
	doomed  bool // it kills itself
	cmd     *exec.Cmd
	drained <-chan struct{} // closed when all that the process printed is read
}

// Start writes the documents and serves them.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	return start(&Server{t: t, options: o, Dir: t.TempDir()})
}

func start(s *Server) *Server {
	s.t.Helper()
	declare(s).Start()
	s.t.Cleanup(s.Stop)
	return s
}

// declare writes the documents.
func declare(s *Server) *Server {
	s.t.Helper()
	s.place()
	s.write("schema/schema.yaml", s.options.Schema)
	s.write("rowcast.yaml", s.boot())
	return s
}

func (s *Server) config(logger *slog.Logger) rowcast.Config {
	c := rowcast.Config{File: filepath.Join(s.Dir, "rowcast.yaml"), Logger: logger, Now: s.options.Now}
	if s.options.Embed != nil {
		s.options.Embed(&c)
	}
	return c
}

// Start starts a stopped server again, on the same data.
func (s *Server) Start() {
	s.t.Helper()
	if s.process {
		s.startProcess()
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	logger := s.options.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	srv, err := rowcast.Open(ctx, s.config(logger))
	if err != nil {
		cancel()
		s.t.Fatalf("the server refuses to boot:\n%v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		cancel()
		s.t.Fatal(err)
	}
	s.Server, s.URL, s.stop, s.done = srv, "http://"+listener.Addr().String(), cancel, make(chan error, 1)
	go func() { s.done <- srv.Serve(ctx, listener) }()
	select {
	case <-srv.Ready():
	case err := <-s.done:
		s.t.Fatalf("the server ended before it was ready: %v", err)
	}
}

// Stop ends the server as SIGTERM does, and waits for it. Twice does no harm.
func (s *Server) Stop() {
	s.t.Helper()
	if s.process {
		s.stopProcess()
		return
	}
	if s.stop == nil {
		return
	}
	s.stop()
	s.stop = nil
	if err := <-s.done; err != nil && !errors.Is(err, context.Canceled) {
		s.t.Errorf("the server ended with: %v", err)
	}
}

// Restart stops and starts.
func (s *Server) Restart() {
	s.t.Helper()
	s.Stop()
	s.Start()
}

// Rewrite replaces the schema; it is served from the next Start on.
func (s *Server) Rewrite(schema string) { s.write("schema/schema.yaml", schema) }

// Retarget replaces the targets; they are served from the next Start on.
func (s *Server) Retarget(targets ...string) {
	s.options.Targets = targets
	s.write("rowcast.yaml", s.boot())
}

func (s *Server) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *Server) boot() string {
	var b strings.Builder
	listen := s.options.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	b.WriteString("listen: " + listen + "\nauth:\n  jwt: [{alg: HS256, secret: \"" + Secret + "\"}]\n  cookie: rowcast_session\n")
	b.WriteString(s.options.Auth)
	b.WriteString("tenants:\n")
	tenant := func(name, schema, file string) {
		b.WriteString("  \"" + name + "\":\n    schema: ./" + schema + "\n    datastores:\n      main: " + s.datastore(file) + "\n")
	}
	tenant(Tenant, "schema", "t1")
	for name, schema := range s.options.Tenants {
		file := strings.NewReplacer(":", "_", "/", "_").Replace(name)
		s.write("schema-"+file+"/schema.yaml", schema)
		tenant(name, "schema-"+file, file)
	}
	if len(s.options.Targets) > 0 || s.options.Events != "" {
		b.WriteString("events:\n" + s.options.Events)
	}
	if len(s.options.Targets) > 0 {
		b.WriteString("  targets:\n    " + strings.Join(s.options.Targets, "\n    ") + "\n")
	}
	b.WriteString(s.options.Boot)
	return b.String()
}

// Token returns a token of the default tenant that lives for an hour.
func (s *Server) Token(sub string, roles ...string) string {
	return s.Sign(jwt.MapClaims{"sub": sub, "roles": roles, "tenant": Tenant, "exp": time.Now().Add(time.Hour).Unix()})
}

// Sign returns a token with these claims.
func (s *Server) Sign(claims jwt.MapClaims) string {
	s.t.Helper()
	if claims["roles"] == nil {
		claims["roles"] = []string{}
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(Secret))
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// TokenOf is Token for another tenant.
func (s *Server) TokenOf(tenant, sub string, roles ...string) string {
	return s.Sign(jwt.MapClaims{"sub": sub, "roles": append([]string{}, roles...), "tenant": tenant, "exp": time.Now().Add(time.Hour).Unix()})
}

// Refusal boots what must be refused, and returns why it is.
func Refusal(t testing.TB, o Options) error {
	t.Helper()
	s := declare(&Server{t: t, options: o, Dir: t.TempDir()})
	srv, err := rowcast.Open(t.Context(), s.config(slog.New(slog.DiscardHandler)))
	if err == nil {
		_ = srv.Close()
		t.Fatal("the server boots; it must refuse")
	}
	return err
}

// FreeAddress returns a loopback address that nobody listened on just now.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
