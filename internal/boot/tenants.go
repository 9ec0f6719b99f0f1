package boot

import (
	"os"
	"regexp"

	"github.com/rowcast/rowcast/internal/document"
)

var (
	tenantName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(:[A-Za-z0-9][A-Za-z0-9._-]*)*$`)
	datastoreName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
)

// maxName bounds the names of tenants and datastores: they stand in every frame and metric.
const maxName = 128

// tenantNodes reads the names of the tenants, which auth needs to know.
func (l *loader) tenantNodes(m document.Map) []document.Member {
	node := m.Need("tenants", `write tenants: {"NAME": {schema: ./schema, datastores: {main: {driver: sqlite, path: ./data/main.db}}}}`)
	members := node.Members(&l.refusals)
	if node.Kind() == document.Mapping && len(members) == 0 {
		l.refusals.Add(node.Refusal("no tenant is declared; add one"))
	}
	for _, member := range members {
		name := member.Key.Raw()
		if !tenantName.MatchString(name) || len(name) > maxName {
			l.refusals.Add(member.Key.Refusal("not a tenant's name; write letters, digits, dots, dashes and underscores in parts joined by colons, such as acme:prod:shop:t1"))
		}
		l.doc.Tenants = append(l.doc.Tenants, Tenant{Name: name, Datastores: map[string]Datastore{}})
	}
	return members
}

func (l *loader) readTenants(members []document.Member) {
	places := places{}
	for i, member := range members {
		t := &l.doc.Tenants[i]
		m := member.Value.Map(&l.refusals, document.Shape{What: "a tenant", Keys: []string{"schema", "datastores"}})
		stores := m.Need("datastores", "write datastores: {main: {driver: sqlite, path: ./data/main.db}}")
		for _, store := range stores.Members(&l.refusals) {
			l.readDatastore(t, store, &places)
		}
		if stores.Kind() == document.Mapping && len(t.Datastores) == 0 && len(stores.Members(&l.refusals)) == 0 {
			l.refusals.Add(stores.Refusal("no datastore is declared; add main: {driver: sqlite, path: ./data/main.db}"))
		}
		if path := m.Need("schema", "name a schema file or a folder of them"); path != nil {
			l.readSchema(t, path)
		}
	}
}

func (l *loader) readDatastore(t *Tenant, member document.Member, taken *places) {
	name := member.Key.Raw()
	if !datastoreName.MatchString(name) || len(name) > maxName {
		l.refusals.Add(member.Key.Refusal("not a datastore's name; write lower-case letters, digits and underscores, such as main"))
	}
	// Even one that is refused is declared: entities that name it are not to blame.
	t.Datastores[name] = Datastore{Name: name}
	var store Datastore
	var ok bool
	if driverOf(member.Value) == "postgres" {
		store, ok = l.readPostgres(t, member.Value, &taken.databases)
	} else {
		store, ok = l.readSQLite(t, member.Value, &taken.files)
	}
	if ok {
		store.Name = name
		t.Datastores[name] = store
	}
}

// places knows what the datastores read so far have for themselves.
type places struct {
	files     openFiles
	databases databases
}

// driverOf looks ahead at the driver, which decides what the other keys are.
func driverOf(node *document.Node) string {
	var ignored document.Refusals
	return node.Map(&ignored, anyDatastoreShape).Get("driver").Raw()
}

func (l *loader) readSQLite(t *Tenant, node *document.Node, files *openFiles) (Datastore, bool) {
	m := node.Map(&l.refusals, sqliteShape)
	driver, known := m.Need("driver", "write driver: sqlite").OneOf(&l.refusals, "sqlite", "postgres")
	pathNode := m.Need("path", "name the database file; it is made at first start")
	path, given := pathNode.Text(&l.refusals)
	if !known || !given {
		return Datastore{}, false
	}
	resolved, problem := l.databaseFile(path)
	if problem == "" {
		problem = files.claim(resolved, t.Name, pathNode)
	}
	if problem != "" {
		l.refusals.Add(pathNode.Refusal("%s", problem))
		return Datastore{}, false
	}
	return Datastore{Driver: driver, Path: resolved, Pos: pathNode.Pos}, true
}

func (l *loader) databaseFile(path string) (resolved, problem string) {
	if path == "" || path == ":memory:" {
		return "", "the path names no file; a change log that nothing keeps could resume no stream: name a file"
	}
	resolved, err := place(l.resolve(path))
	if err != nil {
		return "", "the path cannot be followed: " + reason(err)
	}
	if info, err := os.Stat(resolved); err == nil && !info.Mode().IsRegular() {
		return "", "the path is a folder or something else that is no file; name a file in it"
	}
	return resolved, ""
}

// openFiles knows which datastore has which file.
type openFiles []struct {
	path, tenant string
	node         *document.Node
}

// claim returns the refusal where another datastore has the file already.
func (f *openFiles) claim(path, tenant string, node *document.Node) string {
	for _, other := range *f {
		if sameFile(other.path, path) {
			return "the file is that of the datastore in line " + lineOf(other.node) + " (tenant " + other.tenant + "), be it spelt otherwise; give each datastore its own"
		}
	}
	*f = append(*f, struct {
		path, tenant string
		node         *document.Node
	}{path, tenant, node})
	return ""
}
