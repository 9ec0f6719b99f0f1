package servertest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/rowcast/rowcast/internal/pgtest"
)

// driverVariable chooses the driver of all servers of a test process.
const driverVariable = "ROWCAST_DRIVER"

var drivers = []string{"sqlite", "postgres"}

// Main runs the tests of a package once on each driver, or on the one that the
// environment names in ROWCAST_DRIVER. The result is for os.Exit.
func Main(m *testing.M) int {
	chosen := drivers
	if one := os.Getenv(driverVariable); slices.Contains(drivers, one) {
		chosen = []string{one}
	}
	return pgtest.Around(func() int {
		for _, driver := range chosen {
			err := os.Setenv(driverVariable, driver)
			if driver == "postgres" {
				err = errors.Join(err, pgtest.Warm())
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			_, _ = fmt.Fprintln(os.Stdout, "driver:", driver)
			if code := m.Run(); code != 0 {
				return code
			}
		}
		return 0
	})
}

// place chooses the driver, and makes a database where one is needed.
func (s *Server) place() {
	s.t.Helper()
	if s.options.Driver == "" {
		s.options.Driver = os.Getenv(driverVariable)
	}
	if s.options.Driver == "postgres" && s.options.Database == "" {
		s.options.Database = pgtest.Database(s.t)
	}
}

// OneWriter reports whether all events of the tests' datastores are written one
// after the other, so that event ids ascend along every stream; else they
// ascend for each row.
func OneWriter() bool { return os.Getenv(driverVariable) != "postgres" }

// Database returns the URL of a server on PostgreSQL.
func (s *Server) Database() string { return s.options.Database }

// datastore returns the boot document's datastore of a tenant.
func (s *Server) datastore(name string) string {
	if s.options.Driver == "postgres" {
		return "{driver: postgres, url: \"" + s.options.Database + "\", namespace: \"" + name + "\"}"
	}
	return "{driver: sqlite, path: ./data/" + name + ".db}"
}
