// Package document reads YAML strictly: one walker over the syntax tree for
// schema files and the boot document alike, which knows the exact place of
// everything and collects every refusal instead of stopping at the first.
//
// It imports nothing of rowcast.
package document

import "fmt"

// Pos is a place in a file. Line and Col count from 1.
type Pos struct {
	File string
	Line int
	Col  int
}

// String returns file:line:col.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }

// Refusal is one reason not to boot: where, what is wrong, and the way out.
type Refusal struct {
	Pos     Pos
	Message string // what is wrong, naming the key, then the way out
	Snippet string // the source line with a caret below, or ""
}

// Refusals is every reason found, in file order. A non-empty Refusals is an error.
type Refusals []Refusal
