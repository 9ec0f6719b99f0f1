package boot

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowcast/rowcast/internal/document"
)

const (
	minConns     = 4
	maxConns     = 1000
	defaultConns = 10
	maxNamespace = 55 // bytes: the channel of its wake-ups has eight more
)

// readPostgres reads {driver: postgres, url, listenurl, namespace, maxconns}.
func (l *loader) readPostgres(t *Tenant, node *document.Node, taken *databases) (Datastore, bool) {
	m := node.Map(&l.refusals, postgresShape)
	before := len(l.refusals)
	store := Datastore{Driver: "postgres", MaxConns: defaultConns, Pos: node.Pos}
	urlNode := m.Need("url", `name the database, such as "${DATABASE_URL}"`)
	where := l.databaseURL(urlNode, &store.URL)
	if listen := m.Get("listenurl"); listen != nil && listen.Raw() != "" {
		l.databaseURL(listen, &store.ListenURL)
	}
	nameNode := m.Need("namespace", "name a PostgreSQL schema for this datastore alone, such as shop_t1; it is made at first start")
	store.Namespace, _ = nameNode.Text(&l.refusals)
	if nameNode != nil && !usable(store.Namespace) {
		l.refusals.Add(nameNode.Refusal("not a namespace; write up to %d characters, not beginning with pg_", maxNamespace))
	}
	connsNode := m.Get("maxconns")
	if n, ok := connsNode.Int(&l.refusals, minConns, maxConns); ok {
		store.MaxConns = int(n)
	}
	if len(l.refusals) > before {
		return store, false
	}
	if problem := taken.claim(claim{where: where, tenant: t.Name, store: store, node: nameNode}); problem != "" {
		l.refusals.Add(nameNode.Refusal("%s", problem))
		return store, false
	}
	return store, true
}

func usable(namespace string) bool {
	return namespace != "" && len(namespace) <= maxNamespace && !strings.HasPrefix(namespace, "pg_") &&
		namespace != "information_schema" && !strings.ContainsRune(namespace, 0)
}

// databaseURL reads a URL and returns which database it leads to. No refusal
// repeats any of it: it holds a password.
func (l *loader) databaseURL(node *document.Node, url *string) (where string) {
	text, ok := node.Text(&l.refusals)
	if !ok {
		return ""
	}
	if *url = text; !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		l.refusals.Add(node.Refusal("not the URL of a PostgreSQL database; write postgres://USER:PASSWORD@HOST:PORT/DATABASE"))
		return ""
	}
	c, err := pgconn.ParseConfig(text)
	if err != nil {
		l.refusals.Add(node.Refusal("the URL of the database cannot be read; write postgres://USER:PASSWORD@HOST:PORT/DATABASE, and percent-encode what is special in the password"))
		return ""
	}
	return fmt.Sprintf("%s:%d/%s", strings.ToLower(c.Host), c.Port, c.Database)
}

// databases knows which datastore has which namespace.
type databases []claim

type claim struct {
	where  string // host, port and database
	tenant string
	store  Datastore
	node   *document.Node
}

// claim returns the refusal where another datastore has the namespace already,
// or shares the URL on other terms: one pool serves all of a URL.
func (d *databases) claim(c claim) string {
	for _, other := range *d {
		switch {
		case other.where == c.where && other.store.Namespace == c.store.Namespace:
			return "the namespace is that of the datastore in line " + lineOf(other.node) + " (tenant " + other.tenant + ") in the same database; give each datastore its own"
		case other.store.URL == c.store.URL && (other.store.MaxConns != c.store.MaxConns || other.store.ListenURL != c.store.ListenURL):
			return "the datastore in line " + lineOf(other.node) + " (tenant " + other.tenant + ") has the same url with another maxconns or listenurl; they share one pool, so write the same"
		}
	}
	*d = append(*d, c)
	return ""
}
