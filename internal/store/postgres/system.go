package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
)

// Numbered files, each one version of the log's own tables. A step only adds,
// so that the release before still reads and writes what the newest made.
//
//go:embed system/*.sql
var systemFiles embed.FS

// Secret implements store.Store.
func (s *Store) Secret(ctx context.Context, name string) (secret []byte, err error) {
	made := make([]byte, 32)
	if _, err := rand.Read(made); err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	err = s.Write(ctx, store.Work{Run: func(_ context.Context, t store.Tx) error {
		w, ok := t.(*tx)
		if !ok {
			return errors.New("secret: not a transaction of this driver")
		}
		// The one who was faster is waited for.
		if _, err := w.query("keep a secret", s.sql.keepSecret, []any{name, made}, nil); err != nil {
			return err
		}
		_, err := w.query("read a secret", s.sql.secret, []any{name}, func(rows pgx.Rows) error { return rows.Scan(&secret) })
		return err
	}})
	return secret, err
}
