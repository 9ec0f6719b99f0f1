// Package tables brings what a datastore keeps in a PostgreSQL database into
// being: its schema ("namespace"), the log's own tables by versions, and for each
// entity a table, its columns and its indexes.
//
// It promises: of many instances that start together one works at a time; what
// would lose data, or leave rows that the schema forbids, is refused with the
// statement that the operator must run, and then nothing was changed; a table
// that is in use is never held up for long. A Namespace is safe for concurrent
// use. The package may import value, schema, store, store/sqltext and
// store/postgres/sqlstate.
package tables

import (
	"context"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/schema"
)

// Namespace is the PostgreSQL schema that holds the tables of one datastore.
type Namespace struct {
	Pool   *pgxpool.Pool
	Name   string
	Logger *slog.Logger
	// Table names the table of an entity, in this namespace.
	Table func(*schema.Entity) *sqltext.Table
}

func (n *Namespace) quoted() string { return sqltext.Quote(n.Name) + "." }

// meta is the table that holds the version.
func (n *Namespace) meta() string { return n.quoted() + "_rowcast_meta" }

// Upgrade makes the namespace and brings the system tables to the last
// step, or refuses those of a newer release. All or nothing, one instance at a
// time.
func (n *Namespace) Upgrade(ctx context.Context, steps []sqltext.Step) error {
	return n.alone(ctx, func(ctx context.Context) error {
		return n.transaction(ctx, func(tx pgx.Tx) error { return n.applySteps(ctx, tx, steps) })
	})
}

func (n *Namespace) applySteps(ctx context.Context, tx pgx.Tx, steps []sqltext.Step) error {
	if err := n.make(ctx, tx); err != nil {
		return err
	}
	exec := func(what, sql string) error {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return sqlstate.Wrap(what, err)
		}
		return nil
	}
	if err := n.versioned(ctx, tx); err != nil {
		return err
	}
	var version int
	if err := tx.QueryRow(ctx, "SELECT number FROM "+n.meta()+" WHERE name = 'version'").Scan(&version); err != nil {
		return sqlstate.Wrap("read the version of the system tables", err)
	}
	if version != len(steps) { // the files name no namespace
		if err := exec("choose the namespace", "SET LOCAL search_path TO "+sqltext.Quote(n.Name)); err != nil {
			return err
		}
	}
	return sqltext.Upgrade(steps, version, "UPDATE "+strings.ReplaceAll(n.meta(), "%", "%%")+" SET number = %d WHERE name = 'version'", exec)
}

// versioned makes the table that holds the version where it is missing. It does
// not say IF NOT EXISTS, which asks for the right to create it all the same.
func (n *Namespace) versioned(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", n.meta()).Scan(&there); err != nil {
		return sqlstate.Wrap("look for the system tables", err)
	}
	if there {
		return nil
	}
	_, err := tx.Exec(ctx, "CREATE TABLE "+n.meta()+` (name text COLLATE "C" PRIMARY KEY, number bigint NOT NULL, text text NOT NULL)`)
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO "+n.meta()+" VALUES ('version', 0, '')")
	}
	if err != nil {
		return sqlstate.Wrap("create the system tables", err)
	}
	return nil
}

// make makes the PostgreSQL schema where it is missing. A role that may
// not create one can be given it ready-made.
func (n *Namespace) make(ctx context.Context, tx pgx.Tx) error {
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", n.Name).Scan(&there); err != nil {
		return sqlstate.Wrap("look for the namespace", err)
	}
	if there {
		return nil
	}
	if _, err := tx.Exec(ctx, "CREATE SCHEMA "+sqltext.Quote(n.Name)); err != nil {
		return sqlstate.Wrap("create the namespace; where the role may not, let its owner run CREATE SCHEMA "+sqltext.Quote(n.Name)+" AUTHORIZATION the role", err)
	}
	return nil
}
