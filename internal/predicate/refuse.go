package predicate

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/schema"
)

// refuse notes what is wrong at an offset of the script, in code points.
func (r *ruleReader) refuse(offset int, format string, args ...any) {
	line, column, text := placeOf(r.script.Source, offset)
	pos := r.script.Pos
	pos.Line += line
	// The lines of a block scalar are indented alike, so that each begins in
	// the column where the first one does.
	pos.Col += column
	r.refusals = append(r.refusals, document.Refusal{
		Pos:     pos,
		Message: fmt.Sprintf(format, args...),
		Snippet: text + "\n" + strings.Repeat(" ", column) + "^",
	})
}

// placeOf returns the line and the column, from 0, of the offset, and the line's text.
func placeOf(source string, offset int) (line, column int, text string) {
	begin := 0
	for i, c := range source {
		if offset == 0 {
			break
		}
		offset--
		column++
		if c == '\n' {
			line, column, begin = line+1, 0, i+1
		}
	}
	text, _, _ = strings.Cut(source[begin:], "\n")
	return line, min(column, utf8.RuneCountInString(text)), strings.ReplaceAll(text, "\t", " ")
}

// nearest returns `; did you mean "x"?` for the field name that is closest to
// the one given, or the names there are.
func nearest(e *schema.Entity, name string) string {
	best, distance := "", len(name)/2+1
	names := make([]string, 0, len(e.Fields))
	for _, f := range e.Fields {
		names = append(names, f.Name)
		if d := editDistance(strings.ToLower(name), strings.ToLower(f.Name)); d < distance {
			best, distance = f.Name, d
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return "; its fields are " + strings.Join(names, ", ")
}

// editDistance counts the letters to insert, remove or replace.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
