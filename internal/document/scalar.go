package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// echo quotes what a scalar says for a message, unless it is a secret.
func (n *Node) echo() string {
	switch {
	case n.kind != Scalar:
		return n.describe()
	case n.hidden:
		return "the value"
	case len(n.text) > 40:
		return "the value"
	default:
		return strconv.Quote(n.text)
	}
}

func (n *Node) describe() string {
	switch n.kind {
	case Null:
		return "an empty value"
	case Sequence:
		return "a list"
	case Mapping:
		return "a mapping"
	default:
		return "a single value"
	}
}

// Text reads text. A number or a boolean is none unless it stands in quotes.
func (n *Node) Text(rs *Refusals) (string, bool) {
	switch {
	case n == nil:
		return "", false
	case n.kind != Scalar:
		rs.Add(n.expected("expected text, found %s; write text, in quotes where in doubt", n.describe()))
	case n.style == bare && n.hidden:
		rs.Add(n.expected("expected text, found a number or the like; put it in quotes"))
	case n.style == bare:
		rs.Add(n.expected("expected text, found %s; put it in quotes: %q", n.text, n.text))
	default:
		return n.text, true
	}
	return "", false
}

// Bool reads true or false.
func (n *Node) Bool(rs *Refusals) (value, ok bool) {
	if n == nil {
		return false, false
	}
	if n.kind == Scalar && !n.Quoted() && (n.text == "true" || n.text == "false") {
		return n.text == "true", true
	}
	rs.Add(n.expected("expected true or false, found %s; write it in lower case, without quotes", n.echo()))
	return false, false
}

// Int reads a whole number from lo to hi, in decimal digits.
func (n *Node) Int(rs *Refusals, lo, hi int64) (int64, bool) {
	if n == nil {
		return 0, false
	}
	if n.kind == Scalar && !n.Quoted() && decimal(n.text) {
		if i, err := strconv.ParseInt(n.text, 10, 64); err == nil && i >= lo && i <= hi {
			return i, true
		}
	}
	bounds := fmt.Sprintf("from %d to %d", lo, hi)
	if hi == math.MaxInt64 || hi == math.MaxInt {
		bounds = fmt.Sprintf("from %d up", lo)
	}
	rs.Add(n.expected("expected a whole number %s, found %s; write it in digits, without quotes", bounds, n.echo()))
	return 0, false
}

func decimal(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if s == "" || (len(s) > 1 && s[0] == '0') {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}

// Duration reads a time span such as 500ms, 10s, 1h30m, from lo to hi.
func (n *Node) Duration(rs *Refusals, lo, hi time.Duration) (time.Duration, bool) {
	if n == nil {
		return 0, false
	}
	if n.kind == Scalar {
		if d, err := time.ParseDuration(n.text); err == nil && d >= lo && d <= hi && n.text != "0" {
			return d, true
		}
	}
	rs.Add(n.expected("expected a time span from %v to %v, found %s; write a number with its unit, such as 10s", lo, hi, n.echo()))
	return 0, false
}

// Size reads a number of bytes from lo to hi: 4096, 64KiB, 1MiB, 2GiB.
func (n *Node) Size(rs *Refusals, lo, hi int64) (int64, bool) {
	if n == nil {
		return 0, false
	}
	if n.kind == Scalar {
		if size, ok := bytesOf(n.text); ok && size >= lo && size <= hi {
			return size, true
		}
	}
	rs.Add(n.expected("expected a size from %d to %d bytes, found %s; write bytes, or a number with KiB, MiB or GiB", lo, hi, n.echo()))
	return 0, false
}

func bytesOf(s string) (int64, bool) {
	unit := int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, size
			break
		}
	}
	if !decimal(s) {
		return 0, false
	}
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil || i < 0 || i > math.MaxInt64/unit {
		return 0, false
	}
	return i * unit, true
}

// OneOf reads one of the choices.
func (n *Node) OneOf(rs *Refusals, choices ...string) (string, bool) {
	if n == nil {
		return "", false
	}
	if n.kind == Scalar && n.style != bare {
		for _, c := range choices {
			if n.text == c {
				return c, true
			}
		}
	}
	rs.Add(n.expected("%s is not accepted; %s", n.echo(), choice(n.text, choices)))
	return "", false
}

// choice names the choices, and the one that was probably meant.
func choice(text string, choices []string) string {
	if len(choices) == 1 {
		return "write " + choices[0]
	}
	all := "write one of " + strings.Join(choices, ", ")
	if near := Nearest(text, choices); near != "" {
		return fmt.Sprintf("did you mean %q? %s", near, all)
	}
	return all
}

// List reads a sequence.
func (n *Node) List(rs *Refusals) []*Node {
	if n == nil {
		return nil
	}
	if n.kind != Sequence {
		rs.Add(n.expected("expected a list, found %s; write [a, b], or one - item a line", n.describe()))
		return nil
	}
	return n.items
}

// Texts reads a sequence of texts; items are the nodes, in step with it.
func (n *Node) Texts(rs *Refusals) (texts []string, items []*Node) {
	for _, item := range n.List(rs) {
		if text, ok := item.Text(rs); ok {
			texts = append(texts, text)
			items = append(items, item)
		}
	}
	return texts, items
}
