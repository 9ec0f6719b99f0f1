package postgres

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqltext"
)

// Numbered files, each one version of the log's own tables. A step only adds,
// so that the release before still reads and writes what the newest made.
//
//go:embed system/*.sql
var systemFiles embed.FS

// upgradeSystem makes the namespace and brings the system tables to the last
// step, or refuses those of a newer release. All or nothing, one instance at a
// time.
func (s *Store) upgradeSystem(ctx context.Context, steps []sqltext.Step) error {
	return s.alone(ctx, func(ctx context.Context) error {
		return s.transaction(ctx, func(tx pgx.Tx) error { return s.applySteps(ctx, tx, steps) })
	})
}

func (s *Store) applySteps(ctx context.Context, tx pgx.Tx, steps []sqltext.Step) error {
	if err := s.namespace(ctx, tx); err != nil {
		return err
	}
	exec := func(what, sql string) error {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return fail(what, err)
		}
		return nil
	}
	if err := s.versioned(ctx, tx); err != nil {
		return err
	}
	var version int
	if err := tx.QueryRow(ctx, "SELECT number FROM "+s.sql.meta+" WHERE name = 'version'").Scan(&version); err != nil {
		return fail("read the version of the system tables", err)
	}
	if version != len(steps) { // the files name no namespace
		if err := exec("choose the namespace", "SET LOCAL search_path TO "+quote(s.config.Namespace)); err != nil {
			return err
		}
	}
	return sqltext.Upgrade(steps, version, "UPDATE "+strings.ReplaceAll(s.sql.meta, "%", "%%")+" SET number = %d WHERE name = 'version'", exec)
}

// versioned makes the table that holds the version where it is missing. It does
// not say IF NOT EXISTS, which asks for the right to create it all the same.
func (s *Store) versioned(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", s.sql.meta).Scan(&there); err != nil {
		return fail("look for the system tables", err)
	}
	if there {
		return nil
	}
	_, err := tx.Exec(ctx, "CREATE TABLE "+s.sql.meta+` (name text COLLATE "C" PRIMARY KEY, number bigint NOT NULL, text text NOT NULL)`)
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO "+s.sql.meta+" VALUES ('version', 0, '')")
	}
	if err != nil {
		return fail("create the system tables", err)
	}
	return nil
}

// namespace makes the PostgreSQL schema where it is missing. A role that may
// not create one can be given it ready-made.
func (s *Store) namespace(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", s.config.Namespace).Scan(&there); err != nil {
		return fail("look for the namespace", err)
	}
	if there {
		return nil
	}
	if _, err := tx.Exec(ctx, "CREATE SCHEMA "+quote(s.config.Namespace)); err != nil {
		return fail("create the namespace; where the role may not, let its owner run CREATE SCHEMA "+quote(s.config.Namespace)+" AUTHORIZATION the role", err)
	}
	return nil
}

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
