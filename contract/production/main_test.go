// Package production runs rowcast as docs/guides/production.md tells an operator
// to: behind a pooler in transaction mode and behind reverse proxies, as a role
// that may do no more than it must, and through backup and restore. What the
// page shows is taken from the page and executed; the programs of others are
// real ones, started by the tests.
package production

import (
	"os"
	"testing"

	"github.com/rowcast/rowcast/internal/pgtest"
)

// TestMain stops the PostgreSQL that tests share.
func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
