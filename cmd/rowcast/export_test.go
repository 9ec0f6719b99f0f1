package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportTakesWhatAListTakes(t *testing.T) {
	address, token := transferServer(t, "")
	if got := transfer(t, address, token, "import", "item", file(t, "items.ndjson", numbered(250))); got.status != 0 {
		t.Fatalf("import: %+v", got)
	}
	got := transfer(t, address, token, "export", "item", "--filter", "[n][gte]=100", "--filter", "[n][ne]=248", "--sort", "-n", "--fields", "n,code", "--limit", "2", "--format", "csv")
	if want := "n,code\n249,c249\n247,c247\n"; got.status != 0 || got.stdout != want {
		t.Errorf("got %+v, want %q", got, want)
	}
	if got := transfer(t, address, token, "export", "item", "--limit", "150"); strings.Count(got.stdout, "\n") != 150 {
		t.Errorf("of 150 rows: %d", strings.Count(got.stdout, "\n"))
	}
	if got := transfer(t, address, token, "export", "item", "--filter", "[n][lt]=0", "--format", "csv", "--fields", "n"); got.stdout != "n\n" {
		t.Errorf("of no rows: %+v", got)
	}
}

// A run that was interrupted leaves no FILE, and goes on where it stood.
func TestAKilledExportGoesOn(t *testing.T) {
	address, token := transferServer(t, "")
	if got := transfer(t, address, token, "import", "item", file(t, "items.ndjson", numbered(1000))); got.status != 0 {
		t.Fatalf("import: %+v", got)
	}
	for _, format := range []string{"ndjson", "csv"} {
		t.Run(format, func(t *testing.T) {
			g, through := newGate(t, address)
			path := filepath.Join(t.TempDir(), "items."+format)
			args := []string{"export", "item", path, "--url", through, "--token", token}
			g.killed(t, 4, args...)
			if _, err := os.Stat(path); err == nil {
				t.Error("the file is there before it is whole")
			}
			g.refuseAfter(5)
			if got := run(t, append(args, "--retry", "0s", "--resume")...); got.status != 1 || !strings.Contains(got.stderr, "--resume to go on") {
				t.Fatalf("interrupted: %+v", got)
			}
			g.refuseAfter(0)
			if got := run(t, append(args, "--resume", "--fields", "n")...); got.status != 1 || !strings.Contains(got.stderr, "is of another export") {
				t.Errorf("with other flags: %+v", got)
			}
			before := g.count.Load()
			if got := run(t, append(args, "--resume")...); got.status != 0 || !strings.Contains(got.stderr, "going on behind row ") {
				t.Fatalf("resumed: %+v", got)
			}
			if pages := g.count.Load() - before; pages > 6 {
				t.Errorf("it read %d pages, and not only what was left", pages)
			}
			if got, want := contents(t, path), transfer(t, address, token, "export", "item", "--format", format).stdout; got != want {
				t.Errorf("the file has %d bytes, want %d", len(got), len(want))
			}
		})
	}
}
