package sqlite

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

const defaultDeadline = 5 * time.Second

// What has become of a request. Whoever moves it on from waiting decides: the
// writer that it runs, its caller that it never will.
const (
	waiting int32 = iota
	taken
	abandoned
)

// request is one call waiting for the writer.
type request struct {
	ctx   context.Context //nolint:containedctx // a request is one call, handed over to the writer's goroutine
	work  store.Work
	admin func(*conn) error // set instead of work: runs outside any transaction
	state atomic.Int32
	done  chan error
}

// writer owns the connection that writes.
type writer struct {
	store *Store
	conn  *conn
	queue chan *request
	ended chan struct{}

	gate   sync.RWMutex // held for reading while something is put on the queue
	closed bool

	checkpoint checkpointer
	group      group
}

func newWriter(s *Store, c *conn) (*writer, error) {
	w := &writer{
		store: s, conn: c,
		queue: make(chan *request, 4*s.config.MaxGroup),
		ended: make(chan struct{}),
		group: group{store: s, conn: c},
	}
	var err error
	w.checkpoint, err = newCheckpointer(c, s.config)
	return w, err
}

// Write implements store.Store. Work that has not begun when ctx ends never
// runs. Work that has begun has an outcome, and that is what is returned.
func (s *Store) Write(ctx context.Context, work store.Work) error {
	return s.writer.do(&request{ctx: ctx, work: work, done: make(chan error, 1)})
}

// administer runs fn on the writer's connection, outside any transaction.
func (s *Store) administer(ctx context.Context, fn func(*conn) error) error {
	return s.writer.do(&request{ctx: ctx, admin: fn, done: make(chan error, 1)})
}

func (w *writer) do(r *request) error {
	if err := w.put(r); err != nil {
		return err
	}
	select {
	case err := <-r.done:
		return err
	case <-r.ctx.Done():
		if r.state.CompareAndSwap(waiting, abandoned) {
			return r.ctx.Err()
		}
		return <-r.done
	}
}

func (w *writer) put(r *request) error {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.closed {
		return store.ErrClosed
	}
	select {
	case w.queue <- r:
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// run serves the queue until it is closed and empty.
func (w *writer) run() {
	defer close(w.ended)
	var next *request // taken from the queue, but not fit for the group before it
	batch := make([]*request, 0, w.store.config.MaxGroup)
	for {
		first := next
		if next = nil; first == nil {
			r, open := <-w.queue
			if !open {
				return
			}
			first = r
		}
		if !first.take() {
			continue
		}
		batch = append(batch[:0], first)
		if first.alone() {
			w.serveAlone(first)
		} else {
			batch, next = w.drain(batch)
			w.group.run(batch)
		}
		clear(batch)
		w.checkpoint.afterCommit(w.store.config.Logger)
	}
}

// drain adds what is queued right now, up to the first that wants to be alone.
func (w *writer) drain(batch []*request) (full []*request, next *request) {
	for len(batch) < cap(batch) {
		select {
		case r, open := <-w.queue:
			if !open {
				return batch, nil
			}
			if r.alone() {
				return batch, r
			}
			if r.take() {
				batch = append(batch, r)
			}
		default:
			return batch, nil
		}
	}
	return batch, nil
}

func (w *writer) serveAlone(r *request) {
	if r.admin != nil {
		r.done <- r.admin(w.conn)
		return
	}
	w.group.run([]*request{r})
}

// take claims the request for the writer, unless its caller has gone.
func (r *request) take() bool {
	if err := r.ctx.Err(); err != nil && r.state.CompareAndSwap(waiting, abandoned) {
		r.done <- err
		return false
	}
	return r.state.CompareAndSwap(waiting, taken)
}

func (r *request) alone() bool { return r.admin != nil || r.work.Alone }

// stop takes no more requests.
func (w *writer) stop() {
	w.gate.Lock()
	defer w.gate.Unlock()
	w.closed = true
	close(w.queue)
}

// finish waits for what is queued and ends the connection.
func (w *writer) finish() error {
	<-w.ended
	return errors.Join(w.checkpoint.last(), w.conn.close())
}
