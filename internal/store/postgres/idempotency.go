package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
)

// now is nil for the database's own clock.
func (s *Store) now() any {
	if s.config.Now == nil {
		return nil
	}
	return s.config.Now().UTC()
}

// Recall implements store.Tx. Who asks for a key holds it to the end of the
// transaction, so that of two requests with one key the second finds what the
// first has kept.
func (t *tx) Recall(principal, key string) (rec *store.Record, err error) {
	name := fmt.Sprintf("%s %d %s %s", t.store.sql.records, len(principal), principal, key)
	if _, err := t.query("hold an idempotency key", t.store.sql.lockKey, []any{name}, nil); err != nil {
		return nil, err
	}
	_, err = t.query("read the idempotency records", t.store.sql.recall, []any{principal, key, t.store.now()}, func(rows pgx.Rows) error {
		rec = &store.Record{Principal: principal, Key: key}
		var created time.Time
		err := rows.Scan(&rec.Request, &rec.Result, &created)
		rec.Created = created.UTC()
		return err
	})
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// Remember implements store.Tx. It takes the place of a record that is too old
// to be recalled and not yet pruned.
func (t *tx) Remember(r *store.Record) error {
	result := append([]byte{}, r.Result...)
	n, err := t.query("write the idempotency records", t.store.sql.remember, []any{r.Principal, r.Key, t.store.now(), r.Request, result}, nil)
	if err == nil && n == 0 {
		return &store.ConflictError{Field: -1}
	}
	return err
}
