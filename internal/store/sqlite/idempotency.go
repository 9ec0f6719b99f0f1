package sqlite

import (
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// keepRecords is how long an Idempotency-Key is remembered.
const keepRecords = 24 * time.Hour

const records = "_rowcast_idempotency"

// Recall implements store.Tx.
func (t *tx) Recall(principal, key string) (rec *store.Record, err error) {
	c, err := t.use()
	if err != nil {
		return nil, err
	}
	st, err := c.stmtOf("SELECT request, result, created FROM _rowcast_idempotency WHERE principal = ? AND key = ? AND created >= ?")
	if err != nil {
		return nil, t.failed("read", records, err)
	}
	defer func() { err = t.settle("read", records, st, err) }()
	if err := bindTexts(st, principal, key); err != nil {
		return nil, err
	}
	if err := st.BindInt64(3, t.store.config.Now().Add(-keepRecords).UnixMicro()); err != nil {
		return nil, err
	}
	if !st.Step() {
		return nil, nil
	}
	return &store.Record{
		Principal: principal, Key: key,
		Request: st.ColumnText(0),
		Result:  st.ColumnBlob(1, []byte{}),
		Created: time.UnixMicro(st.ColumnInt64(2)).UTC(),
	}, nil
}

// Remember implements store.Tx. It takes the place of a record that is too old
// to be recalled and not yet pruned.
func (t *tx) Remember(r *store.Record) error {
	c, err := t.use()
	if err != nil {
		return err
	}
	st, err := c.stmtOf(`INSERT INTO _rowcast_idempotency (principal, key, created, request, result) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT DO UPDATE SET created = ?3, request = ?4, result = ?5 WHERE created < ?6`)
	if err != nil {
		return t.failed("write", records, err)
	}
	if err := bindTexts(st, r.Principal, r.Key); err != nil {
		return err
	}
	oldest := t.store.config.Now().Add(-keepRecords).UnixMicro()
	for _, err := range []error{
		st.BindInt64(3, r.Created.UnixMicro()), st.BindText(4, r.Request),
		st.BindBlob(5, append([]byte{}, r.Result...)), st.BindInt64(6, oldest),
	} {
		if err != nil {
			return t.failed("write", records, err)
		}
	}
	if err := st.Exec(); err != nil {
		return t.failed("write", records, err)
	}
	if c.db.Changes() == 0 {
		return &store.ConflictError{Field: -1}
	}
	return nil
}
