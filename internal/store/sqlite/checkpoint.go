package sqlite

import (
	"log/slog"
	"time"

	"github.com/ncruces/go-sqlite3"
)

const (
	// passivePages is the size of the write-ahead log from which its pages are
	// copied into the file, as far as readers allow.
	passivePages = 1000
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
	truncate int  // pages at which to try that next
}

func newCheckpointer(c *conn, config Config) checkpointer {
	limit := max(int(config.WALLimit/4096), 1)
	k := checkpointer{conn: c, pages: new(int), limit: limit, truncate: limit}
	// The hook takes the place of SQLite's automatic checkpoint, which would
	// run inside COMMIT.
	c.db.WALHook(func(_ *sqlite3.Conn, _ string, pages int) error {
		*k.pages = pages
		return nil
	})
	return k
}

// afterCommit checkpoints where the log has grown. A failure is no writer's:
// their rows are durable in the log.
func (k *checkpointer) afterCommit(logger *slog.Logger) {
	if *k.pages < min(passivePages, k.limit) {
		return
	}
	if *k.pages < k.truncate {
		k.passive(logger)
		return
	}
	left, err := k.run(sqlite3.CHECKPOINT_TRUNCATE, truncateWait)
	if err != nil {
		// A reader is in the way: try again when the log has grown by another quarter.
		k.truncate = *k.pages + k.limit/4 + 1
		logger.Warn("the write-ahead log could not be truncated; a reader or another program may hold an old snapshot", "pages", left, "error", err)
		return
	}
	k.truncate = k.limit
}

func (k *checkpointer) passive(logger *slog.Logger) {
	if _, err := k.run(sqlite3.CHECKPOINT_PASSIVE, 0); err != nil {
		logger.Warn("checkpoint failed", "error", err)
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
