// Package sqlstate tells what an error of PostgreSQL means for who waits for an
// answer: it came too late, nobody can be served now, another transaction was
// in the way, or it belongs to the statement.
//
// Its functions are pure. It may import store.
package sqlstate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowcast/rowcast/internal/store"
)

// Codes, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	Unique          = "23505"
	Serialization   = "40001"
	Deadlock        = "40P01"
	Canceled        = "57014" // statement_timeout
	LockTimeout     = "55P03"
	IdleTimeout     = "25P03"
	Privilege       = "42501"
	TooLarge        = "54000" // of an entry of an index, among others
	PlanChanged     = "0A000" // "cached plan must not change result type"
	UndefinedTable  = "42P01"
	UndefinedSchema = "3F000"
)

// unavailable are codes, and beginnings of codes, of a server that cannot serve
// anybody now, whatever the request.
var unavailable = []string{
	"08",    // connection exceptions
	"25006", // read only: a standby after a failover
	"53",    // out of connections, disk, memory
	"57P",   // shut down, crashed, starting
	"58",    // the system beneath failed
	"XX001", "XX002",
}

// Code returns the code of an error of the server, "" for any other.
func Code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// Wrap wraps an error of the database once, with what was attempted. What the
// server says of values is left out: its detail is never shown.
func Wrap(attempt string, err error) error {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		switch {
		case pg.Code == Canceled, pg.Code == LockTimeout, pg.Code == IdleTimeout:
			return fmt.Errorf("%w: %s", store.ErrTimeout, attempt)
		case slices.ContainsFunc(unavailable, func(prefix string) bool { return strings.HasPrefix(pg.Code, prefix) }):
			return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, attempt, err)
		}
		return fmt.Errorf("%s: %w", attempt, err)
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return fmt.Errorf("%w: %s: %w", store.ErrTimeout, attempt, err)
	case notConnected(err):
		return fmt.Errorf("%w: %s: %w", store.ErrUnavailable, attempt, err)
	}
	return fmt.Errorf("%s: %w", attempt, err)
}

// notConnected reports an error that came from no server: what is left when it
// is none of pgx's own complaints about arguments.
func notConnected(err error) bool {
	var connect *pgconn.ConnectError
	var network interface{ Timeout() bool } // net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || pgconn.SafeToRetry(err) || brokenPipe(err)
}

// Lost reports a transaction that lost against others and may be run again.
func Lost(err error) bool {
	switch Code(err) {
	case Serialization, Deadlock:
		return true
	case PlanChanged:
		return strings.Contains(err.Error(), "cached plan")
	}
	return false
}

// brokenPipe reports a connection that ended while it was used.
func brokenPipe(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "conn closed") // pgx has no value for it
}
