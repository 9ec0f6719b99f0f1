// Package document reads YAML strictly: one reader over the syntax tree for
// schema files and the boot document alike, which knows the exact place of
// everything and collects every refusal instead of stopping at the first.
//
// Parse yields a tree of Nodes or refusals, never both. Typed access (Node.Text,
// Node.Map and so on) adds a refusal to a list and goes on with a zero value, so
// that one run names every fault of a file. What a reader of the file could
// take for something else is refused by name: anchors, aliases, merge keys,
// tags, directives, explicit keys, several documents, a key given twice. A
// quoted scalar is text and never a number; a number is no text.
//
// Hostile input costs little: size, number of tokens and depth are bounded
// before a tree is built.
//
// A parsed tree is immutable and safe for concurrent use; a Refusals and a Map
// belong to one goroutine. The package imports nothing of rowcast.
package document

import "fmt"

// Pos is a place in a file. Line and Col count from 1; Col counts characters.
type Pos struct {
	File string
	Line int
	Col  int
}

// String returns file:line:col.
func (p Pos) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }
