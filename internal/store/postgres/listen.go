package postgres

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/pace"
)

// aliveEvery is how often a silent connection is asked whether it still stands.
const aliveEvery = 30 * time.Second

func channel(namespace string) string { return fit("rowcast:"+namespace, "") }

// listener holds the one connection that listens, for all stores of a database.
type listener struct {
	db     *database
	config *pgx.ConnConfig

	mu        sync.Mutex
	interrupt context.CancelFunc // ends a wait, because the stores have changed
}

func newListener(db *database, config *pgx.ConnConfig) *listener {
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return &listener{db: db, config: config, interrupt: func() {}}
}

// again makes the listener look at which stores there are.
func (l *listener) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interrupt()
}

// run listens until ctx is done, connecting again where it must.
func (l *listener) run(ctx context.Context) {
	wait, again := minRetry, false
	for {
		connected, err := l.session(ctx, again)
		if ctx.Err() != nil {
			return
		}
		if connected {
			wait, again = minRetry, true
		}
		l.db.logger.Warn("the connection that listens for changes of other instances broke, connecting again", "err", err, "wait", wait)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		wait = min(2*wait, maxRetry)
	}
}

// session is the life of one connection; again where there was one before.
func (l *listener) session(ctx context.Context, again bool) (connected bool, err error) {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return false, err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		_ = conn.Close(closing)
	}()
	heard := map[string]*Store{}
	for {
		waiting, stop := context.WithTimeout(ctx, aliveEvery)
		l.mu.Lock()
		l.interrupt = stop
		l.mu.Unlock()
		if err := l.subscribe(ctx, conn, heard, again); err != nil {
			stop()
			return true, err
		}
		note, err := conn.WaitForNotification(waiting)
		interrupted := waiting.Err() != nil
		stop()
		switch {
		case err == nil && !l.db.own.has(note.PID):
			if s := heard[note.Channel]; s != nil {
				s.config.Look()
			}
		case err == nil: // our own: whoever had to look has
		case ctx.Err() != nil || !interrupted:
			return true, err
		default:
			if err := alive(ctx, conn); err != nil {
				return true, err
			}
		}
	}
}

// subscribe listens for the stores that there are now, and looks for what was
// not heard before. After a connection was lost every store looks, whether its
// log has grown or not: another one may stand in its place.
func (l *listener) subscribe(ctx context.Context, conn *pgx.Conn, heard map[string]*Store, again bool) error {
	now := map[string]*Store{}
	for _, s := range l.db.members() {
		now[channel(s.config.Namespace)] = s
	}
	for name := range heard {
		if now[name] == nil {
			if err := command(ctx, conn, "UNLISTEN "+quote(name)); err != nil {
				return err
			}
			delete(heard, name)
		}
	}
	fresh := false
	for name, s := range now {
		if heard[name] == nil {
			if err := command(ctx, conn, "LISTEN "+quote(name)); err != nil {
				return err
			}
			if fresh = true; again {
				s.config.Look()
			}
		}
		heard[name] = s
	}
	if !fresh {
		return nil
	}
	return l.db.lookAtAll(ctx)
}

func alive(ctx context.Context, conn *pgx.Conn) error { return command(ctx, conn, "SELECT 1") }

func command(ctx context.Context, conn *pgx.Conn, sql string) error {
	bounded, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	_, err := conn.Exec(bounded, sql)
	return err
}

// poll looks now and then at the ends of all logs, for wake-ups that were lost:
// one query, however many stores there are, and none where all of them have just
// been looked at.
func (db *database) poll(ctx context.Context, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if db.glanced(time.Now().Add(-pace.Most)) {
			continue
		}
		if err := db.lookAtAll(ctx); err != nil && ctx.Err() == nil {
			db.logger.Debug("the ends of the change logs cannot be read, trying again", "err", err)
		}
	}
}

// glanced reports whether the logs of all stores were looked at since.
func (db *database) glanced(since time.Time) bool {
	return !slices.ContainsFunc(db.members(), func(s *Store) bool { return s.glanced.Load() < since.UnixNano() })
}

func (db *database) lookAtAll(ctx context.Context) error {
	stores := db.members()
	if len(stores) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	var sql strings.Builder
	for i, s := range stores {
		if i > 0 {
			sql.WriteString(" UNION ALL ")
		}
		sql.WriteString("SELECT " + strconv.Itoa(i) + ", max(seq) FROM " + s.sql.log)
	}
	rows, err := db.pool.Query(ctx, sql.String())
	if err != nil {
		return err
	}
	_, err = drain(rows, func(r pgx.Rows) error {
		var i int
		var last *int64
		if err := r.Scan(&i, &last); err != nil {
			return err
		}
		if last != nil && *last != stores[i].barrier.settled() {
			stores[i].config.Look()
		}
		return nil
	})
	return err
}
