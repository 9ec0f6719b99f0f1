package production

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/pgtest"
)

// ask returns one number of a database.
func ask(t *testing.T, db *pgx.Conn, sql string) (n int64) {
	t.Helper()
	if err := db.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// An instance has maxconns connections for all datastores of one url and one
// that listens, however many call; a change takes about as much of the log as the page says.
func TestConnectionsAndDisk(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	const conns = 4
	store := func(namespace string) string {
		return fmt.Sprintf(`{driver: postgres, url: "%s", namespace: %s, maxconns: %d}`, url, namespace, conns)
	}
	document := boot("127.0.0.1:0", store("one")) + "  second:\n    schema: ./schema\n    datastores:\n      main: " + store("two") + "\n"
	s := serve(t, document, items)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	var wg sync.WaitGroup
	c, done := s.client(), make(chan struct{})
	const writers, rows = 12, 40
	for w := range writers {
		wg.Go(func() {
			for i := range rows {
				if _, err := c.Create(t.Context(), "item", map[string]any{"id": fmt.Sprintf("01HZX5T1V2W3X4Y5Z6%d-%d", w, i), "n": i}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	go func() { wg.Wait(); close(done) }()
	most := int64(0)
	for working := true; working; {
		select {
		case <-done:
			working = false
		default:
			most = max(most, ask(t, db, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'rowcast' AND datname = current_database()"))
		}
	}
	if most > conns+1 || most < 2 {
		t.Errorf("%d connections, want up to %d", most, conns+1)
	}
	size := ask(t, db, "SELECT pg_total_relation_size('one._rowcast_log') / (SELECT count(*) FROM one._rowcast_log)")
	if t.Logf("%d bytes a change", size); size < 200 || size > 1000 {
		t.Errorf("a change takes %d bytes of the log; the page says about half a kilobyte", size)
	}
}

// While a release is rolled out instances of two schemas stand side by side: the
// old one goes on with what it knows.
func TestTwoSchemasSideBySide(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	old := serve(t, boot("127.0.0.1:0", onPostgres(url, "")), items)
	before := follow(t, old.client(), client.Subscription{})
	more := strings.Replace(items, "    events:", "      - {name: note, type: string}\n    events:", 1) +
		"  - name: other\n    fields: [{name: id, type: string}]\n    events: [{name: changed}]\n"
	c := serve(t, boot("127.0.0.1:0", onPostgres(url, "")), more).client()
	for _, write := range []struct {
		entity string
		row    map[string]any
	}{{"item", map[string]any{"id": "a", "note": "x"}}, {"other", map[string]any{"id": "b"}}, {"item", map[string]any{"id": "c"}}} {
		if _, err := c.Create(t.Context(), write.entity, write.row); err != nil {
			t.Fatal(err)
		}
	}
	before.sees("a", "c")
	after := follow(t, c, client.Subscription{})
	create(t, old.client(), "by the old one")
	after.from("by the old one")
}

// A url may name several hosts: the one that takes writes is found.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	several := strings.Replace(url, "host=", "target_session_attrs=read-write&host=%2Fnowhere%2C", 1)
	s := serve(t, boot("127.0.0.1:0", onPostgres(several, "")), items)
	stream := follow(t, s.client(), client.Subscription{})
	create(t, s.client(), "a")
	stream.sees("a")
	get(t, http.DefaultClient, s.url+"/readyz", "", http.StatusOK)
}
