package boot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rowcast/rowcast/internal/document"
)

// secretKeys are the keys whose values no refusal may show.
var secretKeys = []string{"secret", "key", "url", "listenurl", "headers"}

// Load reads the boot document at path and everything it names. env looks up
// the environment (os.LookupEnv). Where anything is refused, the Document is nil
// and the refusals are all there are, of all files, in the order of the files.
// No operation of a schema has a handler in Go: each must say what it sets.
func Load(path string, env func(string) (string, bool)) (*Document, document.Refusals) {
	return LoadWith(path, env, nil)
}

// LoadWith is Load for who embeds rowcast: handled reports whether a handler in Go
// does the work of an operation, which then need not say what it sets.
func LoadWith(path string, env func(string) (string, bool), handled func(entity, operation string) bool) (*Document, document.Refusals) {
	l := loader{
		dir: filepath.Dir(path), doc: Document{File: path}, handled: handled,
		unset: map[document.Pos]bool{}, schemas: map[string]compiled{},
	}
	src, err := os.ReadFile(path) //nolint:gosec // the operator says where the boot document is
	if err != nil {
		l.refusals.Refuse(document.Pos{File: path, Line: 1, Col: 1}, "the boot document cannot be read: %s; name one with --config, or make one with rowcast init", reason(err))
		return nil, l.refusals
	}
	root, refusals := document.Parse(path, src, secretKeys...)
	if len(refusals) > 0 {
		return nil, refusals
	}
	l.read(l.expanded(root, env))
	if l.refusals = l.settled(); len(l.refusals) > 0 {
		return nil, l.refusals
	}
	l.doc.Warnings.Sort()
	return &l.doc, nil
}

// loader gathers what one Load finds.
type loader struct {
	dir      string // of the boot document: what relative paths start from
	doc      Document
	refusals document.Refusals
	unset    map[document.Pos]bool // values the environment did not have
	schemas  map[string]compiled   // by path, so that tenants can share
	handled  func(entity, operation string) bool
}

// expanded replaces the references to the environment.
func (l *loader) expanded(root *document.Node, env func(string) (string, bool)) *document.Node {
	return root.Rewrite(func(n *document.Node) *document.Node {
		text, refusal := expand(n.Raw(), env)
		switch {
		case refusal != "":
			l.unset[n.Pos] = true
			l.refusals.Add(n.Refusal("%s", refusal))
			return n
		case text != n.Raw():
			return n.With(text)
		}
		return n
	})
}

// settled returns the refusals in order, without those that only follow from a
// value that the environment did not have.
func (l *loader) settled() document.Refusals {
	var kept document.Refusals
	said := map[document.Pos]bool{}
	for _, r := range l.refusals {
		if l.unset[r.Pos] && said[r.Pos] {
			continue
		}
		said[r.Pos] = true
		kept.Add(r)
	}
	kept.Sort()
	return kept
}

func (l *loader) read(root *document.Node) {
	m := root.Map(&l.refusals, rootShape)
	l.readListen(m)
	l.readTLS(m.Get("tls"))
	l.readLog(m.Get("log"))
	tenants := l.tenantNodes(m)
	l.readAuth(m.Need("auth", "say who may call: jwt, keys or anonymous"))
	l.readTenants(tenants)
	l.readEvents(m.Get("events"))
	l.readScheduler(m.Get("scheduler"))
	l.readRealtime(m.Get("realtime"))
	l.readLimits(m.Get("limits"))
	l.readCORS(m.Get("cors"))
	l.readAdmin(m.Get("admin"))
}

// resolve makes a path of the document one that the process can open.
func (l *loader) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(l.dir, path)
}

// reason is what the system says, without the path that the refusal names anyway.
func reason(err error) string {
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		return inner.Err.Error()
	}
	return err.Error()
}
