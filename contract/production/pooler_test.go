package production

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/pgtest"
)

// pooled starts PgBouncer in transaction mode before a server, with so many
// connections for each database, and returns the way to a database through it.
func pooled(t *testing.T, server *pgtest.Server, size int) (through func(database, name string) string) {
	t.Helper()
	dir := pgtest.Folder(t)
	users := put(t, dir, "users.txt", `"postgres" ""`+"\n")
	config := put(t, dir, "pgbouncer.ini", replace(t, snippet(t, "ini", "[pgbouncer]"),
		"shop = host=10.0.0.21 port=5432 dbname=shop", "* = host="+filepath.Dir(server.Socket())+" port=5432",
		"listen_addr = 10.0.0.20", "listen_addr =\nunix_socket_dir = "+dir,
		"auth_type = scram-sha-256", "auth_type = trust", "/etc/pgbouncer/userlist.txt", users,
		"default_pool_size = 40", fmt.Sprint("default_pool_size = ", size)))
	bouncer := begin(t, dir, find(t, "pgbouncer", "pgbouncer"), config)
	if !bouncer.until(t, func() bool { return answers("unix", filepath.Join(dir, ".s.PGSQL.6432")) }) {
		t.Fatalf("pgbouncer ended:\n%s", bouncer.said())
	}
	return func(database, name string) string {
		query := url.Values{"host": {dir}, "port": {"6432"}, "user": {"postgres"}, "application_name": {name}}
		return "postgres:///" + database + "?" + query.Encode()
	}
}

// site is a database behind a pooler.
type site struct {
	server *pgtest.Server
	direct string                        // its URL
	way    func(sender string) string    // its URL through the pooler
	sent   func(sender, text string) int // statements that the server has logged
}

