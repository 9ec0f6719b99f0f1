package rowcast_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/rowcast/rowcast"

// room is one row of the import table in docs/ARCHITECTURE.md.
type room struct {
	name  string
	above []string // the rows before it
	may   []string
	any   bool // "*": whatever stands above
}

// allows reports whether the room's code may import the package name.
func (r room) allows(name string) bool {
	if r.any {
		return slices.Contains(r.above, name)
	}
	return slices.Contains(r.may, name)
}

// importTable reads the rows between the markers.
func importTable(t *testing.T) map[string]room {
	t.Helper()
	document, err := os.ReadFile(filepath.Join("docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := parseImportTable(string(document))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

var quoted = regexp.MustCompile("`([^`]+)`")

func parseImportTable(document string) (map[string]room, error) {
	_, after, begun := strings.Cut(document, "<!-- imports -->")
	text, _, ended := strings.Cut(after, "<!-- /imports -->")
	if !begun || !ended {
		return nil, fmt.Errorf("no table between <!-- imports --> and <!-- /imports -->")
	}
	rooms := map[string]room{}
	var above []string
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		name := quoted.FindStringSubmatch(cells[0])
		if len(cells) != 3 || name == nil {
			continue // the head of the table
		}
		r := room{name: name[1], above: slices.Clone(above), any: strings.TrimSpace(cells[1]) == "*"}
		for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
			if !slices.Contains(above, m[1]) {
				return nil, fmt.Errorf("%s may import %s, which does not stand above it", r.name, m[1])
			}
			r.may = append(r.may, m[1])
		}
		if _, twice := rooms[r.name]; twice {
			return nil, fmt.Errorf("%s stands in the table twice", r.name)
		}
		rooms[r.name] = r
		above = append(above, r.name)
	}
	return rooms, nil
}

// source is one Go file of the checkout.
type source struct {
	path, pkg string // slashes; pkg is the folder, "." at the root
	test      bool
}

// sources returns every Go file, test files too.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "out" || entry.Name() == "bin"):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ".go"):
			slashed := filepath.ToSlash(name)
			all = append(all, source{path: slashed, pkg: path.Dir(slashed), test: strings.HasSuffix(name, "_test.go")})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// imports returns the packages of this module that a file imports.
func imports(t *testing.T, s source) []string {
	t.Helper()
	var own []string
	for _, name := range allImports(t, s) {
		if name == modulePath {
			own = append(own, ".")
		} else if rest, ok := strings.CutPrefix(name, modulePath+"/"); ok {
			own = append(own, rest)
		}
	}
	return own
}

// allImports returns every package that a file imports.
func allImports(t *testing.T, s source) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), s.path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// TestImportsFollowTheTable: a package imports only what its row in
// docs/ARCHITECTURE.md names. Test files are free: they compare packages with
// each other, and the compiler keeps cycles out.
func TestImportsFollowTheTable(t *testing.T) {
	table := importTable(t)
	used := map[string]bool{}
	for _, s := range sources(t) {
		used[s.pkg] = true
		if s.test {
			continue
		}
		room, known := table[s.pkg]
		if !known {
			t.Errorf("%s: package %s has no row in docs/ARCHITECTURE.md: add one below what it imports", s.path, s.pkg)
			continue
		}
		for _, name := range imports(t, s) {
			if !room.allows(name) {
				t.Errorf("%s imports %s, which the row of %s in docs/ARCHITECTURE.md does not allow", s.path, name, s.pkg)
			}
		}
	}
	for name := range table {
		if !used[name] {
			t.Errorf("docs/ARCHITECTURE.md has a row for %s, which is no package", name)
		}
	}
}

// TestTheTableAllowsNoMoreThanIsUsed keeps the table true: a permission that
// nobody uses, not even a test, hides the next step in the wrong direction.
func TestTheTableAllowsNoMoreThanIsUsed(t *testing.T) {
	used := map[string][]string{}
	for _, s := range sources(t) {
		used[s.pkg] = append(used[s.pkg], imports(t, s)...)
	}
	for name, room := range importTable(t) {
		for _, permitted := range room.may {
			if !slices.Contains(used[name], permitted) {
				t.Errorf("docs/ARCHITECTURE.md lets %s import %s, which it does not: take it out of the row", name, permitted)
			}
		}
	}
}

// TestEveryDependencyHasItsLine: docs/DEPENDENCIES.md says of each module that
// is imported what it is for, and names none that is not.
func TestEveryDependencyHasItsLine(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("docs", "DEPENDENCIES.md"))
	if err != nil {
		t.Fatal(err)
	}
	unused := map[string]bool{}
	for line := range strings.Lines(string(document)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 {
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				unused[m[1]] = true
			}
		}
	}
	named := slices.Collect(maps.Keys(unused))
	for _, s := range sources(t) {
		for _, name := range allImports(t, s) {
			host, _, _ := strings.Cut(name, "/")
			if !strings.Contains(host, ".") || name == modulePath || strings.HasPrefix(name, modulePath+"/") {
				continue
			}
			module := slices.IndexFunc(named, func(m string) bool { return name == m || strings.HasPrefix(name, m+"/") })
			if module < 0 {
				t.Errorf("%s imports %s, which docs/DEPENDENCIES.md does not name", s.path, name)
				continue
			}
			delete(unused, named[module])
		}
	}
	for name := range unused {
		t.Errorf("docs/DEPENDENCIES.md names %s, which nothing imports", name)
	}
}

func TestATableThatPointsDownIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ rows, want string }{
		"an import from below": {"| `a` | `b` | x |\n| `b` | | x |\n", "does not stand above"},
		"a package twice":      {"| `a` | | x |\n| `a` | | x |\n", "twice"},
	} {
		if _, err := parseImportTable("<!-- imports -->\n" + test.rows + "<!-- /imports -->"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want it to say %q", name, err, test.want)
		}
	}
	if _, err := parseImportTable("# no table"); err == nil {
		t.Error("a document without a table was taken")
	}
}
