package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bare is a machine with some programs and none else, and a package manager
// that fails a number of times and then installs what it is asked for.
func bare(t *testing.T, failures int, programs ...string) (m machine, calls *[]string) {
	t.Helper()
	root := t.TempDir()
	t.Setenv("PATH", filepath.Join(root, "bin"))
	put := func(path string) {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, nil, 0o700)); err != nil {
			t.Error(err)
		}
	}
	for _, path := range programs {
		put(path)
	}
	calls = new([]string)
	return machine{root: root, may: true, apt: func(_ context.Context, args ...string) error {
		*calls = append(*calls, args[0])
		if args[0] == "update" {
			return nil
		}
		if failures--; failures >= 0 {
			return errors.New("the mirror does not answer")
		}
		where := map[string]string{
			"postgresql": "usr/lib/postgresql/15/bin/postgres", "chromium": "bin/chromium", "pgbouncer": "usr/sbin/pgbouncer", "nginx": "usr/sbin/nginx", "caddy": "bin/caddy", "nodejs": "bin/node", "python3": "bin/python3",
		}
		for _, name := range args {
			if path, known := where[name]; known {
				*calls = append(*calls, name)
				put(path)
			}
		}
		return nil
	}}, calls
}

func TestOnlyWhatIsMissingIsInstalledInOneCall(t *testing.T) {
	for name, c := range map[string]struct {
		have     []string
		failures int
		want     []string
	}{
		"all is there":        {[]string{"usr/lib/postgresql/17/bin/postgres", "bin/google-chrome", "bin/pgbouncer", "bin/nginx", "bin/caddy", "bin/node", "bin/python3"}, 0, nil},
		"nothing is there":    {nil, 0, []string{"update", "install", "postgresql", "chromium", "pgbouncer", "nginx", "caddy", "nodejs", "python3"}},
		"one is missing":      {[]string{"bin/postgres", "bin/chromium", "usr/sbin/nginx", "bin/caddy", "bin/node", "bin/python3"}, 0, []string{"update", "install", "pgbouncer"}},
		"one is too old":      {[]string{"usr/lib/postgresql/14/bin/postgres", "bin/chromium", "bin/pgbouncer", "bin/nginx", "bin/caddy", "bin/node", "bin/python3"}, 0, []string{"update", "install", "postgresql"}},
		"the network falters": {[]string{"bin/postgres", "bin/chromium", "bin/nginx", "bin/caddy", "bin/node", "bin/python3"}, 1, []string{"update", "install", "update", "install", "pgbouncer"}},
	} {
		t.Run(name, func(t *testing.T) {
			m, calls := bare(t, c.failures, c.have...)
			if err := m.supply(t.Context()); err != nil || !slices.Equal(*calls, c.want) {
				t.Errorf("called %v, %v; want %v", *calls, err, c.want)
			}
		})
	}
}

func TestWhereItCannotInstallItSaysWhatTo(t *testing.T) {
	for name, c := range map[string]struct {
		may   bool
		calls int
	}{
		"not root, or no Debian":      {false, 0},
		"the mirror is gone for good": {true, 4},
	} {
		t.Run(name, func(t *testing.T) {
			m, calls := bare(t, 2, "bin/postgres", "bin/nginx", "bin/caddy", "bin/node", "bin/python3")
			m.may = c.may
			err := m.supply(t.Context())
			if err == nil || !strings.Contains(err.Error(), "no Chromium or Google Chrome, no PgBouncer") || !strings.Contains(err.Error(), "--no-install-recommends chromium pgbouncer)") {
				t.Errorf("got %v, want it to name both", err)
			}
			if len(*calls) != c.calls {
				t.Errorf("called %v", *calls)
			}
		})
	}
}
