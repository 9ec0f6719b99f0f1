package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowcast/rowcast/internal/store"
)

// View implements store.Store. The snapshot is taken at once and so shows all
// that was acknowledged before the call.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	bounded, cancel := context.WithTimeout(ctx, s.config.QueryTimeout+grace)
	defer cancel()
	// Before the snapshot: what is settled by now, the snapshot shows whole.
	r := &reader{store: s, ctx: bounded, conn: conn, frontier: s.barrier.settled()}
	if _, err := conn.Exec(bounded, s.sql.view(s.config.QueryTimeout)); err != nil {
		s.abandon(conn)
		return viewError(ctx, fail("begin a view", err))
	}
	defer func() { // also where fn panics
		r.conn = nil
		s.abandon(conn)
	}()
	return viewError(ctx, fn(r))
}

var _ store.Glancer = (*Store)(nil)

// Glance implements store.Glancer: a round trip for each read, where a View
// needs one to begin and one to end. The log may be read so because what is
// settled stays as it is.
func (s *Store) Glance(ctx context.Context, fn func(store.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	bounded, cancel := context.WithTimeout(ctx, s.config.QueryTimeout)
	defer cancel()
	r := &reader{store: s, ctx: bounded, conn: conn, frontier: s.barrier.settled()}
	s.glanced.Store(time.Now().UnixNano())
	defer func() { r.conn = nil }()
	return viewError(ctx, fn(r))
}

// acquire takes a connection from the pool, waiting at most QueryTimeout.
func (s *Store) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	bounded, cancel := context.WithTimeout(ctx, s.config.QueryTimeout)
	defer cancel()
	conn, err := s.db.pool.Acquire(bounded)
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case bounded.Err() != nil && s.db.busy():
		return nil, fmt.Errorf("%w: every connection is busy", store.ErrTimeout)
	case bounded.Err() != nil:
		return nil, fmt.Errorf("%w: connect: %w", store.ErrUnavailable, err)
	}
	return nil, fail("connect", err)
}

// busy reports whether the pool is at its bound.
func (db *database) busy() bool {
	stat := db.pool.Stat()
	return stat.AcquiredConns() >= stat.MaxConns()
}

// abandon ends a transaction whose outcome does not matter any more. A
// connection that does not answer is closed, which ends it too.
func (s *Store) abandon(conn *pgxpool.Conn) {
	c := conn.Conn()
	if c.IsClosed() || c.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if _, err := c.Exec(ctx, "ROLLBACK"); err != nil {
		_ = c.Close(ctx) // there is nothing to lose
	}
}

// viewError tells a reader that was cancelled from one that took too long.
func viewError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && (errors.Is(err, store.ErrTimeout) || errors.Is(err, context.Canceled)) {
		return ctx.Err()
	}
	return err
}

func millis(d time.Duration) string { return fmt.Sprint(max(1, d.Milliseconds())) }
