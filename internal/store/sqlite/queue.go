package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// queue implements store.Queue. What changes it is a work of the writer like any
// other: it shares transactions, and so the wait for the disk, with the writes
// that fill the queue. The clock is Config.Now.
type queue struct{ store *Store }

var _ store.Queue = queue{}

const deliveries = "_rowcast_deliveries"

// deliveryColumns are what scanDelivery reads; body may follow.
const deliveryColumns = `id, target, topic, event, event_id, entity, subject, ordered, created, status, attempts, due,
	owner, epoch, last_status, last_error`

// Queue implements store.Store.
func (s *Store) Queue() store.Queue { return queue{s} }

func (q queue) now() time.Time { return q.store.config.Now() }

// write runs fn as a work of the writer, more than once where a group is lost.
func (q queue) write(ctx context.Context, fn func(t *tx) error) error {
	return q.store.Write(ctx, store.Work{Run: func(_ context.Context, s store.Tx) error {
		t, ok := s.(*tx)
		if !ok {
			return errors.New("queue: not a transaction of this driver")
		}
		return fn(t)
	}})
}

func (q queue) view(ctx context.Context, fn func(r *reader) error) error {
	return q.store.View(ctx, func(s store.Reader) error {
		r, ok := s.(*reader)
		if !ok {
			return errors.New("queue: not a view of this driver")
		}
		return fn(r)
	})
}

// each runs a query of the queue and calls fn at each of its rows. fn must not
// run the same query.
func (r *reader) each(sql string, fn func(st *sqlite3.Stmt), args ...value.Value) (err error) {
	c, err := r.use()
	if err != nil {
		return err
	}
	st, err := c.stmtOf(sql)
	if err != nil {
		return r.failed("read", deliveries, err)
	}
	defer func() { err = r.settle("read", deliveries, st, err) }()
	if err := bindAll(st, args); err != nil {
		return err
	}
	for st.Step() {
		fn(st)
	}
	return nil
}

// do runs a statement of the queue and returns how many rows it changed.
func (t *tx) do(sql string, args ...value.Value) (changed int, err error) {
	c, err := t.use()
	if err != nil {
		return 0, err
	}
	st, err := c.stmtOf(sql)
	if err != nil {
		return 0, t.failed("write", deliveries, err)
	}
	if err := bindAll(st, args); err != nil {
		return 0, err
	}
	if err := st.Exec(); err != nil {
		return 0, t.failed("write", deliveries, err)
	}
	return int(c.db.Changes()), nil
}

// scanDelivery reads deliveryColumns, which begin at column n.
func (r *reader) scanDelivery(st *sqlite3.Stmt, n int) *store.Delivery {
	words := &r.conn.words
	return &store.Delivery{
		ID:         st.ColumnText(n),
		Target:     words.text(st.ColumnRawText(n + 1)),
		Topic:      words.text(st.ColumnRawText(n + 2)),
		Event:      words.text(st.ColumnRawText(n + 3)),
		EventID:    st.ColumnText(n + 4),
		Entity:     words.text(st.ColumnRawText(n + 5)),
		Subject:    st.ColumnText(n + 6),
		Ordered:    st.ColumnBool(n + 7),
		Created:    time.UnixMicro(st.ColumnInt64(n + 8)).UTC(),
		Status:     store.DeliveryStatus(st.ColumnInt64(n + 9)),
		Attempts:   st.ColumnInt(n + 10),
		Due:        time.UnixMicro(st.ColumnInt64(n + 11)).UTC(),
		Owner:      words.text(st.ColumnRawText(n + 12)),
		Epoch:      st.ColumnInt64(n + 13),
		LastStatus: st.ColumnInt(n + 14),
		LastError:  st.ColumnText(n + 15),
	}
}

// scanWhole reads deliveryColumns and the body behind them.
func (r *reader) scanWhole(st *sqlite3.Stmt, n int) *store.Delivery {
	d := r.scanDelivery(st, n)
	d.Body = st.ColumnBlob(n+16, []byte{})
	return d
}

// text and number make parameters of a statement.
func text(s string) value.Value { return value.OfText(s) }

func number[T ~int | ~int64 | ~uint8](n T) value.Value { return value.OfInt(int64(n)) }
