package tables

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
	"github.com/rowcast/rowcast/internal/store/sqltext"
)

// later makes and drops the indexes of tables that were there, without holding
// up who writes. One that an interruption left half made is made anew.
func (m *migration) later(ctx context.Context) error {
	for _, d := range m.deferred {
		name := m.space.quoted() + sqltext.Quote(d.name)
		if d.drop || d.invalid {
			if err := m.concurrently(ctx, "drop index "+d.name, "DROP INDEX CONCURRENTLY IF EXISTS "+name); err != nil {
				return err
			}
		}
		if d.drop {
			m.Warn("table %s: dropped index %s, because the schema no longer calls that field unique", d.entity.Table, d.name)
			continue
		}
		err := m.concurrently(ctx, "create index "+d.name, createIndex(m.space.Table(d.entity), d.index, true))
		if err != nil {
			// A half-made unique index would refuse rows.
			return errors.Join(m.duplicates(d, err), m.concurrently(context.WithoutCancel(ctx), "drop index "+d.name, "DROP INDEX CONCURRENTLY IF EXISTS "+name))
		}
		m.Made("index " + d.name)
	}
	return nil
}

// duplicates says what to do where rows with one value came meanwhile.
func (m *migration) duplicates(d deferred, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != sqlstate.Unique {
		return err
	}
	refused := sqltext.Changes{}
	refused.Duplicates(m.space.Table(d.entity), d.index)
	return refused.Err()
}

// concurrently runs what cannot run in a transaction, however long it takes.
func (m *migration) concurrently(ctx context.Context, what, sql string) error {
	conn, err := m.space.Pool.Acquire(ctx)
	if err != nil {
		return sqlstate.Wrap("connect", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return mayNot(sqlstate.Wrap(what, err))
	}
	return nil
}
