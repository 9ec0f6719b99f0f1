// Package sqlite keeps a datastore in one SQLite file.
//
// It promises what package store asks of a driver, and how it is done is this:
//
//   - One goroutine owns the one connection that writes. It takes a request,
//     drains what else is queued, runs all in one transaction with a savepoint
//     each, commits (WAL, synchronous=FULL) and only then answers. It never
//     waits for a group to fill, so a lone writer pays nothing for the others.
//   - Statements run under the writer's own budget of time, never under a
//     request's context: a cancelled statement makes SQLite roll back the whole
//     transaction, and with it the work of strangers. Where a transaction is
//     lost all the same, nothing of it is acknowledged and every request of the
//     group runs again alone.
//   - The order of commits is the order of the log's numbers.
//   - Readers are a pool of read-only connections; a View holds one snapshot
//     and one connection, for at most Config.QueryTimeout.
//   - One process owns a file, by a lock on PATH.lock that the kernel releases
//     when the process ends, however it ends.
//
// Tables are STRICT and columns nullable: that a field is required is the
// engine's check, so that loosening a schema never needs a table rewritten.
// A unique index also counts soft-deleted rows: a restore can then never fail
// on a value that was taken meanwhile.
//
// A Store is safe for concurrent use. Close waits for everything it started.
// The package may import value, schema, predicate, store, store/guard and
// store/sqltext.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqltext"
)

// Config is what a Store stands on.
type Config struct {
	// Path is the database file. Its folder is made where it is missing.
	Path string
	// Readers is how many snapshots may be open at once. Defaults to 4.
	Readers int
	// MaxGroup is how many requests may share a transaction. Defaults to 64.
	MaxGroup int
	// QueryTimeout bounds a View, the wait for a connection included. Defaults to 5 s.
	QueryTimeout time.Duration
	// LockWait is how long Open waits for another process to let go of the
	// file. Defaults to 10 s.
	LockWait time.Duration
	// WALLimit is the size of the write-ahead log, in bytes, past which the
	// writer truncates it. Defaults to 64 MiB.
	WALLimit int64
	// Committed is called after each commit with the log rows of its group in
	// seq order, before their writers are answered. It runs on the writer's
	// goroutine: it must not block, nor call the Store. Defaults to nothing.
	Committed func([]*store.LogRow)
	// Now is the clock of idempotency records. Defaults to time.Now.
	Now func() time.Time
	// Logger takes what no caller is told: a panic's stack, a checkpoint that
	// failed. Defaults to slog.Default().
	Logger *slog.Logger

	vfs    string        // name of a registered VFS; tests inject faults there
	budget time.Duration // of a work in a group; tests shorten it. Defaults to 5 s
}

func (c Config) withDefaults() Config {
	c.Readers = orDefault(c.Readers, 4)
	c.MaxGroup = orDefault(c.MaxGroup, 64)
	c.QueryTimeout = orDefault(c.QueryTimeout, 5*time.Second)
	c.LockWait = orDefault(c.LockWait, 10*time.Second)
	c.WALLimit = orDefault(c.WALLimit, 64<<20)
	c.budget = orDefault(c.budget, defaultDeadline)
	if c.Committed == nil {
		c.Committed = func([]*store.LogRow) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func orDefault[T int | int64 | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// Store is one open SQLite file.
type Store struct {
	config Config
	path   string
	lock   *fileLock
	writer *writer
	pool   *pool
	tables sync.Map // *schema.Entity -> *sqltext.Table
	names  atomic.Pointer[map[string]*sqltext.Table]

	closing sync.Once
	closed  error
}

var _ store.Store = (*Store)(nil)

// Open opens or creates the file, brings the system tables to this release's
// version and starts the writer. ctx bounds the opening, the wait for the
// file's lock included. The caller must Close the Store.
func Open(ctx context.Context, config Config) (*Store, error) {
	config = config.withDefaults()
	path, err := prepareFile(config.Path)
	if err != nil {
		return nil, err
	}
	lock, err := acquire(ctx, path+".lock", path, config.LockWait)
	if err != nil {
		return nil, err
	}
	s := &Store{config: config, path: path, lock: lock}
	s.names.Store(&map[string]*sqltext.Table{})
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open datastore %s: %w", path, err), lock.release())
	}
	return s, nil
}

func (s *Store) start(ctx context.Context) error {
	steps, err := sqltext.Steps(systemFiles)
	if err != nil {
		return err
	}
	db, err := openConn(ctx, s.path, s.config.vfs, false)
	if err != nil {
		return err
	}
	if err := s.startOn(ctx, db, steps); err != nil {
		return errors.Join(err, db.close())
	}
	go s.writer.run()
	return nil
}

func (s *Store) startOn(ctx context.Context, db *conn, steps []sqltext.Step) (err error) {
	if err := upgradeSystem(db, steps); err != nil {
		return err
	}
	// The index of the write-ahead log was made with the process's umask.
	if err := os.Chmod(s.path+"-shm", 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if s.writer, err = newWriter(s, db); err != nil {
		return err
	}
	s.pool, err = openPool(ctx, s)
	return err
}

// Close implements store.Store. What is queued still runs and is answered;
// writes and views that come later get ErrClosed. Safe to call more than once.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.writer.stop()
		err := s.pool.close() // a reader's snapshot would keep the log from being emptied
		s.closed = errors.Join(err, s.writer.finish(), s.lock.release())
	})
	return s.closed
}

// Ping implements store.Store: it reads a page of the file.
func (s *Store) Ping(ctx context.Context) error {
	return s.View(ctx, func(r store.Reader) error {
		_, err := r.Floor()
		return err
	})
}

// prepareFile makes the folder and an empty file that only its owner may read,
// and returns the one path by which the lock is found, links resolved.
func prepareFile(path string) (string, error) {
	if path == "" || strings.Contains(path, ":memory:") || strings.HasPrefix(path, "file:") {
		return "", fmt.Errorf("datastore path %q: a file is needed, because a writer and its readers cannot share a database in memory and acknowledged rows must outlive the process; name one, for a trial in a temporary folder", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("datastore path: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("folder of datastore %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the operator says where the datastore is
	if err != nil {
		return "", fmt.Errorf("datastore file: %w", err)
	}
	if err := f.Close(); err != nil {
		return "", fmt.Errorf("datastore file: %w", err)
	}
	return filepath.EvalSymlinks(path)
}

// minVersion is the first SQLite without the race that could reset a WAL
// under a reader and corrupt the file.
var minVersion = [3]int{3, 51, 3}

func checkVersion(version string) error {
	var got [3]int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &got[0], &got[1], &got[2]); err != nil {
		return fmt.Errorf("SQLite version %q: %w", version, err)
	}
	for i := range got {
		if got[i] != minVersion[i] {
			if got[i] < minVersion[i] {
				return fmt.Errorf("SQLite %s can corrupt a file in WAL mode; build with 3.51.3 or newer", version)
			}
			return nil
		}
	}
	return nil
}
