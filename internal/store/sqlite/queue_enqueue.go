package sqlite

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

const deliveryInsert = `INSERT INTO _rowcast_deliveries (id, target, topic, event, event_id, entity, subject, owner,
		seq, ordered, created, status, due, turn, since, epoch, body, attempts, last_status, last_error)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, 0, 0, '')`

// Enqueue implements store.Tx. An ordered delivery that names an owner is
// refused: whoever holds it could not know that none is before it.
func (t *tx) Enqueue(ds ...*store.Delivery) error {
	c, err := t.use()
	if err != nil {
		return err
	}
	now := t.store.config.Now().UnixMicro()
	for _, d := range ds {
		p, err := t.placeOf(d, now)
		if err != nil {
			return fmt.Errorf("enqueue delivery %s: %w", d.ID, err)
		}
		st, err := c.stmtOf(deliveryInsert)
		if err != nil {
			return t.failed("enqueue into", deliveries, err)
		}
		if err := bindDelivery(st, d, p, now); err != nil {
			return fmt.Errorf("enqueue delivery %s: %w", d.ID, err)
		}
		if err := st.Exec(); err != nil {
			return t.failed("enqueue into", deliveries, err)
		}
	}
	return nil
}

// place is where a new delivery stands.
type place struct {
	seq    value.Value // NULL: the next
	status store.DeliveryStatus
	turn   int64
	epoch  int64
}

func (t *tx) placeOf(d *store.Delivery, now int64) (place, error) {
	switch {
	case d.Owner != "" && d.Ordered:
		return place{}, errors.New("a delivery of an ordered target was to be leased before its turn")
	case d.Owner != "":
		return place{status: store.Claimed, epoch: 1}, nil
	case !d.Ordered:
		return place{status: store.Pending, turn: now}, nil
	}
	next := int64(1)
	err := t.each(`SELECT seq FROM sqlite_sequence WHERE name = '_rowcast_deliveries'`,
		func(st *sqlite3.Stmt) { next = st.ColumnInt64(0) + 1 })
	if err != nil {
		return place{}, err
	}
	waits, err := t.behind(rowKey{d.Target, d.Entity, d.Subject}, next)
	p := place{seq: value.OfInt(next), status: store.Pending, turn: ready + next}
	if waits {
		p.turn = blocked
	}
	return p, err
}

func bindDelivery(st *sqlite3.Stmt, d *store.Delivery, p place, now int64) error {
	if err := bindTexts(st, d.ID, d.Target, d.Topic, d.Event, d.EventID, d.Entity, d.Subject, d.Owner); err != nil {
		return err
	}
	if err := bind(st, 9, p.seq); err != nil {
		return err
	}
	if err := st.BindBool(10, d.Ordered); err != nil {
		return err
	}
	for i, n := range [...]int64{d.Created.UnixMicro(), int64(p.status), now, p.turn, now, p.epoch} {
		if err := st.BindInt64(11+i, n); err != nil {
			return err
		}
	}
	if len(d.Body) == 0 {
		return st.BindZeroBlob(17, 0) // no slice would be NULL
	}
	return st.BindBlob(17, d.Body)
}
