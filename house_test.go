package rowcast_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

// maxLines is where a file is split by noun.
const maxLines = 500

// unfinished is what no commit carries.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b|panic\("not ` + `written"\)`)

// TestTheHouseRules holds what a linter of others does not know; see
// CONTRIBUTING.md.
func TestTheHouseRules(t *testing.T) {
	documented := map[string]bool{}
	hasCode := map[string]bool{}
	for _, s := range sources(t) {
		text, err := os.ReadFile(s.path)
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); lines > maxLines {
			t.Errorf("%s has %d lines; above %d a file is split by noun", s.path, lines, maxLines)
		}
		if found := unfinished.FindString(string(text)); found != "" {
			t.Errorf("%s carries %q: do it, or file it", s.path, found)
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, s.path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if !s.test {
			hasCode[s.pkg] = true
		}
		if file.Doc != nil {
			documented[s.pkg] = true
		}
		checkFile(t, files, s, file)
	}
	for pkg := range hasCode {
		if !documented[pkg] {
			t.Errorf("package %s has no comment that says what it guarantees", pkg)
		}
	}
}

// checkFile looks for init functions, and in tests for sleeping and skipping.
func checkFile(t *testing.T, files *token.FileSet, s source, file *ast.File) {
	t.Helper()
	for _, declaration := range file.Decls {
		if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			t.Errorf("%s: an init function runs before anybody asked: construct it where it is used", files.Position(f.Pos()))
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch name := callee(call); {
		case name == "synctest.Test":
			return false // its clock is the test's own: sleeping there takes no time
		case name == "time.Sleep":
			t.Errorf("%s: time.Sleep: wait on a signal, or use testing/synctest", files.Position(call.Pos()))
		case s.test && strings.HasPrefix(name, "t.Skip"):
			t.Errorf("%s: a test that is skipped proves nothing", files.Position(call.Pos()))
		}
		return true
	})
}

// callee returns "package.Function" or "receiver.Method" of a call, "" for others.
func callee(call *ast.CallExpr) string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	receiver, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return receiver.Name + "." + selector.Sel.Name
}
