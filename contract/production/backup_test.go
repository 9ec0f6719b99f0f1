package production

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// backup makes a copy of what an instance serves, and puts it back.
type backup struct {
	take    func(*testing.T, *instance)
	restore func(*testing.T, *instance) // of a stopped one
}

// A backup is taken of a running server, as the page says. After it is put back
// whoever was told of more than it holds is told so; who was not goes on.
func TestBackupAndRestore(t *testing.T) {
	url := pgtest.Database(t)
	for name, test := range map[string]struct {
		datastore string
		backup
	}{
		"SQLite":     {"{driver: sqlite, path: ./data/t1.db}", backup{vacuumInto, putBack}},
		"PostgreSQL": {onPostgres(url, ""), dumpAndRestore(url)},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, boot(servertest.FreeAddress(t), test.datastore), items)
			c := s.client()
			stream := follow(t, c, client.Subscription{})
			create(t, c, "old")
			old := stream.next()
			create(t, c, "kept")
			stream.sees("kept")
			test.take(t, s)
			create(t, c, "lost")
			lost := stream.next()
			past, bookmark := follow(t, c, client.Subscription{LastEventID: lost.ID}), ""
			eventually(t, "a heartbeat past it", func() bool {
				bookmark = past.stream.Position()
				return strings.HasPrefix(bookmark, "~")
			})
			past.stop()
			stream.stop()

			s.stop()
			test.restore(t, s)
			if err := s.start(); err != nil {
				t.Fatal(err)
			}
			create(t, c, "new")
			after := follow(t, c, client.Subscription{LastEventID: lost.ID})
			after.gap("unknown")
			ofBookmark := follow(t, c, client.Subscription{LastEventID: bookmark})
			ofBookmark.gap("reset")
			follow(t, c, client.Subscription{LastEventID: old.ID}).sees("kept", "new")
			create(t, c, "newer")
			after.from("newer")
			ofBookmark.from("newer")
			if _, err := c.Get(t.Context(), "item", "lost"); err == nil {
				t.Error("a row is there that was written after the backup")
			}
		})
	}
}

// command returns the one line of a block of the page that begins so.
func command(t *testing.T, begins string) string {
	t.Helper()
	for line := range strings.Lines(snippet(t, "sh", begins)) {
		if strings.HasPrefix(line, begins) {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("no line begins with %q", begins)
	return ""
}

// vacuumInto runs the statement that the page gives to sqlite3, on a connection
// that may only read.
func vacuumInto(t *testing.T, s *instance) {
	t.Helper()
	sql := strings.Split(command(t, "sqlite3 -readonly data/t1.db "), `"`)[1]
	sql = replace(t, sql, "'t1-copy.db'", "'"+filepath.Join(s.dir, "t1-copy.db")+"'")
	db, err := sqlite3.OpenFlags(filepath.Join(s.dir, "data", "t1.db"), sqlite3.OPEN_READONLY)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Exec(sql); err != nil {
		t.Fatal(err)
	}
}

func putBack(t *testing.T, s *instance) {
	t.Helper()
	sh(t, s.dir, "", command(t, "rm -f data/t1.db"))
	sh(t, s.dir, "", command(t, "cp t1-copy.db data/t1.db"))
}

func dumpAndRestore(url string) backup {
	return backup{
		take:    func(t *testing.T, s *instance) { sh(t, s.dir, url, command(t, "pg_dump ")) },
		restore: func(t *testing.T, s *instance) { sh(t, s.dir, url, command(t, "pg_restore ")) },
	}
}

// sh runs a command line of the page.
func sh(t *testing.T, dir, url, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", line) // #nosec G204 -- it stands on the page
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DATABASE_URL="+url, "PATH="+postgresPrograms()+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// postgresPrograms returns the folder of the newest pg_dump, or "".
func postgresPrograms() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/[1-9][0-9]/bin/pg_dump")
	if len(found) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(found))
}
