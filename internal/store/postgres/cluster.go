package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Cluster shares what stores of one database have in common. The zero value is
// not usable; all methods are safe for concurrent use.
type Cluster struct {
	mu        sync.Mutex
	databases map[string]*database
}

// NewCluster returns a Cluster without stores.
func NewCluster() *Cluster { return &Cluster{databases: map[string]*database{}} }

// database is one URL: a pool, a listener and a reader of locks for all its stores.
type database struct {
	cluster *Cluster
	url     string
	users   int // stores, guarded by the cluster's lock
	pool    *pgxpool.Pool
	logger  *slog.Logger

	mu     sync.Mutex
	stores []*Store

	own      backends
	listener *listener // nil: behind a pooler, and no way past it
	teller   *teller
	watch    *lockWatch
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// acquire returns the database of the config's URL, opening it for the first store.
func (c *Cluster) acquire(ctx context.Context, config Config) (*database, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	db, ok := c.databases[config.URL]
	if !ok {
		var err error
		if db, err = openDatabase(ctx, config); err != nil {
			return nil, err
		}
		db.cluster = c
		c.databases[config.URL] = db
	}
	db.users++
	return db, nil
}

// release gives a database back; the last one closes it.
func (c *Cluster) release(db *database) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if db.users--; db.users > 0 {
		return nil
	}
	delete(c.databases, db.url)
	db.stop()
	db.running.Wait()
	db.pool.Close()
	return nil
}

func openDatabase(ctx context.Context, config Config) (*database, error) {
	parsed, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("the url of the database cannot be read: %w", err) // pgx leaves the password out
	}
	found, err := probe(ctx, parsed.ConnConfig.Copy(), config.Logger)
	if err != nil {
		return nil, err
	}
	db := &database{url: config.URL, logger: config.Logger}
	db.configure(parsed, config, found.pooled)
	if db.pool, err = pgxpool.NewWithConfig(ctx, parsed); err != nil {
		return nil, fail("connect", err)
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	db.stop = stop
	db.teller, db.watch = newTeller(db), newLockWatch(db)
	db.running.Go(func() { db.teller.run(background) })
	db.running.Go(func() { db.watch.run(background) })
	db.running.Go(func() { db.poll(background, config.poll) })
	if err := db.listen(background, parsed.ConnConfig.Copy(), config, found); err != nil {
		stop()
		db.running.Wait()
		db.pool.Close()
		return nil, err
	}
	return db, nil
}

func (db *database) configure(parsed *pgxpool.Config, config Config, pooled bool) {
	parsed.MaxConns = int32(min(config.MaxConns, 1<<15)) // #nosec G115 -- bounded
	c := parsed.ConnConfig
	polish(c)
	// After a failover the old primary must not take another write.
	c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	if pooled {
		// A prepared statement would stay on a server connection that the next
		// transaction may not get.
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	parsed.AfterConnect = func(_ context.Context, c *pgx.Conn) error { db.own.add(c.PgConn().PID()); return nil }
	parsed.BeforeClose = func(c *pgx.Conn) { db.own.remove(c.PgConn().PID()) }
}

func (db *database) listen(ctx context.Context, direct *pgx.ConnConfig, config Config, found facts) error {
	if config.ListenURL != "" && config.ListenURL != config.URL {
		var err error
		if direct, err = pgx.ParseConfig(config.ListenURL); err != nil {
			return fmt.Errorf("the listenurl of the database cannot be read: %w", err)
		}
		behind, err := probe(ctx, direct.Copy(), config.Logger)
		if err != nil {
			return fmt.Errorf("listenurl: %w", err)
		}
		if behind.identity != found.identity {
			return errors.New("listenurl leads to another database than url, where nothing of it is heard: let both lead to one database of one server")
		}
		found = behind
	}
	if found.pooled {
		config.Logger.Warn("the database is reached through a pooler, which cannot pass LISTEN on: changes of other instances are seen up to a second late; give listenurl, a URL that leads past the pooler")
		return nil
	}
	polish(direct)
	db.listener = newListener(db, direct)
	db.running.Go(func() { db.listener.run(ctx) })
	return nil
}

// join adds a store to what is listened to and watched.
func (db *database) join(s *Store) {
	db.mu.Lock()
	db.stores = append(slices.Clone(db.stores), s)
	db.mu.Unlock()
	if db.listener != nil {
		db.listener.again()
	}
}

func (db *database) leave(s *Store) {
	db.mu.Lock()
	db.stores = slices.DeleteFunc(slices.Clone(db.stores), func(other *Store) bool { return other == s })
	db.mu.Unlock()
	if db.listener != nil {
		db.listener.again()
	}
}

// members returns the stores; the slice is never changed.
func (db *database) members() []*Store {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.stores
}

// backends are the server's processes that serve this pool.
type backends struct {
	mu   sync.Mutex
	pids map[uint32]struct{}
}

func (b *backends) add(pid uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pids == nil {
		b.pids = map[uint32]struct{}{}
	}
	b.pids[pid] = struct{}{}
}

func (b *backends) remove(pid uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.pids, pid)
}

