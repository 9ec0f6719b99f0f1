package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/pace"
)

// Wake-ups say "look again" and nothing more, so that a lost or doubled one is
// harmless. A notification inside the write's transaction would make every
// commit of the server wait for every other; so it goes in one of its own, which
// nobody waits for: not even for the disk. One tells of all stores of a database
// and of all that they committed since the last, because each wakes a process
// of the server for every instance that listens.

const (
	// notifyPause is the least time between two notifications of a database.
	notifyPause = 5 * time.Millisecond
	// underLoad is a pace from which on those who follow the log look again
	// without being told, because something is there whenever they do (see package
	// tail): then every other notification can be spared.
	underLoad = pace.Most / 4
)

const notify = "SELECT set_config('synchronous_commit', 'off', true), pg_notify(channel, '') FROM unnest($1::text[]) AS channel"

// teller notifies other instances of commits.
type teller struct {
	db    *database
	awake chan struct{}

	mu       sync.Mutex
	channels map[string]struct{} // to be told
	commits  int                 // that they stand for
}

func newTeller(db *database) *teller {
	return &teller{db: db, awake: make(chan struct{}, 1), channels: map[string]struct{}{}}
}

// committed notes a commit to a store's log. It does not block.
func (t *teller) committed(s *Store) {
	t.mu.Lock()
	t.channels[s.channel] = struct{}{}
	t.commits++
	t.mu.Unlock()
	select {
	case t.awake <- struct{}{}:
	default:
	}
}

func (t *teller) take() (channels []string, commits int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.channels {
		channels = append(channels, name)
	}
	commits = t.commits
	clear(t.channels)
	t.commits = 0
	return channels, commits
}

// apart is the time to the next notification, given how long those who look wait.
func apart(wait time.Duration) time.Duration {
	if wait >= underLoad {
		return 2 * wait
	}
	return max(notifyPause, wait)
}

// run tells, at once after a quiet time and many at a time under load, until
// ctx is done; then once more, so that an instance that stops leaves nothing
// untold. What it cannot tell others find out by themselves.
func (t *teller) run(ctx context.Context) {
	var p pace.Pace
	defer func() { _ = t.tell(context.WithoutCancel(ctx), grace) }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.awake:
		}
		commits := t.tell(ctx, defaultDeadline)
		timer := time.NewTimer(apart(p.Found(time.Now(), commits)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// tell notifies what is to be told and returns how many commits that was.
func (t *teller) tell(ctx context.Context, limit time.Duration) int {
	channels, commits := t.take()
	if commits == 0 {
		return 0
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if _, err := t.db.pool.Exec(bounded, notify, channels); err != nil && ctx.Err() == nil {
		t.db.logger.Debug("other instances cannot be told, they look by themselves", "err", err)
	}
	return commits
}
