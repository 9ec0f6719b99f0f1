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
			Writers: config.MaxConns * 3 / 4,
			Open: func(t *testing.T, o storetest.Options) store.Store {
				config.Now, config.Committed = o.Now, o.Committed
				return open(t, config)
			},
		}
	})
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
