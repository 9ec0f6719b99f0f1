package production

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/pgtest"
)

// rights has everything that a role needs a right for: a drawn id, a unique
// field, an index.
const rights = `
entities:
  - name: item
    fields:
      - {name: id, type: bigint}
      - {name: n, type: int, validations: [{type: unique}]}
    indexes: [[n]]
    events: [{name: changed}]
    subscriptions: [{name: all, rls: true}]
`

// granted makes a database of its own server, runs a block of SQL of the page
// in it as an administrator, and returns the URL of a role.
func granted(t *testing.T, contains string) (as func(role string) string) {
	t.Helper()
	server, err := pgtest.Start("fsync=off", "full_page_writes=off") // roles are the whole server's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	direct := server.Database(t)
	parsed, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, direct, replace(t, snippet(t, "sql", contains), "DATABASE shop", "DATABASE "+strings.TrimPrefix(parsed.Path, "/")))
	return func(role string) string {
		query := parsed.Query()
		query.Set("user", role)
		return "postgres://" + parsed.Path + "?" + query.Encode()
	}
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.WithoutCancel(t.Context())) }()
	if _, err := db.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
}

// works does what needs rights: draws ids and is given one, changes, removes,
// is told.
func works(t *testing.T, s *instance) {
	t.Helper()
	c := s.client()
	stream := follow(t, c, client.Subscription{})
	for _, row := range []map[string]any{{"n": 1}, {"id": 70, "n": 2}, {"n": 3}} {
		if _, err := c.Create(t.Context(), "item", row); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Patch(t.Context(), "item", "70", map[string]any{"n": 4}); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), "item", "70"); err != nil {
		t.Fatal(err)
	}
	stream.sees("1", "70", "71", "70", "70")
}

// One role that owns its namespace and nothing else makes its tables, and
// cannot look elsewhere.
func TestARoleThatOwnsItsNamespace(t *testing.T) {
	t.Parallel()
	as := granted(t, "AUTHORIZATION shop;")
	s := serve(t, boot("127.0.0.1:0", onPostgres(as("shop"), "")), rights)
	works(t, s)
	s.stop()
	err := prepare(t, boot("127.0.0.1:0", strings.Replace(onPostgres(as("shop"), ""), "shop_t1", "other", 1)), rights).start()
	if err == nil || !strings.Contains(err.Error(), "create the namespace") {
		t.Errorf("another namespace: %v", err)
	}
}

// A role that owns nothing serves what another one made, says what to do where
// the schema asks for more, and serves that after the other has been at it.
func TestARoleThatOwnsNothing(t *testing.T) {
	t.Parallel()
	as := granted(t, "AUTHORIZATION shop_owner;")
	owner := serve(t, boot("127.0.0.1:0", onPostgres(as("shop_owner"), "")), rights)
	owner.stop()
	s := serve(t, boot("127.0.0.1:0", onPostgres(as("shop"), "")), rights)
	works(t, s)

	for name, more := range map[string]string{
		"a column": strings.Replace(rights, "    indexes:", "      - {name: note, type: string}\n    indexes:", 1),
		"an index": strings.Replace(rights, "indexes: [[n]]", "indexes: [[n], [n, id]]", 1),
		"a table":  rights + "  - name: other\n    fields: [{name: id, type: string}]\n",
	} {
		changed := prepare(t, boot("127.0.0.1:0", onPostgres(as("shop"), "")), more)
		if err := changed.start(); err == nil || !strings.Contains(err.Error(), "start once with the url of one that may") {
			t.Errorf("%s more: %v", name, err)
		}
		owner := serve(t, boot("127.0.0.1:0", onPostgres(as("shop_owner"), "")), more)
		owner.stop()
		if err := changed.start(); err != nil {
			t.Errorf("after its owner has been at it: %v", err)
		}
		changed.stop()
	}
}
