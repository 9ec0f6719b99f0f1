package postgres

import (
	"log/slog"
	"os"
	"testing"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestSuite(t *testing.T) {
	if err := pgtest.Warm(); err != nil { // it outlives each case
		t.Fatal(err)
	}
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		config := Config{URL: pgtest.Database(t), Namespace: "suite"}.withDefaults()
		return storetest.Harness{
			Writers:     config.MaxConns * 3 / 4,
			FailCommits: func(fail bool) { failCommits(t, config.URL, fail) },
			Open: func(t *testing.T, o storetest.Options) store.Store {
				config.Now, config.Committed, config.Look = o.Now, o.Committed, o.Look
				return open(t, config)
			},
		}
	})
}

// failCommits has the server find its disk full at each COMMIT of a transaction
// that appended to the log, after all of its statements have succeeded.
func failCommits(t *testing.T, url string, fail bool) {
	t.Helper()
	db := connect(t, url)
	if !fail {
		exec(t, db, `DROP FUNCTION suite.full() CASCADE`)
		return
	}
	exec(t, db, `CREATE FUNCTION suite.full() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$`)
	exec(t, db, `CREATE CONSTRAINT TRIGGER full_disk AFTER INSERT ON suite._rowcast_log
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION suite.full()`)
}

// open opens a store and closes it at the end.
func open(t testing.TB, config Config) *Store {
	t.Helper()
	config.Logger = slog.New(slog.DiscardHandler)
	s, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}
