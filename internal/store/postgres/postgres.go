// Package postgres keeps a datastore in one schema ("namespace") of a PostgreSQL
// database, 15 or newer, that any number of instances may share.
//
// It promises what package store asks of a driver, and how it is done is this:
//
//   - A work runs in a transaction of its own, at READ COMMITTED. What it reads
//     of rows it locks; many rows in the order of their ids. A transaction that
//     loses against others (serialization failure, deadlock) runs again, three
//     times. The first statement brings BEGIN along, and the log rows travel
//     with COMMIT, so that a plain write is a few round trips and its number is
//     drawn as late as can be.
//   - A View is REPEATABLE READ and read-only: one snapshot, taken at once.
//   - The log's numbers are drawn before the commit, so they do not appear in
//     order. Reader.Log shows none before all below it are known to be there
//     or never to come: see barrier.go.
//   - Other instances are told "look again" by an empty NOTIFY after the commit,
//     at most one in 5 ms, and fewer under load; a poll each second
//     covers one that is lost.
//   - Names are always written with their namespace and nothing rests on a
//     session, so that a pooler in transaction mode may stand in between; LISTEN
//     then needs Config.ListenURL.
//
// All stores of one Cluster that have the same URL share one pool, one LISTEN
// connection and one reader of pg_locks.
//
// A Store is safe for concurrent use. Close waits for everything it started.
// The package may import value, schema, predicate, store, store/guard,
// store/sqltext, and what is below it: sqlstate and tables.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
	"github.com/rowcast/rowcast/internal/store/postgres/tables"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/schema"
)

// Config is what a Store stands on.
type Config struct {
	// URL is that of the database, as libpq writes it. A pooler may stand behind it.
	URL string
	// ListenURL leads to the same database past a pooler. Defaults to URL.
	ListenURL string
	// Namespace is the PostgreSQL schema that holds the tables. It is made where
	// it is missing. Required.
	Namespace string
	// MaxConns bounds the pool that all stores of one URL share; the first to be
	// opened decides. At least 4. Defaults to 10.
	MaxConns int
	// QueryTimeout bounds a View, the wait for a connection included. Defaults to 5 s.
	QueryTimeout time.Duration
	// Committed is called after each commit that appended to the log, with its
	// rows in order, before the writer is answered. It must not block, nor call
	// the Store. Commits may be handed on in another order than their numbers'.
	// Defaults to nothing.
	Committed func([]*store.LogRow)
	// Look is called when the log may have grown, here or elsewhere. It must not
	// block, nor call the Store. Defaults to nothing.
	Look func()
	// Now is the clock of idempotency records. Defaults to the database's own,
	// which all instances share.
	Now func() time.Time
	// Logger takes what no caller is told. Defaults to slog.Default().
	Logger *slog.Logger

	poll   time.Duration // between looks that nobody asked for; tests lengthen it
	budget time.Duration // of a work that is not alone; tests shorten it
}

const (
	defaultConns    = 10
	minConns        = 4
	defaultDeadline = 5 * time.Second
	// grace is what the server may take to notice a bound of its own before the
	// client gives the connection up.
	grace = 2 * time.Second
)

