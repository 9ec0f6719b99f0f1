package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowcast/rowcast/internal/store"
)

// SQLSTATE codes, https://www.postgresql.org/docs/current/errcodes-appendix.html.
const (
	codeUnique          = "23505"
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codeCanceled        = "57014" // statement_timeout
	codeLockTimeout     = "55P03"
	codeIdleTimeout     = "25P03"
	codePrivilege       = "42501"
	codeTooLarge        = "54000" // of an entry of an index, among others
	codePlanChanged     = "0A000" // "cached plan must not change result type"
	codeUndefinedTable  = "42P01"
	codeUndefinedSchema = "3F000"
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

func codeOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// fail wraps an error of the database once, with what was attempted. What the
// server says of values is left out: its detail is never shown.
func fail(attempt string, err error) error {
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg):
		switch {
		case pg.Code == codeCanceled, pg.Code == codeLockTimeout, pg.Code == codeIdleTimeout:
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

// lostAgainst reports a transaction that lost against others and may be run again.
func lostAgainst(err error) bool {
	switch codeOf(err) {
	case codeSerialization, codeDeadlock:
		return true
	case codePlanChanged:
		return strings.Contains(err.Error(), "cached plan")
	}
	return false
}
