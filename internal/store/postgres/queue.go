package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
)

// queue implements store.Queue. Every method is one transaction of one or two
// round trips. They have places of their own in the pool, so that neither they
// nor the works wait for each other's turn.
type queue struct{ store *Store }

var _ store.Queue = queue{}

// Queue implements store.Store.
func (s *Store) Queue() store.Queue { return queue{s} }

// ask is a statement and what takes its rows.
type ask struct {
	sql  string
	args []any
	each func(pgx.Rows) error // nil: nobody looks at them
	// count, where it is not nil, is set to how many rows it found or changed.
	count *int
}

// errand is what a method of the queue does in one transaction.
type errand struct {
	name  string // for errors: what is attempted
	reads bool   // nothing is written
	// first are the statements that travel with BEGIN. It is called anew for each
	// try, and sets back what their rows are kept in.
	first func() []ask
	// then are those that depend on the answers; they travel with COMMIT. Where it
	// is nil, COMMIT travels with the first.
	then func() []ask
}

// run runs an errand. One that lost against others runs again. Where it writes
// and the connection breaks, it is ErrUnknown whether it stands.
func (q queue) run(ctx context.Context, e errand) error {
	s := q.store
	if err := s.enter(); err != nil {
		return err
	}
	defer s.calls.Done()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.errands <- struct{}{}:
		defer func() { <-s.errands }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for again := 0; ; again++ {
		err := q.attempt(ctx, e)
		if err == nil || again == retries || !sqlstate.Lost(err) {
			return err
		}
	}
}

// attempt runs an errand once. ctx bounds the whole of one that only reads; of
// one that writes, the wait for a connection.
func (q queue) attempt(ctx context.Context, e errand) error {
	s := q.store
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	defer s.abandon(conn)
	caller := ctx
	if !e.reads {
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.budget+grace)
	defer cancel()
	asks := []ask{{sql: "BEGIN ISOLATION LEVEL READ COMMITTED"}, {sql: pinned, args: []any{millis(s.config.budget), idleLimit}}}
	asks = append(asks, e.first()...)
	if e.then != nil {
		if err := send(ctx, conn, asks); err != nil {
			return viewError(caller, fail(e.name, err))
		}
		asks = e.then()
	}
	if !e.reads {
		failpoint.Hit(failpoint.BeforeCommit)
	}
	err = send(ctx, conn, append(asks, ask{sql: "COMMIT"}))
	switch {
	case err == nil && !e.reads:
		failpoint.Hit(failpoint.AfterCommit)
		return nil
	case err == nil:
		return nil
	case e.reads:
		return viewError(caller, fail(e.name, err))
	case conn.Conn().IsClosed() && !pgconn.SafeToRetry(err):
		return fmt.Errorf("%w: %w", store.ErrUnknown, fail(e.name, err))
	}
	return fail(e.name, err)
}

// pinned sets the bounds of time of an errand, and has the planner walk the
// indexes that are made for its statements. A plan is kept for as long as its
// connection, and a queue is empty at one moment and long at the next: what is
// best for an empty table, to read all of it and sort, is a disaster for a long one.
// For the same reason no statement joins the queue: what it is to find stands in
// an array, which is looked up key by key, in order.
const pinned = `SELECT set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true),
	set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`

// send sends statements in one round trip.
func send(ctx context.Context, conn *pgxpool.Conn, asks []ask) (err error) {
	batch := &pgx.Batch{}
	for _, a := range asks {
		batch.Queue(a.sql, a.args...)
	}
	results := conn.SendBatch(ctx, batch)
	defer func() {
		if closed := results.Close(); err == nil {
			err = closed
		}
	}()
	for _, a := range asks {
		if err := a.answered(results); err != nil {
			return err
		}
	}
	return nil
}

func (a ask) answered(results pgx.BatchResults) error {
	if a.each == nil {
		tag, err := results.Exec()
		switch {
		case err != nil:
			return err
		case a.sql == "COMMIT" && tag.String() != "COMMIT":
			return errors.New("the database rolled the transaction back")
		case a.count != nil:
			*a.count = int(tag.RowsAffected())
		}
		return nil
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	n, err := drain(rows, a.each)
	if a.count != nil {
		*a.count = int(n)
	}
	return err
}

// deliveryColumns is what scanDelivery reads; d is the table, and the body's
// place is taken by %s.
const deliveryColumns = `d.seq, d.id, d.target, d.topic, d.event, d.event_id, d.entity, d.subject, d.ordered, %s, d.created, d.status,
	d.attempts, d.due, d.last_status, d.last_error, d.owner, d.epoch`

// numberedDelivery is a delivery and its number in the queue.
type numberedDelivery struct {
	seq int64
	*store.Delivery
}

func scanDelivery(rows pgx.Rows) (numberedDelivery, error) {
	d := numberedDelivery{Delivery: &store.Delivery{}}
	err := rows.Scan(&d.seq, &d.ID, &d.Target, &d.Topic, &d.Event, &d.EventID, &d.Entity, &d.Subject, &d.Ordered, &d.Body, &d.Created,
		&d.Status, &d.Attempts, &d.Due, &d.LastStatus, &d.LastError, &d.Owner, &d.Epoch)
	d.Created, d.Due = d.Created.UTC(), d.Due.UTC()
	return d, err
}

// deliveries gathers rows of scanDelivery.
func deliveries(into *[]numberedDelivery) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		d, err := scanDelivery(rows)
		*into = append(*into, d)
		return err
	}
}

// bare takes the numbers off.
func bare(ds []numberedDelivery) []*store.Delivery {
	out := make([]*store.Delivery, len(ds))
	for i, d := range ds {
		out[i] = d.Delivery
	}
	return out
}

func byDue(a, b numberedDelivery) int {
	return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.seq, b.seq))
}

func bySeq(a, b numberedDelivery) int { return cmp.Compare(a.seq, b.seq) }

// kept makes a text of others one that PostgreSQL can keep.
func kept(s string) string {
	if keepable(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// keptIDs leaves out what can be no delivery's id.
func keptIDs(ids []string) []string {
	var out []string
	for _, id := range ids {
		if keepable(id) {
			out = append(out, id)
		}
	}
	return out
}

func micros(d time.Duration) int64 { return d.Microseconds() }
