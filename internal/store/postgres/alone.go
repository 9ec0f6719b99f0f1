package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowcast/rowcast/internal/store"
)

const (
	// askAgain is how often an instance that waits for another's migration asks.
	// It must not wait inside a statement: its snapshot would hold up an index
	// that the other makes, and the other holds what it waits for.
	askAgain = 100 * time.Millisecond
	// ddlWait is how long a change of a table may queue for its lock: who reads or
	// writes the table queues behind it.
	ddlWait = "10s"
)

// alone runs fn while no other instance runs one for this namespace. The lock is
// a transaction's, since a session may be a pooler's; fn uses other connections.
func (s *Store) alone(ctx context.Context, fn func(context.Context) error) error {
	conn, err := s.db.pool.Acquire(ctx)
	if err != nil {
		return fail("connect", err)
	}
	defer conn.Release()
	defer s.abandon(conn)
	said := false
	for {
		mine, err := s.tryAlone(ctx, conn)
		switch {
		case err != nil:
			return fail("wait for another instance's migration", err)
		case mine:
			return fn(ctx)
		case !said:
			s.config.Logger.Info("another instance is migrating the datastore, waiting for it", "namespace", s.config.Namespace)
			said = true
		}
		timer := time.NewTimer(askAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("wait for another instance's migration: %w", ctx.Err())
		case <-timer.C:
		}
	}
}

// tryAlone begins a transaction that holds the lock, or ends it: who waits in one
// would keep a connection of a pooler's that the other needs to finish.
func (s *Store) tryAlone(ctx context.Context, conn *pgxpool.Conn) (mine bool, err error) {
	if _, err := conn.Exec(ctx, "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
		return false, err
	}
	// In the simple protocol: a portal would keep its snapshot to the end of
	// the transaction, and an index made meanwhile would wait for it.
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))", pgx.QueryExecModeSimpleProtocol, "rowcast migrates "+s.ns).Scan(&mine)
	if err == nil && !mine {
		_, err = conn.Exec(ctx, "ROLLBACK")
	}
	return mine, err
}

// transaction runs fn in a transaction for DDL: all of it, or nothing.
func (s *Store) transaction(ctx context.Context, fn func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, s.db.pool, pgx.TxOptions{BeginQuery: "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '" + ddlWait + "'"}, fn)
	if codeOf(err) == codeLockTimeout || errors.Is(err, store.ErrTimeout) {
		return fmt.Errorf("a table is in use by a transaction that has been open for more than %s; end it and start again: %w", ddlWait, err)
	}
	return mayNot(err)
}

// mayNot says what to do where the tables belong to another role than the one that
// serves.
func mayNot(err error) error {
	if codeOf(err) == codePrivilege {
		return fmt.Errorf("this role may not make what is missing; start once with the url of one that may, such as the owner of the namespace: %w", err)
	}
	return err
}

// later makes and drops the indexes of tables that were there, without holding
// up who writes. One that an interruption left half made is made anew.
func (m *migration) later(ctx context.Context) error {
	for _, d := range m.deferred {
		name := m.store.ns + quote(d.name)
		if d.drop || d.invalid {
			if err := m.concurrently(ctx, "drop index "+d.name, "DROP INDEX CONCURRENTLY IF EXISTS "+name); err != nil {
				return err
			}
		}
		if d.drop {
			m.warn("table %s: dropped index %s, because the schema no longer calls that field unique", d.entity.Table, d.name)
			continue
		}
		err := m.concurrently(ctx, "create index "+d.name, createIndex(m.store.plan(d.entity).Table, d.index, true))
		if err != nil {
			// A half-made unique index would refuse rows.
			return errors.Join(m.duplicates(d, err), m.concurrently(context.WithoutCancel(ctx), "drop index "+d.name, "DROP INDEX CONCURRENTLY IF EXISTS "+name))
		}
		m.report.Created = append(m.report.Created, "index "+d.name)
	}
	return nil
}

// duplicates says what to do where rows with one value came meanwhile.
func (m *migration) duplicates(d deferred, err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != codeUnique {
		return err
	}
	return &store.RefusedError{Problems: []string{fmt.Sprintf("table %s, field %s is unique in the schema and has duplicates; find them with: SELECT %s, count(*) FROM %s GROUP BY 1 HAVING count(*) > 1;",
		d.entity.Table, d.entity.Fields[d.index.Fields[0]].Name, m.store.plan(d.entity).Keys(d.index), m.table(d.entity))}}
}

// concurrently runs what cannot run in a transaction, however long it takes.
func (m *migration) concurrently(ctx context.Context, what, sql string) error {
	conn, err := m.store.db.pool.Acquire(ctx)
	if err != nil {
		return fail("connect", err)
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, sql); err != nil {
		return mayNot(fail(what, err))
	}
	return nil
}
