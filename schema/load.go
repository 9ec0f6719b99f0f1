package schema

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/document"
)

// Source is one schema file.
type Source struct {
	Name string // in refusals
	Data []byte
}

// Load reads a schema from files and folders; of a folder, every *.yaml and
// *.yml in name order, without its folders. It returns a Model or every refusal
// of all files, sorted.
func Load(paths ...string) (*Model, document.Refusals) {
	var files []Source
	var rs document.Refusals
	for _, path := range paths {
		names, err := expand(path)
		if err != nil {
			rs.Refuse(document.Pos{File: path, Line: 1, Col: 1}, "%s", unreadable(err))
			continue
		}
		for _, name := range names {
			data, err := os.ReadFile(name) //nolint:gosec // the operator says where the schema is
			if err != nil {
				rs.Refuse(document.Pos{File: name, Line: 1, Col: 1}, "%s", unreadable(err))
				continue
			}
			files = append(files, Source{Name: name, Data: data})
		}
	}
	model, more := Parse(files)
	if len(rs) == 0 {
		return model, more
	}
	if len(files) > 0 { // else "no entity" only repeats that nothing was read
		rs.Add(more...)
	}
	rs.Sort()
	return nil, rs
}

var errNoFiles = errors.New("no *.yaml file in this folder; add one, or name another folder")

func expand(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, err
	}
	entries, err := os.ReadDir(path) // in name order
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		ext := filepath.Ext(entry.Name())
		if !entry.IsDir() && (ext == ".yaml" || ext == ".yml") {
			names = append(names, filepath.Join(path, entry.Name()))
		}
	}
	if len(names) == 0 {
		return nil, errNoFiles
	}
	return names, nil
}

func unreadable(err error) string {
	switch {
	case errors.Is(err, errNoFiles):
		return err.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or folder; correct the path of the schema"
	case errors.Is(err, fs.ErrPermission):
		return "may not be read; give the user that runs rowcast the right to read it"
	default:
		return "cannot be read: " + err.Error() + "; correct the path of the schema"
	}
}

// Parse reads a schema from files already in memory. It returns a Model or
// every refusal of all files, sorted; never both.
func Parse(files []Source) (*Model, document.Refusals) {
	l := &loader{
		model:  &Model{byName: map[string]*Entity{}},
		enums:  map[string]*Enum{},
		traits: builtinTraits(),
		tables: map[string]*Entity{},
		failed: map[string]bool{},
	}
	var broken bool
	for _, file := range files {
		root, rs := document.Parse(file.Name, file.Data)
		l.refusals.Add(rs...)
		broken = broken || root == nil
		l.gather(root)
	}
	if len(l.entities) == 0 && len(l.refusals) == 0 {
		l.refusals.Refuse(document.Pos{File: firstName(files), Line: 1, Col: 1},
			"no entity is declared; add entities: with at least one")
	}
	l.build(broken)
	if len(l.refusals) > 0 {
		l.refusals.Sort()
		return nil, l.refusals
	}
	return l.model, nil
}

func firstName(files []Source) string {
	if len(files) == 0 {
		return "schema"
	}
	return files[0].Name
}

// loader carries a schema from its files to a Model.
type loader struct {
	refusals document.Refusals
	model    *Model
	enums    map[string]*Enum
	traits   map[string]*trait
	tables   map[string]*Entity // by datastore and folded table name
	// incomplete is set when a file could not be read as YAML: what it would
	// have declared is unknown, so names that resolve to nothing are not judged.
	incomplete bool
	// failed are the names of fields that were refused: what refers to them is
	// not accused as well.
	failed map[string]bool

	enumNodes, traitNodes, entities []*document.Node
}

func (l *loader) gather(root *document.Node) {
	m := root.Map(&l.refusals, fileShape)
	l.enumNodes = append(l.enumNodes, m.Get("enums").List(&l.refusals)...)
	l.traitNodes = append(l.traitNodes, m.Get("traits").List(&l.refusals)...)
	l.entities = append(l.entities, m.Get("entities").List(&l.refusals)...)
}

// build goes from what others refer to, to what refers to it.
func (l *loader) build(incomplete bool) {
	l.incomplete = incomplete
	for _, n := range l.enumNodes {
		l.enum(n)
	}
	for _, n := range l.traitNodes {
		l.trait(n)
	}
	drafts := make([]draft, 0, len(l.entities))
	for _, n := range l.entities {
		drafts = append(drafts, l.entity(n))
	}
	l.model.collectTopics()
	for _, d := range drafts {
		l.subscriptions(d)
	}
}

// unresolved refuses a name that nothing declares.
func (l *loader) unresolved(n *document.Node, what string, known []string) {
	if l.incomplete || l.failed[n.Raw()] {
		return
	}
	slices.Sort(known)
	l.refusals.Add(n.Refusal("no %s %q; %s", what, n.Raw(), document.WayOut(n.Raw(), known)))
}

func fold(name string) string { return strings.ToLower(name) }
