package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/store/sqltext"
)

func TestSecondProcessIsRefusedByName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	other, _ := child(t, path, "hold")
	_, err := Open(t.Context(), Config{Path: path, LockWait: 20 * time.Millisecond})
	if err == nil {
		t.Fatal("the file of another process was opened")
	}
	for _, want := range []string{path, fmt.Sprint("process ", other.Process.Pid)} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %q", err, want)
		}
	}
}

func TestWaitingProcessTakesOverFromADeadOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	other, _ := child(t, path, "hold")
	opened := make(chan error, 1)
	var s *Store
	go func() {
		var err error
		s, err = Open(t.Context(), Config{Path: path})
		opened <- err
	}()
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestSecondStoreOfThisProcessIsRefusedThroughALinkToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	open(t, Config{Path: path})
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(t.Context(), Config{Path: link, LockWait: time.Millisecond}); err == nil {
		t.Errorf("one file was opened twice (%v)", s.Close())
	}
}

func TestPathsThatAreNoFileAreRefusedWithTheWayOut(t *testing.T) {
	for _, path := range []string{"", ":memory:", "file::memory:?cache=shared", "file:x.db?mode=memory"} {
		_, err := Open(t.Context(), Config{Path: path})
		if err == nil || !strings.Contains(err.Error(), "a file is needed") {
			t.Errorf("%q: error = %v, want a refusal that asks for a file", path, err)
		}
	}
	if _, err := Open(t.Context(), Config{Path: t.TempDir()}); err == nil {
		t.Error("a folder was opened")
	}
}

func TestEveryFileIsTheOwnersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder with ? and % and #")
	path := filepath.Join(dir, "t ?.db")
	s := open(t, Config{Path: path})
	if _, err := s.Secret(t.Context(), "x"); err != nil { // makes the write-ahead log
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "*"))
	if err != nil || len(names) < 4 {
		t.Fatalf("files %q, %v, want the database, its lock, log and index", names, err)
	}
	for _, name := range append(names, dir) {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			t.Errorf("%s has mode %o", name, mode)
		}
	}
}

func TestOldSQLiteIsRefused(t *testing.T) {
	for version, ok := range map[string]bool{"3.51.2": false, "3.50.9": false, "2.99.99": false, "3.51.3": true, "3.52.0": true, "4.0.0": true, "odd": false} {
		if err := checkVersion(version); (err == nil) != ok {
			t.Errorf("%s: error = %v, want accepted %v", version, err, ok)
		}
	}
}

func TestSystemTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	open(t, Config{Path: path})
	c, err := openConn(t.Context(), path, "", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	steps, err := sqltext.Steps(systemFiles)
	if err != nil {
		t.Fatal(err)
	}
	newer := append(slices.Clone(steps), sqltext.Step{Name: "2", SQL: "CREATE TABLE _rowcast_more (x); INSERT INTO _rowcast_more VALUES (1)"})
	broken := append(slices.Clone(newer), sqltext.Step{Name: "3", SQL: "CREATE TABLE _rowcast_half (x); SELECT nonsense"})

	if err := upgradeSystem(c, broken); err == nil {
		t.Error("a broken step was applied")
	}
	if text, _ := c.queryText(`SELECT count(*) FROM sqlite_schema WHERE name LIKE '_rowcast_half' OR name LIKE '_rowcast_more'`); text != "0" {
		t.Error("a failed upgrade left something behind")
	}
	for range 2 { // the second finds nothing to do
		if err := upgradeSystem(c, newer); err != nil {
			t.Fatalf("upgrade: %v", err)
		}
	}
	if text, _ := c.queryText(`SELECT count(*) FROM _rowcast_more`); text != "1" {
		t.Errorf("the step ran %s times", text)
	}
	if err := upgradeSystem(c, steps); err == nil || !strings.Contains(err.Error(), "newer release") {
		t.Errorf("error = %v, want the newer tables refused", err)
	}
}

func TestFailedOpenLeavesNothing(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	path := filepath.Join(t.TempDir(), "t.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Path: path}); err == nil {
		t.Fatal("a text was opened as a database")
	}
	goleak.VerifyNone(t, ignore)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	open(t, Config{Path: path, LockWait: time.Millisecond}) // the lock is free
}
