package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shape is what the code says a mapping may hold.
type shape struct{ keys, refused []string }

// shapes reads every document.Shape of a package's source, by its What.
func shapes(t *testing.T, dir string) map[string]shape {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]shape{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok && isShape(literal) {
				what, s := readShape(literal)
				found[what] = found[what].or(s)
			}
			return true
		})
	}
	return found
}

// or joins the shapes of one mapping whose keys depend on another key: what one
// of them refuses and another takes is a key.
func (s shape) or(other shape) (joined shape) {
	joined.keys = append(slices.Clone(s.keys), other.keys...)
	for _, key := range append(slices.Clone(s.refused), other.refused...) {
		if !slices.Contains(joined.keys, key) {
			joined.refused = append(joined.refused, key)
		}
	}
	return joined
}

func isShape(literal *ast.CompositeLit) bool {
	of, ok := literal.Type.(*ast.SelectorExpr)
	return ok && of.Sel.Name == "Shape"
}

func readShape(literal *ast.CompositeLit) (what string, s shape) {
	for _, element := range literal.Elts {
		pair := element.(*ast.KeyValueExpr)
		switch pair.Key.(*ast.Ident).Name {
		case "What":
			what = text(pair.Value)
		case "Keys":
			for _, key := range pair.Value.(*ast.CompositeLit).Elts {
				s.keys = append(s.keys, text(key))
			}
		case "Refused":
			for _, refused := range pair.Value.(*ast.CompositeLit).Elts {
				s.refused = append(s.refused, text(refused.(*ast.KeyValueExpr).Key))
			}
		}
	}
	return what, s
}

// text is the value of a string literal.
func text(e ast.Expr) string {
	literal, ok := e.(*ast.BasicLit)
	if !ok {
		return ""
	}
	s, _ := strconv.Unquote(literal.Value)
	return s
}

// Every key that a document may hold has its row under the heading of its
// mapping, no row names a key there is not, and keys that are refused with a
// word of their own are named there too.
func TestReferencesNameEveryKey(t *testing.T) {
	for path, dir := range map[string]string{
		"docs/reference/schema.md": "schema",
		"docs/reference/boot.md":   "internal/boot",
	} {
		sections := map[string]section{}
		for _, s := range read(t, path).sections() {
			sections[strings.ToLower(s.title)] = s
		}
		inCode := shapes(t, dir)
		if len(inCode) < 10 {
			t.Fatalf("%s: %d mappings found in its source; are they written otherwise now?", dir, len(inCode))
		}
		for what, shape := range inCode {
			s, ok := sections[strings.ToLower(what)]
			if !ok {
				t.Errorf("%s has no heading %q", path, what)
				continue
			}
			var named []string
			for _, row := range s.table("key") {
				named = append(named, strings.Trim(row[0], "`"))
			}
			for _, key := range shape.keys {
				if !slices.Contains(named, key) {
					t.Errorf("%s, %q: no row for the key %q", path, what, key)
				}
			}
			for _, key := range named {
				if !slices.Contains(shape.keys, key) {
					t.Errorf("%s, %q: a row for %q, which is refused", path, what, key)
				}
			}
			for _, key := range shape.refused {
				if !strings.Contains(strings.Join(s.lines, "\n"), "`"+key+"`") {
					t.Errorf("%s, %q: does not say that %q is refused", path, what, key)
				}
			}
		}
	}
}
