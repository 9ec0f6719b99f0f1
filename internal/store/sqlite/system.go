package sqlite

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqltext"
)

// Numbered files, each one version of the log's own tables. A step only adds,
// so that the release before still reads and writes what the newest made.
//
//go:embed system/*.sql
var systemFiles embed.FS

// upgradeSystem brings the system tables to the last step, or refuses those of
// a newer release. All or nothing.
func upgradeSystem(c *conn, steps []sqltext.Step) error {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return fail("begin a transaction", err)
	}
	err := applySteps(c, steps)
	if err == nil {
		if err = c.exec("COMMIT"); err == nil {
			return nil
		}
		err = fail("commit the system tables", err)
	}
	if !c.db.GetAutocommit() {
		err = errors.Join(err, c.exec("ROLLBACK"))
	}
	return err
}

func applySteps(c *conn, steps []sqltext.Step) error {
	if err := c.db.Exec(`CREATE TABLE IF NOT EXISTS _rowcast_meta (name TEXT PRIMARY KEY, number INTEGER NOT NULL, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
		INSERT OR IGNORE INTO _rowcast_meta VALUES ('version', 0, '')`); err != nil {
		return fail("create the system tables", err)
	}
	var version int
	text, err := c.queryText(`SELECT number FROM _rowcast_meta WHERE name = 'version'`)
	if err != nil {
		return fail("read the version of the system tables", err)
	}
	if _, err := fmt.Sscan(text, &version); err != nil {
		return fmt.Errorf("version of the system tables %q: %w", text, err)
	}
	set := `UPDATE _rowcast_meta SET number = %d WHERE name = 'version'`
	return sqltext.Upgrade(steps, version, set, func(attempt, sql string) error {
		if err := c.db.Exec(sql); err != nil {
			return fail(attempt, err)
		}
		return nil
	})
}

const secretTable = "_rowcast_secrets"

// Secret implements store.Store.
func (s *Store) Secret(ctx context.Context, name string) (secret []byte, err error) {
	err = s.View(ctx, func(r store.Reader) error {
		view, ok := r.(*reader)
		if ok {
			secret, err = view.secret(name)
		}
		return err
	})
	if err != nil || secret != nil {
		return secret, err
	}
	made := make([]byte, 32)
	if _, err := rand.Read(made); err != nil {
		return nil, fmt.Errorf("secret %s: %w", name, err)
	}
	err = s.Write(ctx, store.Work{Run: func(_ context.Context, t store.Tx) error {
		w, ok := t.(*tx)
		if !ok {
			return errors.New("secret: not a transaction of this driver")
		}
		if err := w.keepSecret(name, made); err != nil {
			return err
		}
		secret, err = w.secret(name)
		return err
	}})
	return secret, err
}

func (r *reader) secret(name string) (secret []byte, err error) {
	c, err := r.use()
	if err != nil {
		return nil, err
	}
	st, err := c.stmtOf(`SELECT secret FROM _rowcast_secrets WHERE name = ?`)
	if err != nil {
		return nil, r.failed("read", secretTable, err)
	}
	defer func() { err = r.settle("read", secretTable, st, err) }()
	if err := bindTexts(st, name); err != nil {
		return nil, err
	}
	if st.Step() {
		secret = st.ColumnBlob(0, []byte{})
	}
	return secret, nil
}

// keepSecret keeps a secret unless another was faster.
func (t *tx) keepSecret(name string, secret []byte) error {
	st, err := t.conn.stmtOf(`INSERT OR IGNORE INTO _rowcast_secrets (name, secret) VALUES (?, ?)`)
	if err != nil {
		return t.failed("write", secretTable, err)
	}
	if err := bindTexts(st, name); err != nil {
		return err
	}
	if err := st.BindBlob(2, secret); err != nil {
		return err
	}
	if err := st.Exec(); err != nil {
		return t.failed("write", secretTable, err)
	}
	return nil
}
