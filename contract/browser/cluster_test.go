package browser

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/browsertest"
	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// Two instances share a database behind a load balancer. Under load the one that
// serves the stream is killed; then the database, and while it is away the
// instance that serves the stream by then. An EventSource opened before it all
// has every change once, in order: who asks for a stream while the database is
// away is answered 200 and told in the stream to come again.
func TestInstancesAndTheDatabaseDie(t *testing.T) {
	if servertest.OneWriter() {
		return // an instance has its SQLite file for itself
	}
	clean(t)
	database, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Stop(); err != nil {
			t.Error(err)
		}
	})
	url := database.Database(t)
	var both [2]*servertest.Server
	for i := range both {
		both[i] = servertest.StartProcess(t, servertest.Options{
			Schema: schema, Driver: "postgres", Database: url, Listen: servertest.FreeAddress(t),
		})
	}
	b := browsertest.Balance(t, both[0].URL, both[1].URL)
	f := signedIn(t, b, both[0]).Follow("/subscribe/item?name=all&heartbeat=1s")
	f.Await(browsertest.Opened, 1)
	both[0].User("ann").Post("/data/item", `{"id":"first"}`).Is(201)
	f.Until("first")
	w := write(t, both[0], both[1])

	w.more()
	dead := serving(t, b, both)
	dead.Kill()
	f.Await(browsertest.Opened, 2)
	dead.Start()
	w.more()

	if err := database.Kill(); err != nil {
		t.Fatal(err)
	}
	dead = serving(t, b, both)
	dead.Kill()
	b.AwaitStream("says that the database is away", func(p browsertest.Passage) bool {
		return strings.Contains(p.Text(), ": store unavailable, reconnect\n")
	})
	if err := database.Restart(); err != nil {
		t.Fatal(err)
	}
	dead.Start()
	w.more()
	w.stop()
	both[1].User("ann").Post("/data/item", `{"id":"last"}`).Is(201)
	same(t, f, both[1], "/subscribe/item?name=all", "last")
	w.judge(f)
}

// serving returns the server that answers the latest stream.
func serving(t *testing.T, b *browsertest.Balancer, servers [2]*servertest.Server) *servertest.Server {
	t.Helper()
	streams := b.Streams()
	latest := streams[len(streams)-1].Instance
	for _, s := range servers {
		if strings.HasSuffix(s.URL, latest) {
			return s
		}
	}
	t.Fatalf("no server is at %s", latest)
	return nil
}
