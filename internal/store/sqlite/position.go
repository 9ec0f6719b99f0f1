package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// The numbers of the log in use are those above the floor. sqlite_sequence
// knows the last one even where pruning left no row.
const (
	headSelect  = `SELECT seq, event_id FROM _rowcast_log ORDER BY seq DESC LIMIT 1`
	lastSelect  = `SELECT seq, '' FROM sqlite_sequence WHERE name = '_rowcast_log'`
	floorSelect = `SELECT number, text FROM _rowcast_meta WHERE name = 'floor'`
	findSelect  = `SELECT seq, event_id FROM _rowcast_log WHERE event_id = ?`
	atSelect    = `SELECT seq, event_id FROM _rowcast_log WHERE seq = ?`
)

// Head implements store.Reader. On SQLite every committed row is settled.
func (r *reader) Head() (store.Position, error) {
	head, err := r.position(headSelect)
	if err != nil || head.Seq != 0 {
		return head, err
	}
	floor, err := r.Floor()
	if err != nil {
		return store.Position{}, err
	}
	last, err := r.position(lastSelect)
	if err != nil || last.Seq > floor.Seq {
		return last, err
	}
	return floor, nil
}

// Floor implements store.Reader.
func (r *reader) Floor() (store.Position, error) { return r.position(floorSelect) }

// Find implements store.Reader.
func (r *reader) Find(eventID string) (seq int64, found bool, err error) {
	p, err := r.position(findSelect, eventID)
	if err == nil && p.Seq == 0 && eventID != "" {
		p, err = r.Floor()
	}
	return p.Seq, err == nil && p.EventID == eventID && eventID != "", err
}

// At implements store.Reader.
func (r *reader) At(seq int64) (eventID string, found bool, err error) {
	p, err := r.position(atSelect, seq)
	if err == nil && p.Seq == 0 {
		p, err = r.Floor()
	}
	if err != nil || p.Seq != seq || p.EventID == "" {
		return "", false, err
	}
	return p.EventID, true, nil
}

// position runs a query that answers a number and an event id, at most once.
func (r *reader) position(sql string, arg ...any) (p store.Position, err error) {
	c, err := r.use()
	if err != nil {
		return p, err
	}
	st, err := c.stmtOf(sql)
	if err != nil {
		return p, r.failed("read", logTable, err)
	}
	defer func() { err = r.settle("read", logTable, st, err) }()
	for _, a := range arg {
		switch a := a.(type) {
		case string:
			err = st.BindText(1, a)
		case int64:
			err = st.BindInt64(1, a)
		}
		if err != nil {
			return p, err
		}
	}
	if st.Step() {
		p = store.Position{Seq: st.ColumnInt64(0), EventID: st.ColumnText(1)}
	}
	return p, nil
}

// Prune implements store.Store. Log rows go in seq order up to the first that
// is not older than before: the floor is one number, so nothing above it may be
// missing. Were the clock once set back, rows wait for the newer one before them.
func (s *Store) Prune(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	err = s.Write(ctx, store.Work{Run: func(_ context.Context, t store.Tx) error {
		w, ok := t.(*tx)
		if !ok {
			return errors.New("prune: not a transaction of this driver")
		}
		log, err := w.pruneLog(before, limit)
		if err != nil {
			return err
		}
		kept, err := w.pruneRecords(limit)
		more = log || kept
		return err
	}})
	return more, err
}

func (t *tx) pruneLog(before time.Time, limit int) (more bool, err error) {
	floor, more, err := t.prefix(before, limit)
	if err != nil || floor.Seq == 0 {
		return false, err
	}
	if err := t.run(`DELETE FROM _rowcast_log WHERE seq <= ?`, floor.Seq); err != nil {
		return false, err
	}
	return more, t.run(`UPDATE _rowcast_meta SET number = ?, text = ? WHERE name = 'floor'`, floor.Seq, floor.EventID)
}

// prefix returns the last of at most limit old rows at the start of the log,
// and whether the next one is old too.
func (t *tx) prefix(before time.Time, limit int) (last store.Position, more bool, err error) {
	c, err := t.use()
	if err != nil {
		return last, false, err
	}
	st, err := c.stmtOf(`SELECT seq, event_id, time FROM _rowcast_log ORDER BY seq LIMIT ?`)
	if err != nil {
		return last, false, t.failed("prune", logTable, err)
	}
	defer func() { err = t.settle("prune", logTable, st, err) }()
	if err := st.BindInt64(1, int64(limit)+1); err != nil {
		return last, false, err
	}
	for n := 0; st.Step(); n++ {
		if st.ColumnInt64(2) >= before.UnixMicro() {
			return last, false, nil
		}
		if n == limit {
			return last, true, nil
		}
		last = store.Position{Seq: st.ColumnInt64(0), EventID: st.ColumnText(1)}
	}
	return last, false, nil
}

func (t *tx) pruneRecords(limit int) (more bool, err error) {
	err = t.run(`DELETE FROM _rowcast_idempotency WHERE rowid IN
		(SELECT rowid FROM _rowcast_idempotency WHERE created < ? ORDER BY created LIMIT ?)`,
		t.store.config.Now().Add(-keepRecords).UnixMicro(), int64(limit))
	return err == nil && t.conn.db.Changes() >= int64(limit) && limit > 0, err
}

// run executes a statement of the log's own tables.
func (t *tx) run(sql string, args ...any) error {
	c, err := t.use()
	if err != nil {
		return err
	}
	st, err := c.stmtOf(sql)
	if err != nil {
		return t.failed("write", logTable, err)
	}
	for i, a := range args {
		switch a := a.(type) {
		case int64:
			err = st.BindInt64(i+1, a)
		case string:
			err = st.BindText(i+1, a)
		default:
			err = fmt.Errorf("parameter %d is a %T", i+1, a)
		}
		if err != nil {
			return err
		}
	}
	if err := st.Exec(); err != nil {
		return t.failed("write", logTable, err)
	}
	return nil
}
