package document

import "strings"

// cursor follows the text of a scalar through the file: a character of the text
// is one or more of the file's where quotes, escapes and folding stand between.
type cursor struct {
	src   *source
	line  int // from 1
	col   int // characters before it in the line
	style style
	runes []rune // of the line
}

func (c *cursor) begin() {
	c.load()
	switch c.style {
	case single, double:
		c.col++
	case block:
		c.nextLine()
	default: // begins where the node does
	}
}

func (c *cursor) load() { c.runes = []rune(c.src.line(c.line)) }

func (c *cursor) pos() Pos { return c.src.pos(c.line, c.col+1) }

func (c *cursor) atEnd() bool { return c.col >= len(c.runes) }

// nextLine goes to the first character of the next line that is no indentation.
func (c *cursor) nextLine() {
	c.line++
	c.load()
	c.col = len(c.runes) - len([]rune(strings.TrimLeft(string(c.runes), " ")))
}

// settle goes on to where the rest of the text is written, so that a character
// at the start of a line is not placed at the end of the one before.
func (c *cursor) settle(rest string) {
	if rest != "" && rest[0] != ' ' && rest[0] != '\n' && c.foldsHere() {
		c.nextLine()
	}
}

func (c *cursor) foldsHere() bool { return c.atEnd() && c.line < len(c.src.lines) }

// step goes past what the file has for the character r of the text.
func (c *cursor) step(r rune) bool {
	if r == ' ' || r == '\n' {
		return c.space(r)
	}
	if c.foldsHere() {
		c.nextLine()
	}
	return c.visible(r)
}

// space passes a blank of the text: itself, a line break that was folded, or
// part of the indentation that nextLine went past.
func (c *cursor) space(r rune) bool {
	switch {
	case !c.atEnd() && c.runes[c.col] == r:
		c.col++
	case c.foldsHere():
		c.nextLine()
	case !c.atEnd() && c.style == double && c.runes[c.col] == '\\':
		c.col += 2
	}
	return true
}

func (c *cursor) visible(r rune) bool {
	if c.atEnd() {
		return false
	}
	switch at := c.runes[c.col]; {
	case c.style == double && at == '\\':
		c.col += escapeLength(c.runes[c.col:])
	case c.style == single && at == '\'':
		c.col += 2
	case at == r:
		c.col++
	default:
		return false
	}
	return true
}

// escapeLength returns how many characters an escape of a double-quoted scalar has.
func escapeLength(runes []rune) int {
	if len(runes) < 2 {
		return len(runes)
	}
	switch runes[1] {
	case 'x':
		return min(4, len(runes))
	case 'u':
		return min(6, len(runes))
	case 'U':
		return min(10, len(runes))
	}
	return 2
}
