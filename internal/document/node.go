package document

import (
	"fmt"
	"unicode/utf8"
)

// Kind says what a Node is.
type Kind uint8

// The kinds of Node.
const (
	Null Kind = iota
	Scalar
	Sequence
	Mapping
)

// style is how a scalar is written.
type style uint8

const (
	bare   style = iota // plain, and YAML reads a number, a boolean or the like
	plain               // plain text
	single              // 'text'
	double              // "text"
	block               // | or >
	given               // put in place of what the file says, by With
)

// Node is one value of a document, with its place. A nil Node stands for a key
// that is absent: its accessors return zero values and refuse nothing.
type Node struct {
	Pos     Pos // of the value; of its key where the value is empty
	kind    Kind
	style   style
	text    string
	hidden  bool   // holds a secret
	key     string // the key it stands under, for messages
	items   []*Node
	members []Member
	src     *source
}

// Member is one key of a mapping and its value.
type Member struct {
	Key   *Node
	Value *Node
}

// Kind returns what n is; Null for nil.
func (n *Node) Kind() Kind {
	if n == nil {
		return Null
	}
	return n.kind
}

// Raw returns the text of a scalar as YAML reads it, quotes and escapes undone,
// whatever type it seems to have; "" for what is no scalar.
func (n *Node) Raw() string {
	if n == nil {
		return ""
	}
	return n.text
}

// Quoted reports whether the scalar is text by the way it is written: in
// quotes or as a block.
func (n *Node) Quoted() bool {
	return n != nil && n.kind == Scalar && n.style >= single && n.style <= block
}

// With returns the scalar with another text in the same place: what a reference
// to the environment stands for. It is read as text, number or boolean, as
// whoever asks wants it. Its value counts as secret: no message repeats it.
func (n *Node) With(text string) *Node {
	out := *n
	out.text, out.style, out.hidden = text, given, true
	return &out
}

// Rewrite returns a copy of n in which every scalar value, not the keys, is what
// change makes of it. Scalars that change returns as they are stay shared.
func (n *Node) Rewrite(change func(*Node) *Node) *Node {
	switch n.Kind() {
	case Scalar:
		return change(n)
	case Sequence:
		out := *n
		out.items = make([]*Node, len(n.items))
		for i, item := range n.items {
			out.items[i] = item.Rewrite(change)
		}
		return &out
	case Mapping:
		out := *n
		out.members = make([]Member, len(n.members))
		for i, m := range n.members {
			out.members[i] = Member{Key: m.Key, Value: m.Value.Rewrite(change)}
		}
		return &out
	default:
		return n
	}
}

// Refusal makes a refusal at n, with its snippet.
func (n *Node) Refusal(format string, args ...any) Refusal {
	return n.refusalAt(n.Pos, fmt.Sprintf(format, args...))
}

// RefusalAt makes a refusal at the character at offset inside a scalar.
func (n *Node) RefusalAt(offset int, format string, args ...any) Refusal {
	return n.refusalAt(n.At(offset), fmt.Sprintf(format, args...))
}

// expected makes the refusal of a value that is not what its key wants.
func (n *Node) expected(format string, args ...any) Refusal {
	message := fmt.Sprintf(format, args...)
	if n.key != "" {
		message = n.key + ": " + message
	}
	return n.refusalAt(n.Pos, message)
}

func (n *Node) refusalAt(pos Pos, message string) Refusal {
	r := Refusal{Pos: pos, Message: message}
	if n.src != nil {
		r.Snippet = n.src.snippet(pos)
	}
	return r
}

// At returns the place of the character (not byte) at offset inside the text of
// a scalar, whatever way it is written; At(0) is the first character after an
// opening quote or block header. Where the file's text cannot be followed, it
// returns the last place that could be.
func (n *Node) At(offset int) Pos {
	pos, _ := n.place(offset)
	return pos
}

// place also reports whether the place is exact.
func (n *Node) place(offset int) (Pos, bool) {
	if n.kind != Scalar || n.style == given || n.src == nil {
		return n.Pos, offset == 0
	}
	c := cursor{src: n.src, line: n.Pos.Line, col: n.Pos.Col - 1, style: n.style}
	c.begin()
	text := n.text
	for ; offset > 0 && text != ""; offset-- {
		r, width := utf8.DecodeRuneInString(text)
		if !c.step(r) {
			return c.pos(), false
		}
		text = text[width:]
	}
	c.settle(text)
	return c.pos(), offset == 0
}
