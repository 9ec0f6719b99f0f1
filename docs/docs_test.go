// Package docs holds the documentation to what the code does: the keys, the
// commands and flags, the routes, the examples and the links. It has no code but
// its tests, which read the pages as text.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// page is one Markdown file of the checkout.
type page struct {
	path  string // from the top of the checkout
	lines []string
}

// read returns a page by its path from the top of the checkout.
func read(t *testing.T, path string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return page{path: path, lines: strings.Split(string(text), "\n")}
}

// pages returns every page that a reader is led to.
func pages(t *testing.T) []page {
	t.Helper()
	all := []page{read(t, "README.md"), read(t, "CONTRIBUTING.md")}
	for _, root := range []string{"docs", "examples"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(name string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(name, ".md") {
				path, relErr := filepath.Rel("..", name)
				all, err = append(all, read(t, path)), relErr
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// fence is one fenced block.
type fence struct {
	language, text string
	line           int // of its first line in the page, from 1
}

// split takes a page apart into its fenced blocks and, line by line, the rest;
// lines inside a block are empty there.
func (p page) split() (prose []string, fences []fence) {
	open := false
	for i, line := range p.lines {
		language, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && !open:
			fences = append(fences, fence{language: language, line: i + 2})
			open = true
		case isFence:
			open = false
		case open:
			fences[len(fences)-1].text += line + "\n"
		default:
			prose = append(prose, line)
			continue
		}
		prose = append(prose, "")
	}
	return prose, fences
}

var (
	heading = regexp.MustCompile(`^#{1,6} +(.+)$`)
	link    = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	code    = regexp.MustCompile("`[^`]*`")
	dropped = regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
)

// anchor is what GitHub makes of a heading.
func anchor(title string) string {
	title = link.ReplaceAllStringFunc(title, func(l string) string { return l[1:strings.Index(l, "]")] })
	return strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

func (p page) anchors() map[string]bool {
	found := map[string]bool{}
	prose, _ := p.split()
	for _, line := range prose {
		if m := heading.FindStringSubmatch(line); m != nil {
			found[anchor(m[1])] = true
		}
	}
	return found
}

// Every relative link leads to a file or folder, and its anchor to a heading.
func TestLinksLeadSomewhere(t *testing.T) {
	byPath := map[string]page{}
	for _, p := range pages(t) {
		byPath[p.path] = p
	}
	for _, p := range byPath {
		prose, _ := p.split()
		for i, line := range prose {
			for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, ""), -1) {
				if strings.Contains(m[1], ":") { // of the web
					continue
				}
				file, at, _ := strings.Cut(m[1], "#")
				target := p.path
				if file != "" {
					target = filepath.Join(filepath.Dir(p.path), file)
				}
				if _, err := os.Stat(filepath.Join("..", target)); err != nil {
					t.Errorf("%s:%d: %s: there is no %s", p.path, i+1, m[1], target)
					continue
				}
				if to, known := byPath[target]; at != "" && known && !to.anchors()[at] {
					t.Errorf("%s:%d: %s: %s has no heading for #%s", p.path, i+1, m[1], target, at)
				}
			}
		}
	}
}

// section is the prose below one heading, up to the next.
type section struct {
	title string
	lines []string
}

func (p page) sections() []section {
	var all []section
	prose, _ := p.split()
	for _, line := range prose {
		if m := heading.FindStringSubmatch(line); m != nil {
			all = append(all, section{title: m[1]})
		} else if len(all) > 0 {
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		}
	}
	return all
}

// table returns the rows of the section's first table whose head begins with
// head; each row is its cells.
func (s section) table(head string) [][]string {
	var rows [][]string
	inside := false
	for _, line := range s.lines {
		cells := strings.Split(strings.Trim(line, "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !inside && strings.HasPrefix(line, "| "+head+" |"):
			inside = true
		case inside && !strings.HasPrefix(line, "|"):
			return rows
		case inside && !strings.HasPrefix(line, "|--"):
			rows = append(rows, cells)
		}
	}
	return rows
}
