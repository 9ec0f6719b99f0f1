package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// Whoever holds a number for 10 s is ended, so a test that holds one must be
// done before that; where the machine is too busy it begins anew.
const (
	inTime = 8 * time.Second
	tries  = 10
)

func again(t *testing.T, scenario func(*testing.T) (done bool)) {
	t.Helper()
	for range tries {
		if scenario(t) {
			return
		}
		t.Log("too slow, again")
	}
	t.Fatalf("never done within %s", inTime)
}

// Transactions end in another order than they drew their numbers in: the first
// appends and holds, the second commits, the third has its transaction id from
// before and changes the second's row after it, the fourth is rolled back. Both
// instances tell nothing before the first has ended, and then the same: all that
// was committed, each row's changes in the order of their commits.
func TestPausedTransactionsAreToldInOneOrder(t *testing.T) {
	t.Parallel()
	again(t, func(t *testing.T) bool {
		database := pgtest.Database(t)
		proxies := []*pgtest.Proxy{pgtest.NewProxy(t, database), pgtest.NewProxy(t, database)}
		one, two := instance(t, proxies[0].URL()), instance(t, proxies[1].URL())
		streams := []*servertest.Stream{
			one.User("ann").Open("/subscribe/item?name=rows&heartbeat=1s"), two.User("ann").Open("/subscribe/item?name=rows&heartbeat=1s"),
		}
		for _, s := range streams {
			s.Ping() // its first: from here on it misses nothing
		}

		early := proxies[1].StopAt(func(r pgtest.Run) bool { return mentions(r, "second") })
		third := post(t, two, "/data/transaction", `{"writes":[{"op":"create","entity":"item","data":{"id":"third","n":0}},{"op":"update","entity":"item","id":"second","data":{"n":1}}]}`)
		await(t, "the third's second write", early.Reached())
		eventually(t, database, "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname = current_database()", "1")
		low := proxies[0].StopAt(committing("first"))
		first := post(t, one, "/data/item", `{"id":"first","n":0}`)
		await(t, "the first's commit", low.Reached())
		drawn(t, database, 1)
		held := time.Now()
		one.User("ann").Post("/data/item", `{"id":"second","n":0}`).Is(201)
		undone := proxies[1].StopAt(committing("fourth"))
		fourth := post(t, two, "/data/item", `{"id":"fourth","n":0}`)
		await(t, "the fourth's commit", undone.Reached())
		drawn(t, database, 2)
		early.Go()
		if a := await(t, "the third's answer", third); a.status != 200 {
			t.Errorf("the third is told %+v", a)
		}
		undone.Break()
		if a := await(t, "the fourth's answer", fourth); a.status != 503 {
			t.Errorf("the fourth, whose connection broke, is told %+v", a)
		}
		two.User("ann").Post("/data/item", `{"id":"fifth","n":0}`).Is(201)
		for _, s := range streams {
			silent(s)
		}
		if time.Since(held) > inTime {
			low.Break()
			return false
		}
		low.Go()
		if a := await(t, "the first's answer", first); a.status != 201 {
			t.Errorf("the first is told %+v", a)
		}
		var told [2][]string
		want := []string{"first", "second", "third", "second", "fifth"}
		for i, s := range streams {
			var subjects []string
			for range want {
				f := s.Frame()
				told[i], subjects = append(told[i], f.ID), append(subjects, f.Subject())
			}
			if !slices.Equal(subjects, want) {
				t.Errorf("instance %d tells %v, want %v", i, subjects, want)
			}
		}
		servertest.Same(t, told[:]...)
		return true
	})
}

// silent waits for a heartbeat that was not there yet; a frame fails the test.
func silent(s *servertest.Stream) {
	for asked := time.Now(); time.Since(asked) < 100*time.Millisecond; {
		s.Ping()
	}
}

