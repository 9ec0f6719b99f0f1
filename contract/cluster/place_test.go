package cluster

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// committing is the place between the log row of a change and its COMMIT: the
// change is of a row with this id.
func committing(id string) func(pgtest.Run) bool {
	return func(r pgtest.Run) bool {
		return r.SQL == "COMMIT" && slices.ContainsFunc(r.Earlier, func(e pgtest.Run) bool { return appends(e, id) })
	}
}

func appends(r pgtest.Run, id string) bool {
	return strings.HasPrefix(r.SQL, "INSERT INTO") && strings.Contains(r.SQL, "_rowcast_log") && mentions(r, id)
}

func mentions(r pgtest.Run, text string) bool {
	return slices.ContainsFunc(r.Args, func(arg []byte) bool { return bytes.Contains(arg, []byte(text)) })
}

// drawn waits until so many transactions have drawn numbers of the log and wait
// for their clients.
func drawn(t *testing.T, database string, want int) {
	t.Helper()
	ask := `SELECT count(DISTINCT a.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE a.datname = current_database() AND l.relation = 't1._rowcast_log'::regclass AND l.mode = 'RowExclusiveLock' AND a.wait_event = 'ClientRead'`
	eventually(t, database, ask, fmt.Sprint(want))
}

// transaction is a connection past rowcast.
type transaction struct {
	t *testing.T
	*pgx.Conn
}

// open connects and runs statements.
func open(t *testing.T, database string, statements ...string) *transaction {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	x := &transaction{t, conn}
	for _, sql := range statements {
		x.run(sql)
	}
	return x
}

func (x *transaction) run(sql string) {
	x.t.Helper()
	if _, err := x.Exec(x.t.Context(), sql); err != nil {
		x.t.Fatalf("%s: %v", sql, err)
	}
}

// eventually waits until a query answers what it should.
func eventually(t *testing.T, database, query, want string) {
	t.Helper()
	x := open(t, database)
	deadline := time.Now().Add(time.Minute)
	for {
		var got string
		if err := x.QueryRow(t.Context(), "SELECT ("+query+")::text").Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got == want {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %s, and never %s", query, got, want)
		}
		servertest.Pass(t.Context(), 10*time.Millisecond)
	}
	if err := x.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
