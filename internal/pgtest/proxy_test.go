package pgtest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

// through connects by way of a proxy.
func through(t *testing.T, p *Proxy) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = conn.Close(gone)
	})
	return conn
}

// behind returns a proxy, and a connection past it to a table with a number.
func behind(t *testing.T) (*Proxy, *pgx.Conn) {
	t.Helper()
	database := Database(t)
	direct, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = direct.Close(context.Background()) })
	if _, err := direct.Exec(t.Context(), "CREATE TABLE one AS SELECT 1 AS n"); err != nil {
		t.Fatal(err)
	}
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	return NewProxy(t, database), direct
}

func number(t *testing.T, conn *pgx.Conn) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT n FROM one").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestADelayedConnectionIsLate(t *testing.T) {
	p, _ := behind(t)
	conn := through(t, p)
	p.Delay(50 * time.Millisecond)
	began := time.Now()
	number(t, conn)
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("a round trip took %s, want twice the delay", took)
	}
	p.Delay(0)
	number(t, conn)
}

func TestAResetIsToldAndNewConnectionsPass(t *testing.T) {
	p, _ := behind(t)
	conn := through(t, p)
	p.Reset()
	if _, err := conn.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a connection that was reset answers")
	}
	number(t, through(t, p))
}

func TestAHalfOpenConnectionIsSilentAndNewOnesPass(t *testing.T) {
	p, direct := behind(t)
	conn := through(t, p)
	pid := conn.PgConn().PID()
	p.HalfOpen()
	waiting, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(waiting, "UPDATE one SET n = 2"); err == nil || waiting.Err() == nil {
		t.Errorf("got %v at once, want silence", err)
	}
	number(t, through(t, p))
	var there bool
	if err := direct.QueryRow(t.Context(), "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE pid = $1)", pid).Scan(&there); err != nil || !there {
		t.Errorf("the server knows that the client is gone (%v)", err)
	}
	if n := number(t, direct); n != 1 {
		t.Error("what was sent on a half-open connection arrived")
	}
}

// What was sent before the stop has run; what follows has not, and runs or
// never does as the test decides.
func TestAConnectionStopsAtAStatement(t *testing.T) {
	commit := func(r Run) bool {
		return r.SQL == "COMMIT" && len(r.Earlier) > 0 && strings.HasPrefix(r.Earlier[len(r.Earlier)-1].SQL, "UPDATE")
	}
	for name, test := range map[string]struct {
		end  func(*Stop)
		want int
	}{"and goes on": {(*Stop).Go, 2}, "and breaks": {(*Stop).Break, 1}} {
		t.Run(name, func(t *testing.T) {
			p, direct := behind(t)
			conn := through(t, p)
			stop := p.StopAt(commit)
			ended := make(chan error, 1)
			go func() {
				batch := &pgx.Batch{}
				for _, sql := range []string{"BEGIN", "UPDATE one SET n = 2", "COMMIT"} {
					batch.Queue(sql)
				}
				ended <- conn.SendBatch(t.Context(), batch).Close()
			}()
			select {
			case <-stop.Reached():
			case err := <-ended:
				t.Fatalf("it does not stop: %v", err)
			}
			if n := number(t, direct); n != 1 {
				t.Errorf("n is %d before the commit", n)
			}
			test.end(stop)
			if err := <-ended; (err == nil) != (test.want == 2) {
				t.Errorf("the client is told %v", err)
			}
			if n := number(t, direct); n != test.want {
				t.Errorf("n is %d, want %d", n, test.want)
			}
		})
	}
}