func (c Config) withDefaults() Config {
	if c.MaxConns <= 0 {
		c.MaxConns = defaultConns
	}
	c.MaxConns = max(c.MaxConns, minConns)
	c.QueryTimeout = orDefault(c.QueryTimeout, defaultDeadline)
	c.poll = orDefault(c.poll, time.Second)
	c.budget = orDefault(c.budget, defaultDeadline)
	if c.Committed == nil {
		c.Committed = func([]*store.LogRow) {}
	}
	if c.Look == nil {
		c.Look = func() {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func orDefault(v, def time.Duration) time.Duration {
	if v <= 0 {
		return def
	}
	return v
}

// Store is one namespace of a database.
type Store struct {
	config  Config
	db      *database
	ns      string // quoted, with the dot
	sql     statements
	barrier barrier
	turns   chan struct{} // a place for each work that runs
	errands chan struct{} // a place for each call of the queue that runs
	lanes   lanes         // of the queue
	mending mending       // of the queue
	channel string        // others listen to
	plans   sync.Map      // *schema.Entity -> *plan
	names   atomic.Pointer[map[string]*plan]
	glanced atomic.Int64 // when the log was last looked at for whoever follows it, Unix nanoseconds

	gate   sync.RWMutex // held for reading while a call is let in
	closed bool
	calls  sync.WaitGroup
	once   sync.Once
}

var _ store.Store = (*Store)(nil)

// Open opens a Store with a Cluster of its own.
func Open(ctx context.Context, config Config) (*Store, error) {
	return NewCluster().Open(ctx, config)
}

// Open connects, makes the namespace and brings the system tables to this
// release's version. ctx bounds the opening. The caller must Close the Store.
func (c *Cluster) Open(ctx context.Context, config Config) (*Store, error) {
	config = config.withDefaults()
	if config.Namespace == "" {
		return nil, errors.New("the namespace is missing: name a PostgreSQL schema for this datastore alone")
	}
	db, err := c.acquire(ctx, config)
	if err != nil {
		return nil, err
	}
	s := &Store{
		config: config, db: db, channel: channel(config.Namespace), ns: quote(config.Namespace) + ".",
		turns: make(chan struct{}, max(1, config.MaxConns*3/4)), errands: make(chan struct{}, max(1, config.MaxConns/5)),
	}
	s.sql = newStatements(s.ns)
	s.names.Store(&map[string]*plan{})
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open namespace %s: %w", config.Namespace, err), c.release(db))
	}
	return s, nil
}

func (s *Store) start(ctx context.Context) error {
	steps, err := sqltext.Steps(systemFiles)
	if err != nil {
		return err
	}
	if err := s.tables().Upgrade(ctx, steps); err != nil {
		return err
	}
	// What is in the log already is settled, as a rule; where somebody is
	// writing, whoever asks for Head waits for them.
	err = s.View(ctx, func(r store.Reader) error {
		_, err := r.Head()
		return err
	})
	if err != nil && !errors.Is(err, store.ErrUnsettled) {
		return err
	}
	s.db.join(s)
	return nil
}

// Close implements store.Store. What runs is finished and answered; writes and
// views that come later get ErrClosed. Safe to call more than once.
func (s *Store) Close() (err error) {
	s.once.Do(func() {
		s.gate.Lock()
		s.closed = true
		s.gate.Unlock()
		s.calls.Wait()
		s.db.leave(s)
		err = s.db.cluster.release(s.db)
	})
	return err
}

// enter lets a call in; who was let in calls s.calls.Done.
func (s *Store) enter() error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return store.ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	if _, err := s.db.pool.Exec(ctx, "SELECT 1"); err != nil {
		return fail("ping", err)
	}
	return nil
}

// Migrate implements store.Store: see tables.Namespace.Migrate.
func (s *Store) Migrate(ctx context.Context, plan store.Plan) (store.Report, error) {
	if err := s.enter(); err != nil {
		return store.Report{}, err
	}
	defer s.calls.Done()
	report, err := s.tables().Migrate(ctx, plan)
	if err == nil {
		s.learn(plan)
	}
	return report, err
}

// tables is where the store's tables are made.
func (s *Store) tables() *tables.Namespace {
	return &tables.Namespace{
		Pool: s.db.pool, Name: s.config.Namespace, Logger: s.config.Logger,
		Table: func(e *schema.Entity) *sqltext.Table { return s.plan(e).Table },
	}
}

func quote(name string) string { return sqltext.Quote(name) }

func fail(attempt string, err error) error { return sqlstate.Wrap(attempt, err) }

// fit makes a name one that PostgreSQL keeps whole.
func fit(name, suffix string) string { return tables.Fit(name, suffix) }
