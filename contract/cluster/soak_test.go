package cluster

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// Under load one of two instances is killed every few seconds, then the database
// twice, and stays away for a while. Whoever comes back with the last id it has
// seen was told every committed change once, all in one order, a browser too that
// was open before it all; what was acknowledged is there and what was refused is
// not; and nothing is left over.
func TestNothingIsLostWhileInstancesAndTheDatabaseDie(t *testing.T) {
	server, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	database := server.Database(t)
	both := []*servertest.Server{instance(t, database), instance(t, database)}
	idle := atRest(both)
	t.Run("under load", func(t *testing.T) {
		c := gather(t, both, browser)
		killInstances(t, both)
		for _, away := range []time.Duration{0, length(t, 3*time.Second, 10*time.Second)} {
			c.more(50, 2*time.Second)
			if err := server.Kill(); err != nil {
				t.Fatal(err)
			}
			servertest.Pass(t.Context(), away)
			if err := server.Restart(); err != nil {
				t.Fatal(err)
			}
		}
		c.more(100, 2*time.Second)
		c.judge()
	})
	nothingLeft(t, both, database, idle)
}

// killInstances kills one of the two every few seconds and starts it again.
func killInstances(t *testing.T, both []*servertest.Server) {
	t.Helper()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	kills := 0
	for until := time.Now().Add(span(t)); time.Now().Before(until); kills++ {
		victim := both[rng.IntN(2)]
		servertest.Pass(t.Context(), time.Duration(1000+rng.IntN(3000))*time.Millisecond)
		victim.Kill()
		servertest.Pass(t.Context(), time.Duration(rng.IntN(500))*time.Millisecond)
		victim.Start()
	}
	t.Logf("seed %d: %d kills", seed, kills)
}

// atRest returns how many goroutines each instance has when nobody is there.
func atRest(both []*servertest.Server) (idle []float64) {
	for _, s := range both {
		idle = append(idle, s.Metrics().Of("go_goroutines"))
	}
	return idle
}

// nothingLeft waits until both instances are as they were when they started:
// no subscriber, no goroutine, no transaction and no lock is left, and when they
// have ended, no connection.
func nothingLeft(t *testing.T, both []*servertest.Server, database string, idle []float64) {
	t.Helper()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	deadline := time.Now().Add(time.Minute)
	for i, s := range both {
		for {
			m := s.Metrics()
			left := fmt.Sprintf("%v subscribers, %v topics, lag %v, %v goroutines more", m.Of("rowcast_subscribers"), m.Of("rowcast_topics"),
				m.Of("rowcast_log_lag_seconds"), max(0, m.Of("go_goroutines")-idle[i]))
			if left == "0 subscribers, 0 topics, lag 0, 0 goroutines more" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("when everybody has left, instance %d has %s", i, left)
			}
			servertest.Pass(t.Context(), 50*time.Millisecond)
		}
	}
	of := " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
	eventually(t, database, "SELECT count(*)"+of+" AND state <> 'idle'", "0")
	eventually(t, database, "SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND pid IN (SELECT pid"+of+")", "0")
	eventually(t, database, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", "0")
	for _, s := range both {
		s.Stop()
	}
	eventually(t, database, "SELECT count(*)"+of, "0")
}
