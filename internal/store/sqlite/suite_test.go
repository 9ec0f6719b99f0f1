package sqlite

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/storetest"
)

func TestSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		fault := newFaultVFS(t)
		path := filepath.Join(t.TempDir(), "data", "t.db")
		return storetest.Harness{
			FailCommits: fault.failSyncs,
			Open: func(t *testing.T, o storetest.Options) store.Store {
				return open(t, Config{Path: path, Now: o.Now, Committed: o.Committed, vfs: fault.name})
			},
		}
	})
}

// open opens a store and closes it at the end.
func open(t testing.TB, config Config) *Store {
	t.Helper()
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
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
