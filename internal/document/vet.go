package document

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml/token"
)

// The bounds of a file. A parser of YAML takes more than linear time and stack
// for some inputs; within these it answers at once.
const (
	maxSize   = 1 << 20
	maxTokens = 100_000
	maxDepth  = 64
	maxKeys   = 4_000 // of one mapping
)

// vetBytes refuses what is no text before anything looks at it as YAML.
func vetBytes(s *source, src []byte) (Refusal, bool) {
	if len(src) > maxSize {
		return Refusal{Pos: s.pos(1, 1), Message: fmt.Sprintf(
			"file of %d bytes; at most %d are read: split it", len(src), maxSize)}, false
	}
	line := 1
	for rest := src; len(rest) > 0; {
		r, width := utf8.DecodeRune(rest)
		col := func() int {
			start := bytes.LastIndexByte(src[:len(src)-len(rest)], '\n') + 1
			return utf8.RuneCount(src[start:len(src)-len(rest)]) + 1
		}
		switch {
		case r == utf8.RuneError && width == 1:
			return Refusal{Pos: s.pos(line, col()), Message: "not valid UTF-8; save the file as UTF-8"}, false
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			return Refusal{Pos: s.pos(line, col()), Message: fmt.Sprintf(
				"control character U+%04X; remove it, or write it as an escape in double quotes", r)}, false
		case r == '\n':
			line++
		}
		rest = rest[width:]
	}
	return Refusal{}, true
}

// vetter walks the tokens before a tree is built: what YAML allows and rowcast
// does not, and what would cost the parser too much.
type vetter struct {
	src       *source
	refusals  *Refusals
	brackets  []*token.Token // open ones
	blocks    []openBlock    // open ones, outermost first
	documents int
	content   bool // something stood before in this document
}

// vet reports whether the tokens may be parsed.
func (v *vetter) vet(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		v.refuse(tokens[0], "file of more than %d YAML tokens; split it", maxTokens)
		return false
	}
	for i, tk := range tokens {
		if why := forbidden(tk); why != "" {
			v.refuse(tk, "%s", why)
			continue
		}
		v.countDocument(tk)
		if why := v.enter(tokens, i); why != "" {
			v.refuse(tk, "%s", why)
			return false
		}
	}
	if n := len(v.brackets); n > 0 {
		v.refuse(v.brackets[n-1], "opening %s without a closing one; close it", v.brackets[n-1].Value)
	}
	return len(*v.refusals) == 0
}

// forbidden explains why a token of YAML is not read here, or "".
func forbidden(tk *token.Token) string {
	switch tk.Type {
	case token.AnchorType:
		return "anchors (&name) are not read; write the value out where it is used"
	case token.AliasType:
		return "aliases (*name) are not read; write the value out"
	case token.MergeKeyType:
		return "merge keys (<<) are not read; write the keys out"
	case token.TagType:
		return "tags (!name) are not read; put text in quotes, and write anything else plainly"
	case token.DirectiveType:
		return "directives (%NAME) are not read; remove the line"
	case token.MappingKeyType:
		return "explicit keys (?) are not read; write key: value"
	case token.InvalidType:
		return "cannot be read as YAML: " + tk.Error + "; correct the text here"
	default:
		return ""
	}
}

func (v *vetter) countDocument(tk *token.Token) {
	switch tk.Type {
	case token.CommentType:
	case token.DocumentHeaderType:
		if v.documents > 0 || v.content {
			v.refuse(tk, "a second document in one file; put it in a file of its own")
		}
		v.documents++
	case token.DocumentEndType:
		v.documents++
	default:
		v.content = true
	}
}

// openBlock is a block mapping or sequence that may go on.
type openBlock struct {
	column int
	keys   int
}

// enter follows brackets and blocks and explains what is wrong with token i, or
// returns "". A block nested in another begins further right; one sequence may
// stand at the column of its own key.
func (v *vetter) enter(tokens token.Tokens, i int) string {
	switch tk := tokens[i]; tk.Type {
	case token.SequenceStartType, token.MappingStartType:
		v.brackets = append(v.brackets, tk)
	case token.SequenceEndType, token.MappingEndType:
		if len(v.brackets) == 0 {
			return "closing " + tk.Value + " without an opening one; remove it"
		}
		v.brackets = v.brackets[:len(v.brackets)-1]
	case token.CollectEntryType:
		if i > 0 && opens(tokens[i-1]) {
			return "a comma without a value before it; remove it"
		}
	case token.SequenceEntryType:
		v.open(tk.Position.Column)
	case token.MappingValueType:
		if i == 0 || len(v.brackets) > 0 {
			break
		}
		block := v.open(tokens[i-1].Position.Column)
		if block.keys++; block.keys > maxKeys {
			return fmt.Sprintf("more than %d keys in one mapping; split it", maxKeys)
		}
	default: // neither opens nor closes
	}
	if len(v.brackets)+len(v.blocks) > maxDepth {
		return fmt.Sprintf("nested deeper than %d levels; flatten it", maxDepth)
	}
	return ""
}

// opens reports whether a value is due after the token.
func opens(tk *token.Token) bool {
	return tk.Type == token.CollectEntryType || tk.Type == token.SequenceStartType || tk.Type == token.MappingStartType
}

// open returns the block at the column, and closes those further right.
func (v *vetter) open(column int) *openBlock {
	for len(v.blocks) > 0 && v.blocks[len(v.blocks)-1].column > column {
		v.blocks = v.blocks[:len(v.blocks)-1]
	}
	if n := len(v.blocks); n == 0 || v.blocks[n-1].column < column {
		v.blocks = append(v.blocks, openBlock{column: column})
	}
	return &v.blocks[len(v.blocks)-1]
}

func (v *vetter) refuse(tk *token.Token, format string, args ...any) {
	pos := tokenPos(v.src, tk)
	v.refusals.Add(Refusal{Pos: pos, Message: fmt.Sprintf(format, args...), Snippet: v.src.snippet(pos)})
}

func tokenPos(s *source, tk *token.Token) Pos {
	if tk == nil || tk.Position == nil {
		return s.pos(1, 1)
	}
	return s.pos(max(tk.Position.Line, 1), max(tk.Position.Column, 1))
}