// newSite makes a database and starts a pooler with so many connections to it.
func newSite(t *testing.T, server *pgtest.Server, size int) site {
	t.Helper()
	direct, through := server.Database(t), pooled(t, server, size)
	parsed, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(parsed.Path, "/")
	return site{server: server, direct: direct, way: func(sender string) string { return through(name, sender) }, sent: func(sender, text string) (n int) {
		log, err := os.ReadFile(filepath.Join(filepath.Dir(server.Socket()), "server.log"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			if strings.HasPrefix(line, name+" "+sender) && strings.Contains(line, text) {
				n++
			}
		}
		return n
	}}
}

// serve starts an instance that reaches the database through the pooler.
func (s site) serve(t *testing.T, sender, listen string) *instance {
	t.Helper()
	return serve(t, boot("127.0.0.1:0", onPostgres(s.way(sender), listen)), items)
}

// Everything that is promised of a database holds of one behind PgBouncer in
// transaction mode.
func TestPooler(t *testing.T) {
	server, err := pgtest.Start("log_statement=all", "log_line_prefix=%d %a|", "fsync=off", "full_page_writes=off")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	for name, test := range map[string]struct {
		size int
		run  func(*testing.T, site)
	}{
		"instances that start together":   {2, startTogether},
		"a way past it to listen":         {5, listenPastIt},
		"no way past it":                  {5, onlyPoll},
		"more callers than connections":   {4, concurrently},
		"a transaction that commits late": {5, commitLate},
	} {
		t.Run(name, func(t *testing.T) { test.run(t, newSite(t, server, test.size)) })
	}
}

// Instances that start at once through a pooler migrate one after the other,
// though each that waits could pin one of its few connections.
func startTogether(t *testing.T, behind site) {
	var wg sync.WaitGroup
	for i := range 4 {
		s := prepare(t, boot("127.0.0.1:0", onPostgres(behind.way(fmt.Sprint("i", i)), behind.direct)), items)
		wg.Go(func() {
			if err := s.start(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// pollText is in the statement of the look that nobody asked for, once a second.
const pollText = "max(seq)"

// Behind a pooler, with a way past it to listen on, an instance is told of the
// writes of another: between a write and its frame it did not even look by itself.
func listenPastIt(t *testing.T, behind site) {
	one := behind.serve(t, "one", behind.direct)
	two := behind.serve(t, "two", behind.direct)
	for _, s := range []*instance{one, two} {
		if strings.Contains(s.said(), "listenurl") {
			t.Errorf("an instance that lacks nothing complains:\n%s", s.said())
		}
	}
	stream, c := follow(t, two.client(), client.Subscription{}), one.client()
	eventually(t, "a frame between two polls", func() bool {
		id := fmt.Sprint("r", behind.sent("", ""))
		before := behind.sent("two", pollText)
		create(t, c, id)
		stream.sees(id)
		return behind.sent("two", pollText) == before
	})
}

// Without listenurl an instance says at boot what it lacks, and tells of the
// writes of others all the same.
func onlyPoll(t *testing.T, behind site) {
	one := behind.serve(t, "one", "")
	two := behind.serve(t, "two", behind.way("two"))
	for _, s := range []*instance{one, two} {
		if said := s.said(); !strings.Contains(said, "level=WARN") || !strings.Contains(said, "listenurl") {
			t.Errorf("it does not say that it cannot listen:\n%s", said)
		}
	}
	stream, c := follow(t, two.client(), client.Subscription{}), one.client()
	for _, id := range []string{"a", "b", "c"} {
		create(t, c, id)
		stream.sees(id)
	}
	if n := behind.sent("", " LISTEN "); n > 0 {
		t.Errorf("%d LISTEN through a pooler that cannot pass on what is heard", n)
	}
}

// Many writers and readers share fewer connections than there are of them, and
// no statement is prepared where the next transaction would not find it.
func concurrently(t *testing.T, behind site) {
	both := []*instance{
		behind.serve(t, "one", behind.direct),
		behind.serve(t, "two", behind.direct),
	}
	streams := []*follower{follow(t, both[0].client(), client.Subscription{}), follow(t, both[1].client(), client.Subscription{})}
	const writers, rows = 12, 15
	var wg sync.WaitGroup
	for w := range writers {
		c := both[w%2].client()
		wg.Go(func() {
			for i := range rows {
				if err := turn(t.Context(), c, fmt.Sprintf("%d-%d", w, i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	var order [2][]string
	for i, stream := range streams {
		for range writers * rows * 2 {
			order[i] = append(order[i], stream.next().ID)
		}
		stream.quiet()
	}
	if a, b := strings.Join(order[0], " "), strings.Join(order[1], " "); a != b {
		t.Errorf("the instances tell in different orders:\n%s\n%s", a, b)
	}
	if all, unnamed := behind.sent("", "execute "), behind.sent("", "execute <unnamed>"); unnamed == 0 || all > unnamed {
		t.Errorf("%d of %d prepared statements have names", all-unnamed, all)
	}
}

// turn creates a row, reads it in each way, and changes it.
func turn(ctx context.Context, c *client.Client, id string) error {
	if _, err := c.Create(ctx, "item", map[string]any{"id": id, "n": 1}); err != nil {
		return err
	}
	if _, err := c.Get(ctx, "item", id); err != nil {
		return err
	}
	page, err := c.List(ctx, "item", url.Values{"filter": {`{"id":{"eq":"` + id + `"},"n":{"lt":5}}`}, "sort": {"-n"}})
	if err != nil {
		return err
	}
	if len(page.Items) != 1 {
		return fmt.Errorf("row %s is found %d times", id, len(page.Items))
	}
	_, err = c.Patch(ctx, "item", id, map[string]any{"n": 2})
	return err
}

// A transaction that has drawn a number through the pooler and commits late is
// waited for, by its true process and not the pooler's word for it.
func commitLate(t *testing.T, behind site) {
	s := behind.serve(t, "one", behind.direct)
	stream, c := follow(t, s.client(), client.Subscription{}), s.client()
	create(t, c, "first")
	stream.sees("first")

	late, err := pgx.Connect(t.Context(), behind.way("late")+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = late.Close(context.WithoutCancel(t.Context())) }()
	begun, err := late.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	for _, sql := range []string{
		`INSERT INTO shop_t1.item (id, n) VALUES ('late', 0)`,
		`INSERT INTO shop_t1._rowcast_log (event_id, entity, operation, fine, topic, subject, actor, time, sent, differs, origin, guard)
			SELECT '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', entity, operation, fine, topic, 'late', actor, time, sent, differs, origin, guard FROM shop_t1._rowcast_log LIMIT 1`,
	} {
		if _, err := begun.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := begun.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	create(t, c, "second")
	held := fmt.Sprintf("rowcast_log_held_pid{datastore=\"main\",tenant=\"main\"} %d\n", pid)
	eventually(t, held, func() bool { return strings.Contains(s.metrics(t), held) })
	stream.quiet()
	if err := begun.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	stream.sees("late", "second")
}

// A listenurl that leads elsewhere would be silent for ever: it is refused.
func TestAListenURLToAnotherDatabase(t *testing.T) {
	url, other := pgtest.Database(t), pgtest.Database(t)
	err := prepare(t, boot("127.0.0.1:0", onPostgres(url, other)), items).start()
	if err == nil || !strings.Contains(err.Error(), "listenurl leads to another database") {
		t.Errorf("it says %v", err)
	}
}