func (b *backends) has(pid uint32) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.pids[pid]
	return ok
}

// imitators speak PostgreSQL's protocol and keep none of what the change log
// rests on: sequences, pg_locks, LISTEN, or the order in which locks go.
var imitators = []string{
	"CockroachDB", "YugabyteDB", "-YB-", "Redshift", "Greenplum", "Cloudberry", "Materialize", "RisingWave", "CrateDB", "QuestDB", "Spanner", "Aurora DSQL", "EventStoreDB",
}

// probe checks what the design needs of a server.
func probe(ctx context.Context, c *pgx.ConnConfig, logger *slog.Logger) (f facts, err error) {
	polish(c)
	c.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return f, fail("connect", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var version string
	if err := conn.QueryRow(ctx, "SELECT version()").Scan(&version); err != nil {
		return f, fail("ask for the version", err)
	}
	if err := genuine(version); err != nil {
		return f, err
	}
	var pid int32
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, current_setting('server_encoding'), pg_is_in_recovery(),
		pg_backend_pid(), current_setting('fsync') = 'on' AND current_setting('synchronous_commit') <> 'off',
		current_database() || ' since ' || extract(epoch FROM pg_postmaster_start_time())`).
		Scan(&f.version, &f.encoding, &f.standby, &pid, &f.durable, &f.identity)
	if err != nil {
		return f, fail("ask for the settings", err)
	}
	f.pooled = uint32(pid) != conn.PgConn().PID() // #nosec G115 -- a process id
	if !f.durable {
		logger.Warn("the server runs with fsync or synchronous_commit off: writes that were answered can be lost in a crash, and with them what streams were told")
	}
	return f, f.check(version)
}

// facts are what a server says of itself.
type facts struct {
	version  int
	encoding string
	standby  bool
	durable  bool
	identity string // of the database, for as long as its server runs
	pooled   bool   // a pooler stands before it
}

func genuine(version string) error {
	for _, name := range imitators {
		if strings.Contains(version, name) {
			return fmt.Errorf("the server says %q: %s speaks PostgreSQL's protocol without its locks and sequences, which the change log rests on; use PostgreSQL 15 or newer", version, strings.Trim(name, "-"))
		}
	}
	return nil
}

func (f facts) check(version string) error {
	switch {
	case f.version < 150000:
		return fmt.Errorf("the server is %s; PostgreSQL 15 or newer is needed: upgrade it", version)
	case f.encoding != "UTF8":
		return fmt.Errorf("the database's encoding is %s; create one with ENCODING 'UTF8'", f.encoding)
	case f.standby:
		return errors.New("the server is a standby (it is in recovery) and takes no writes: let the url lead to the primary")
	}
	return nil
}
