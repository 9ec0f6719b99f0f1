package sqlite

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/ncruces/go-sqlite3"
)

const (
	// passivePages is the size of the write-ahead log from which its pages are
	// copied into the file, as far as readers allow.
	passivePages = 4000
	// truncateWait is how long a TRUNCATE may hold up the writer while it waits
	// for readers to end their snapshots.
	truncateWait = 500 * time.Millisecond
)

// checkpointer keeps the write-ahead log small. It works after the group was
// answered, so that no writer waits for it in the middle of its request.
type checkpointer struct {
	conn     *conn
	pages    *int // in the log after the last commit
	limit    int  // pages past which the log is truncated
	patience int  // pages from which readers are waited for
}

func newCheckpointer(c *conn, config Config) (checkpointer, error) {
	limit := max(int(config.WALLimit/4096), 1)
	k := checkpointer{conn: c, pages: new(int), limit: limit, patience: limit}
	// The hook takes the place of SQLite's automatic checkpoint, which would
	// run inside COMMIT.
	c.db.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		*k.pages = pages
		return nil
	})
	// A log that starts again from its beginning gives back what is past the limit.
	if _, err := c.queryText(fmt.Sprintf(`PRAGMA journal_size_limit=%d`, config.WALLimit)); err != nil {
		return k, fail("limit the write-ahead log", err)
	}
	return k, nil
}

// afterCommit checkpoints where the log has grown. A failure is no writer's:
// their rows are durable in the log.
func (k *checkpointer) afterCommit(logger *slog.Logger) {
	switch {
	case *k.pages < min(passivePages, k.limit):
	case *k.pages < k.limit:
		if _, err := k.run(sqlite3.CHECKPOINT_PASSIVE, 0); err != nil {
			logger.Warn("checkpoint failed", "error", err)
		}
	default:
		k.shrink(logger)
	}
}

// shrink empties a log past its limit. A reader with an older snapshot stands
// in the way; it is waited for only once in so many pages.
func (k *checkpointer) shrink(logger *slog.Logger) {
	wait := time.Duration(0)
	if *k.pages >= k.patience {
		wait = truncateWait
	}
	pages, err := k.run(sqlite3.CHECKPOINT_TRUNCATE, wait)
	switch {
	case err == nil:
		k.patience = k.limit
	case wait > 0:
		k.patience = *k.pages + k.limit/4 + 1
		logger.Warn("the write-ahead log could not be truncated: a reader, or another program, holds an old snapshot", "pages", pages, "error", err)
	}
}

func (k *checkpointer) run(mode sqlite3.CheckpointMode, wait time.Duration) (pages int, err error) {
	if err := k.conn.db.BusyTimeout(wait); err != nil {
		return *k.pages, err
	}
	left, _, err := k.conn.db.WALCheckpoint("main", mode)
	if reset := k.conn.db.BusyTimeout(5 * time.Second); err == nil {
		err = reset
	}
	if err == nil && mode == sqlite3.CHECKPOINT_TRUNCATE {
		*k.pages = 0
	}
	return left, err
}

// last moves the whole log into the file before the connection ends. What it
// cannot move is found in the log by the next Open.
func (k *checkpointer) last() error {
	_, err := k.run(sqlite3.CHECKPOINT_TRUNCATE, truncateWait)
	if err != nil {
		return fail("checkpoint", err)
	}
	return nil
}
