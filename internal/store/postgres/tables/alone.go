package tables

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
)

const (
	// askAgain is how often an instance that waits for another's migration asks.
	// It must not wait inside a statement: its snapshot would hold up an index
	// that the other makes, and the other holds what it waits for.
	askAgain = 100 * time.Millisecond
	// ddlWait is how long a change of a table may queue for its lock: who reads or
	// writes the table queues behind it.
	ddlWait = "10s"
	// patience is for the end of a transaction that has nothing to lose.
	patience = 2 * time.Second
)

// alone runs fn while no other instance runs one for this namespace. The lock is
// a transaction's, since a session may be a pooler's; fn uses other connections.
func (n *Namespace) alone(ctx context.Context, fn func(context.Context) error) error {
	conn, err := n.Pool.Acquire(ctx)
	if err != nil {
		return sqlstate.Wrap("connect", err)
	}
	defer func() { // a connection that does not answer is given up, which ends the transaction too
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_, _ = conn.Exec(ending, "ROLLBACK")
		conn.Release()
	}()
	said := false
	for {
		mine, err := n.tryAlone(ctx, conn)
		switch {
		case err != nil:
			return sqlstate.Wrap("wait for another instance's migration", err)
		case mine:
			return fn(ctx)
		case !said:
			n.Logger.Info("another instance is migrating the datastore, waiting for it", "namespace", n.Name)
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
func (n *Namespace) tryAlone(ctx context.Context, conn *pgxpool.Conn) (mine bool, err error) {
	if _, err := conn.Exec(ctx, "BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
		return false, err
	}
	// In the simple protocol: a portal would keep its snapshot to the end of
	// the transaction, and an index made meanwhile would wait for it.
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))", pgx.QueryExecModeSimpleProtocol, "rowcast migrates "+n.quoted()).Scan(&mine)
	if err == nil && !mine {
		_, err = conn.Exec(ctx, "ROLLBACK")
	}
	return mine, err
}

// transaction runs fn in a transaction for DDL: all of it, or nothing.
func (n *Namespace) transaction(ctx context.Context, fn func(pgx.Tx) error) error {
	err := pgx.BeginTxFunc(ctx, n.Pool, pgx.TxOptions{BeginQuery: "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '" + ddlWait + "'"}, fn)
	if sqlstate.Code(err) == sqlstate.LockTimeout || errors.Is(err, store.ErrTimeout) {
		return fmt.Errorf("a table is in use by a transaction that has been open for more than %s; end it and start again: %w", ddlWait, err)
	}
	return mayNot(err)
}

// mayNot says what to do where the tables belong to another role than the one that
// serves.
func mayNot(err error) error {
	if sqlstate.Code(err) == sqlstate.Privilege {
		return fmt.Errorf("this role may not make what is missing; start once with the url of one that may, such as the owner of the namespace: %w", err)
	}
	return err
}
