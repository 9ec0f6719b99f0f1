// Package pgtest starts a real PostgreSQL for tests: one server a test process,
// on a socket in a folder of its own, without TCP, stopped and removed at the
// end. It is never a server that somebody else uses.
//
// A test package calls Main from its TestMain and Database in its tests; a
// Proxy before a database does what a bad network does. All
// functions are safe for concurrent use. It imports nothing of rowcast.
package pgtest

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Server is one running PostgreSQL.
type Server struct {
	dir, bin string
	cmd      *exec.Cmd
	ended    chan struct{}
	names    atomic.Int64
	settings []string
}

// patience bounds a start and a stop.
const patience = 30 * time.Second

// shared is the server of the test process, started at its first use.
var shared struct {
	mu     sync.Mutex
	server *Server
	err    error
	over   bool
}

// Main runs the tests of a package and then stops the server, if one was
// started. The result is for os.Exit.
func Main(m *testing.M) int { return Around(m.Run) }

// Around is Main for a package that runs its tests in a way of its own.
func Around(run func() int) int {
	code := run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.over = true
	if shared.server != nil {
		if err := shared.server.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "pgtest:", err)
			return 1
		}
	}
	return code
}

// Warm starts the server of the test process, so that no test counts its
// goroutine among its own.
func Warm() error {
	_, err := theServer()
	return err
}

// Database makes an empty database on the server of the test process and
// returns its URL. It is gone when the server is.
func Database(t testing.TB) string {
	t.Helper()
	s, err := theServer()
	if err != nil {
		t.Fatal(err)
	}
	return s.Database(t)
}

func theServer() (*Server, error) {
	shared.mu.Lock()
	defer shared.mu.Unlock()
	switch {
	case shared.over:
		return nil, errors.New("pgtest: the tests of this process are over")
	case shared.server == nil && shared.err == nil:
		shared.server, shared.err = Start("fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	return shared.server, shared.err
}

// Start starts a server of the caller's own, which can be killed and started
// again. settings are name=value as in postgresql.conf.
func Start(settings ...string) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "rowcast-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, settings: settings}
	err = own(dir)
	if err == nil {
		// A test that is killed leaves the folder: nothing else uses it.
		err = s.run("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
	}
	if err == nil {
		err = s.Restart()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) run(name string, args ...string) error {
	cmd := exec.Command(filepath.Join(s.bin, name), args...) // #nosec G204 -- PostgreSQL's own programs
	cmd.Dir = s.dir
	if err := unprivileged(cmd); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("pgtest: %s: %w\n%s", name, err, out)
	}
	return nil
}

// Restart starts the server again after Kill, on the same data.
func (s *Server) Restart() error {
	args := []string{"-D", s.data(), "-k", s.dir, "-h", "", "-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "log_min_messages=error"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(filepath.Join(s.bin, "postgres"), args...) // #nosec G204 -- likewise
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, log, log
	if err := unprivileged(cmd); err != nil {
		return err
	}
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The kernel ends the server with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	s.cmd, s.ended = cmd, ended
	return s.await()
}

// await waits until the server answers.
func (s *Server) await() error {
	deadline := time.After(patience)
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		if s.run("pg_isready", "-q", "-h", s.dir, "-U", "postgres") == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-s.ended:
			said, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
			return fmt.Errorf("pgtest: PostgreSQL ended at once:\n%s", said)
		case <-deadline:
			return errors.Join(errors.New("pgtest: PostgreSQL does not answer"), s.Kill())
		}
	}
}

// Database makes an empty database and returns its URL.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "t" + strconv.FormatInt(s.names.Add(1), 10)
	if err := s.run("createdb", "-h", s.dir, "-U", "postgres", name); err != nil {
		t.Fatal(err)
	}
	return s.URL(name)
}

// URL returns the URL of a database.
func (s *Server) URL(database string) string {
	query := url.Values{"host": {s.dir}, "user": {"postgres"}}
	return "postgres:///" + database + "?" + query.Encode()
}

// Socket returns the path of the server's socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Kill ends the server as a crash does: at once, without a word.
func (s *Server) Kill() error { return s.end(interruptNow) }

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	return errors.Join(s.end(interrupt), os.RemoveAll(s.dir))
}

func (s *Server) end(how func(*os.Process) error) error {
	if s.cmd == nil {
		return nil
	}
	select {
	case <-s.ended:
		return nil
	default:
	}
	if err := how(s.cmd.Process); err != nil {
		return fmt.Errorf("pgtest: end PostgreSQL: %w", err)
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(patience):
		return errors.Join(errors.New("pgtest: PostgreSQL does not end"), s.cmd.Process.Kill())
	}
}

// binaries returns the folder of the newest PostgreSQL of 15 or above.
func binaries() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	best, dir := 14, ""
	for _, path := range found {
		bin := filepath.Dir(path)
		if version, err := strconv.Atoi(filepath.Base(filepath.Dir(bin))); err == nil && version > best {
			best, dir = version, bin
		}
	}
	if path, err := exec.LookPath("postgres"); dir == "" && err == nil {
		dir = filepath.Dir(path)
	}
	if dir == "" {
		return "", errors.New("pgtest: no PostgreSQL 15 or newer in /usr/lib/postgresql; install it (Debian: apt-get install postgresql); the tests start their own server and use no other")
	}
	return dir, nil
}