// Transactions that have nothing to do with the log delay nobody, however long
// they are open: in another namespace, in a table of rowcast's own, in another
// database. Each write meets a number that is missing for good, so that the
// instances have to look who might still fill it.
func TestUnrelatedWritersDelayNobody(t *testing.T) {
	t.Parallel()
	database, elsewhere := pgtest.Database(t), pgtest.Database(t)
	both := []*servertest.Server{instance(t, database), instance(t, database)}
	var streams []*servertest.Stream
	for _, s := range both {
		streams = append(streams, s.User("ann").Open("/subscribe/item?name=all"))
	}
	unrelated := []*transaction{
		open(t, database, "CREATE SCHEMA other", "CREATE TABLE other.thing (n int)", "BEGIN", "INSERT INTO other.thing VALUES (1)"),
		open(t, database, "BEGIN", "INSERT INTO t1.item (id) VALUES ('by another''s hand')"),
		open(t, elsewhere, "CREATE TABLE thing (n int)", "BEGIN", "INSERT INTO thing VALUES (1)"),
	}
	gaps := open(t, database)
	slowest, until := time.Duration(0), time.Now().Add(length(t, 3*time.Second, time.Minute))
	n := 0
	for ; time.Now().Before(until); n++ {
		gaps.run("SELECT nextval(pg_get_serial_sequence('t1._rowcast_log', 'seq'))")
		both[n%2].User("ann").Post("/data/item", fmt.Sprintf(`{"id":"%d","n":0}`, n)).Is(201)
		written := time.Now()
		for _, s := range streams {
			if f := s.Frame(); f.Subject() != fmt.Sprint(n) {
				t.Fatalf("told of %s, want %d", f.Subject(), n)
			}
		}
		slowest = max(slowest, time.Since(written))
	}
	t.Logf("%d writes, the slowest told after %s", n, slowest)
	for _, u := range unrelated {
		u.run("COMMIT") // it was not ended for the sake of the log
	}
}

// An instance starts while a number below the last is not committed yet: it is
// not ready before that is decided, and tells of it to who resumes from below.
func TestAnInstanceThatStartsAboveAnOpenNumberTellsOfIt(t *testing.T) {
	t.Parallel()
	again(t, func(t *testing.T) bool {
		database := pgtest.Database(t)
		slow, fresh := pgtest.NewProxy(t, database), pgtest.NewProxy(t, database)
		one, two := instance(t, slow.URL()), instance(t, database)
		stream := two.User("ann").Open("/subscribe/item?name=all")
		two.User("ann").Post("/data/item", `{"id":"before","n":0}`).Is(201)
		before := stream.Frame().ID
		low := slow.StopAt(committing("low"))
		answered := post(t, one, "/data/item", `{"id":"low","n":0}`)
		await(t, "the lower number's commit", low.Reached())
		drawn(t, database, 1)

		// The new one stands still before its first snapshot until the higher number
		// is there, and looks twice who might still fill the lower.
		snapshot := fresh.StopAt(func(r pgtest.Run) bool { return strings.Contains(r.SQL, "REPEATABLE READ") })
		looks := []*pgtest.Stop{fresh.StopAt(readsLocks), fresh.StopAt(readsLocks)}
		began, decided := make(chan time.Time, 1), make(chan time.Time, 1)
		go func() {
			<-snapshot.Reached()
			began <- time.Now()
			if a := <-post(t, two, "/data/item", `{"id":"high","n":0}`); a.status != 201 {
				t.Errorf("the higher number is told %+v", a)
			}
			snapshot.Go()
			<-looks[0].Reached()
			looks[0].Go()
			<-looks[1].Reached()
			decided <- time.Now()
			low.Go()
			looks[1].Go()
		}()
		three := instance(t, fresh.URL())
		if took := (<-decided).Sub(<-began); took > inTime {
			return false
		}
		if a := await(t, "the lower number's answer", answered); a.status != 201 {
			t.Errorf("the lower number is told %+v", a)
		}
		f := servertest.Follow(t, servertest.Following{
			Subscription: client.Subscription{Entity: "item", Name: "rows", LastEventID: before}, User: "ann", Servers: []*servertest.Server{three},
		})
		f.Until("high")
		var told []string
		for _, want := range []string{"low", "high"} {
			frame := stream.Frame()
			if frame.Subject() != want {
				t.Errorf("told of %s, want %s", frame.Subject(), want)
			}
			told = append(told, frame.ID)
		}
		servertest.Same(t, told, f.IDs())
		return true
	})
}

func readsLocks(r pgtest.Run) bool { return strings.Contains(r.SQL, "pg_locks") }
