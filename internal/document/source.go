package document

import (
	"strings"
	"unicode/utf8"
)

// source is a file's text, kept to show the lines of refusals and to place
// offsets inside a scalar.
type source struct {
	file  string
	lines []string
	// secret holds the lines whose values no refusal may show.
	secret map[int]bool
	// mute is set when secrets may stand anywhere, because no tree says where.
	mute bool
}

func newSource(file, text string) *source {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return &source{file: file, lines: lines, secret: map[int]bool{}}
}

func (s *source) pos(line, col int) Pos { return Pos{File: s.file, Line: line, Col: col} }

// line returns the n-th line, counting from 1, or "".
func (s *source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	return s.lines[n-1]
}

// snippetWidth bounds what of a long line is shown.
const snippetWidth = 120

// snippet returns the line of p with a caret below its column.
func (s *source) snippet(p Pos) string {
	if s.mute || s.secret[p.Line] || p.Line < 1 || p.Line > len(s.lines) {
		return ""
	}
	runes := []rune(s.line(p.Line))
	col := min(max(p.Col-1, 0), len(runes))
	start := 0
	if col > snippetWidth*2/3 {
		start = col - snippetWidth/3
	}
	end := min(len(runes), start+snippetWidth)
	pad := make([]rune, 0, col-start)
	for _, r := range runes[start:col] {
		if r != '\t' { // a tab below a tab keeps the caret in place
			r = ' '
		}
		pad = append(pad, r)
	}
	return strings.TrimRight(printable(runes[start:end]), " \t") + "\n" + string(pad) + "^"
}

// printable keeps a terminal safe from what stands in a file.
func printable(runes []rune) string {
	var b strings.Builder
	for _, r := range runes {
		if (r < 0x20 && r != '\t') || (r >= 0x7f && r < 0xa0) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
	}
	return b.String()
}
