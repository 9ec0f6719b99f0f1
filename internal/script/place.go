package script

import (
	"maps"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/schema"
)

// refusal is one at an offset of the script's text, counted in code points.
func refusal(s schema.Script, offset int, message string) document.Refusal {
	line, column, text := locate(s.Source, offset)
	pos := s.Pos
	pos.Line += line
	pos.Col += column
	return document.Refusal{
		Pos:     pos,
		Message: message,
		Snippet: text + "\n" + strings.Repeat(" ", column) + "^",
	}
}

// position returns the place of an offset. The script's own place is that of
// its first character; further lines of a block begin in the same column.
func position(s schema.Script, offset int) document.Pos {
	line, column, _ := locate(s.Source, offset)
	pos := s.Pos
	pos.Line += line
	pos.Col += column
	return pos
}

// locate returns the line and column of an offset, from 0, and the line's text.
func locate(source string, offset int) (line, column int, text string) {
	lines := strings.Split(source, "\n")
	for line, text = range lines {
		n := len([]rune(text))
		if offset <= n {
			return line, offset, text
		}
		offset -= n + 1
	}
	return line, len([]rune(text)), text
}

// didYouMean returns ", did you mean X?" where a name is near enough to be a slip.
func didYouMean(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// distance is Levenshtein's, by bytes.
func distance(a, b string) int {
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
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
