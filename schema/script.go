package schema

import (
	"fmt"
	"strings"

	"github.com/rowcast/rowcast/internal/document"
)

// Script is an expression in the schema, with its place.
type Script struct {
	Source string
	Pos    document.Pos // of the expression's first character
	node   *document.Node
}

// At returns the place of the character (not byte) at offset in Source, in
// whatever way YAML writes it: quotes, escapes, blocks and folding are followed.
func (s Script) At(offset int) document.Pos {
	if s.node != nil {
		return s.node.At(offset)
	}
	before := []rune(s.Source)
	before = before[:min(max(offset, 0), len(before))]
	pos := s.Pos
	pos.Line += strings.Count(string(before), "\n")
	if last := strings.LastIndex(string(before), "\n"); last >= 0 {
		pos.Col = 1
		before = []rune(string(before)[last+1:])
	}
	pos.Col += len(before)
	return pos
}

// Refusal makes a refusal at the character at offset in Source, with the line of
// the file as its snippet.
func (s Script) Refusal(offset int, format string, args ...any) document.Refusal {
	if s.node != nil {
		return s.node.RefusalAt(offset, format, args...)
	}
	return document.Refusal{Pos: s.At(offset), Message: fmt.Sprintf(format, args...)}
}
