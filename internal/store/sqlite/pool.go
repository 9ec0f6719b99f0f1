package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// pool is the connections that read, each with its own snapshot.
type pool struct {
	idle    chan *conn
	closing chan struct{}
}

func openPool(ctx context.Context, s *Store) (*pool, error) {
	n := s.config.Readers
	p := &pool{idle: make(chan *conn, n), closing: make(chan struct{})}
	for range n {
		c, err := openConn(ctx, s.path, s.config.vfs, true)
		if err != nil {
			for range len(p.idle) {
				err = errors.Join(err, (<-p.idle).close())
			}
			return nil, err
		}
		p.idle <- c
	}
	return p, nil
}

// take returns a connection, waiting at most until the end.
func (p *pool) take(ctx context.Context, wait time.Duration) (*conn, error) {
	select {
	case <-p.closing:
		return nil, store.ErrClosed
	default:
	}
	select {
	case c := <-p.idle:
		return c, nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case c := <-p.idle:
		return c, nil
	case <-p.closing:
		return nil, store.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, errors.Join(store.ErrTimeout, errors.New("every reader is busy"))
	}
}

// close waits for the views that are open, each of which has a bound, and
// closes every connection.
func (p *pool) close() (err error) {
	close(p.closing)
	for range cap(p.idle) {
		err = errors.Join(err, (<-p.idle).close())
	}
	return err
}

// View implements store.Store. The snapshot is taken at once and so shows all
// that was acknowledged before the call.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	end := time.Now().Add(s.config.QueryTimeout)
	c, err := s.pool.take(ctx, s.config.QueryTimeout)
	if err != nil {
		return err
	}
	r := &reader{store: s, conn: c}
	idle := c.db.SetInterrupt(&budget{Context: ctx, end: end})
	defer func() { // also where fn panics
		r.conn = nil
		c.db.SetInterrupt(idle)
		if !c.db.GetAutocommit() {
			_ = c.exec("ROLLBACK") // ends a read: there is nothing to lose
		}
		s.pool.idle <- c
	}()
	if err := begin(c); err != nil {
		return viewError(ctx, fail("begin a view", err))
	}
	return viewError(ctx, fn(r))
}

// begin takes the snapshot now: a deferred transaction would take it at its
// first read, after what the caller knows to be committed may have changed again.
func begin(c *conn) error {
	if err := c.exec("BEGIN"); err != nil {
		return err
	}
	st, err := c.stmtOf("SELECT 1 FROM _rowcast_meta")
	if err != nil {
		return err
	}
	st.Step()
	err = st.Err()
	return errors.Join(err, st.Reset())
}

// viewError tells a reader that was cancelled from one that took too long.
func viewError(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrTimeout) && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
