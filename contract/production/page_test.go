package production

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is where the operator reads.
const page = "../../docs/guides/production.md"

// snippet returns the one block of a language on the page that contains a text.
func snippet(t *testing.T, language, contains string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for i, part := range strings.Split(string(text), "\n```") {
		if body, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 && strings.Contains(body, contains) {
			found = append(found, body+"\n")
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d blocks of %s with %q on %s, want one", len(found), language, contains, page)
	}
	return found[0]
}

// used finds what the tests here take from the page.
var used = regexp.MustCompile(`(?:snippet\(t, "\w+"|granted\(t|command\(t), "([^"]+)"|command\(t, "([^"]+)"|granted\(t, "([^"]+)"`)

// Every block of the page is taken by a test and run; those of yaml and text
// are read by the tests in docs.
func TestEveryBlockOfThePageIsRun(t *testing.T) {
	var texts []string
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(string(source), -1) {
			texts = append(texts, m[1]+m[2]+m[3])
		}
	}
	runs := func(block string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(block, text) })
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for i, part := range strings.Split(string(text), "\n```") {
		language, body, _ := strings.Cut(part, "\n")
		if i%2 == 0 || language == "yaml" || language == "text" {
			continue
		}
		blocks := []string{body}
		if language == "sh" {
			blocks = strings.Split(body, "\n")
		}
		for _, block := range blocks {
			if !runs(block) {
				t.Errorf("no test runs this %s of the page:\n%s", language, block)
			}
		}
	}
}
