package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/pace"
	"github.com/rowcast/rowcast/internal/store"
)

const (
	// gapPatience is how long a gap waits before anybody asks who holds it open.
	// Nearly all of them are closed by then: their transactions were being
	// committed, and the tail, which looks at least this often where there is
	// anything to see, has found the rows. Only what was rolled back, or takes
	// longer, is worth a look at pg_locks, which costs more than one at the log.
	gapPatience = pace.Most + pace.Most/2
	// lockPause is the least time between two looks at pg_locks, and lockRest the
	// longest, where a transaction holds the log up for long.
	lockPause = 5 * time.Millisecond
	lockRest  = 100 * time.Millisecond
	minRetry  = 50 * time.Millisecond
	maxRetry  = time.Second
)

// holding asks which transactions may be adding to these logs. pg_locks is no
// table: it shows the present, whatever the snapshot.
const holding = `SELECT relation::bigint, virtualtransaction, coalesce(pid, 0) FROM pg_locks
	WHERE locktype = 'relation' AND mode = 'RowExclusiveLock' AND granted
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND relation = ANY (SELECT to_regclass(n)::oid FROM unnest($1::text[]) AS n)`

// holders reads who may be adding to this store's log now.
func (r *reader) holders() (holders, error) {
	now := holders{}
	_, err := r.query("read the locks", holding, []any{[]string{r.store.sql.log}}, func(rows pgx.Rows) error {
		var relation int64
		var id string
		var pid int32
		err := rows.Scan(&relation, &id, &pid)
		now[id] = pid
		return err
	})
	return now, err
}

// settle judges what a snapshot shows of the log, and has new gaps looked into.
func (s *Store) settle(after, frontier int64, rows []*store.LogRow) int {
	shown, fresh := s.barrier.settle(after, frontier, rows)
	if fresh {
		s.db.watch.wake()
	}
	return shown
}

// lockWatch looks into the gaps of all stores of a database. While there is
// none it does nothing.
type lockWatch struct {
	db    *database
	awake chan struct{}
}

func newLockWatch(db *database) *lockWatch { return &lockWatch{db: db, awake: make(chan struct{}, 1)} }

func (w *lockWatch) wake() {
	select {
	case w.awake <- struct{}{}:
	default:
	}
}

func (w *lockWatch) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.awake:
		}
		w.untilDecided(ctx)
	}
}

// untilDecided looks again until no gap is left, at those that have waited.
func (w *lockWatch) untilDecided(ctx context.Context) {
	failing := minRetry
	for {
		wait, err := w.round(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			w.db.logger.Warn("the locks of the change log cannot be read, trying again", "err", err)
			wait, failing = failing, min(2*failing, maxRetry)
		case wait < 0:
			return
		default:
			failing = minRetry
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// round reads the locks once for all stores and decides what can be decided. It
// returns how long to wait for the next round; negative where no gap is left.
func (w *lockWatch) round(ctx context.Context) (wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	open := map[*Store][]*gap{}
	var logs []string
	wait = -1
	for _, s := range w.db.members() {
		gaps, next := s.barrier.undecided(gapPatience)
		if wait = sooner(wait, next); len(gaps) > 0 {
			open[s] = gaps
			logs = append(logs, s.sql.log)
		}
	}
	if len(open) == 0 {
		return wait, nil
	}
	now, err := w.read(ctx, logs)
	if err != nil {
		return wait, err
	}
	for s, gaps := range open {
		ripe := s.barrier.note(gaps, now)
		s.warnOfHolders()
		s.endHung(ctx)
		if len(ripe) < len(gaps) {
			age, _ := s.barrier.oldest()
			wait = sooner(wait, min(max(lockPause, age/16), lockRest))
		}
		if len(ripe) == 0 {
			continue
		}
		if err := s.reread(ctx, ripe); err != nil {
			return wait, err
		}
		s.config.Look()
	}
	return wait, nil
}

// sooner returns the shorter of two waits, of which negative ones are none.
func sooner(a, b time.Duration) time.Duration {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// longHeld is from when on a transaction that holds the log up is worth a word.
const longHeld = time.Second

func (s *Store) warnOfHolders() {
	if held := s.barrier.longHeld(longHeld); len(held) > 0 {
		age, pid := s.barrier.oldest()
		s.config.Logger.Warn("a transaction holds up the change log; it is ended after "+idleLimit+" of idling",
			"namespace", s.config.Namespace, "pid", pid, "age", age.Round(time.Millisecond), "numbers", held[0].hi-held[0].lo+1)
	}
}

// Held returns for how long the log has been held up by a transaction that has
// drawn a number and not ended, and its backend; zeros where there is none.
func (s *Store) Held() (age time.Duration, pid int32) { return s.barrier.oldest() }

// read returns the holders of all these logs together: one of another tenant
// that is named here too only makes a gap wait a moment longer.
func (w *lockWatch) read(ctx context.Context, logs []string) (holders, error) {
	now := holders{}
	rows, err := w.db.pool.Query(ctx, holding, logs)
	if err == nil {
		_, err = drain(rows, func(r pgx.Rows) error {
			var relation int64
			var id string
			var pid int32
			err := r.Scan(&relation, &id, &pid)
			now[id] = pid
			return err
		})
	}
	if err != nil {
		return nil, fail("read the locks", err)
	}
	return now, nil
}

// reread looks once more, in a snapshot of its own, at gaps that nobody can fill
// any more.
func (s *Store) reread(ctx context.Context, ripe []*gap) error {
	var lo, hi, there []int64
	for _, g := range ripe {
		lo, hi = append(lo, g.lo), append(hi, g.hi)
	}
	rows, err := s.db.pool.Query(ctx, s.sql.refill, lo, hi)
	if err == nil {
		_, err = drain(rows, func(r pgx.Rows) error {
			var n int64
			err := r.Scan(&n)
			there = append(there, n)
			return err
		})
	}
	if err != nil {
		return fail("look again at missing numbers", err)
	}
	s.barrier.decide(ripe, there)
	return nil
}
