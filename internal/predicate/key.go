package predicate

import (
	"strconv"

	"github.com/rowcast/rowcast/internal/value"
)

var relationText = [...]string{"=", "<>", "<", "<=", ">", ">="}

// open begins a leaf's key: "name[field".
func open(dst []byte, name string, field int, negated bool) []byte {
	if negated {
		dst = append(dst, '!')
	}
	dst = append(dst, name...)
	return strconv.AppendInt(append(dst, '['), int64(field), 10)
}

func (c *compare) key(dst []byte) []byte {
	dst = open(dst, relationText[c.op], c.field.Index, false)
	return append(valueKey(dst, c.value), ']')
}

// key names the smaller position first, so that a == b and b == a are one.
func (p *pair) key(dst []byte) []byte {
	left, right, op := p.left.Index, p.right.Index, p.op
	if left > right {
		left, right, op = right, left, op.flip()
	}
	dst = append(open(dst, relationText[op], left, false), '@')
	return append(strconv.AppendInt(dst, int64(right), 10), ']')
}

func (m *member) key(dst []byte) []byte {
	dst = open(dst, "in", m.field.Index, m.negated)
	for _, v := range m.values {
		dst = valueKey(dst, v)
	}
	if m.null {
		dst = append(dst, ";n"...)
	}
	return append(dst, ']')
}

func (n *null) key(dst []byte) []byte {
	return append(open(dst, "null", n.field.Index, n.negated), ']')
}

func (m *match) key(dst []byte) []byte {
	name := "like"
	if m.pattern.fold {
		name = "ilike"
	}
	return append(textKey(open(dst, name, m.field.Index, m.negated), 't', m.pattern.source), ']')
}

func (h *has) key(dst []byte) []byte {
	return append(textKey(open(dst, h.kind, h.field.Index, h.negated), 't', h.text), ']')
}

func valueKey(dst []byte, v value.Value) []byte {
	switch v.Class() {
	case value.Int:
		return strconv.AppendInt(append(dst, ";i"...), v.Int(), 10)
	case value.Float:
		return strconv.AppendFloat(append(dst, ";f"...), v.Float(), 'x', -1, 64)
	case value.Blob:
		return textKey(dst, 'b', v.Text())
	default:
		return textKey(dst, 't', v.Text())
	}
}

// textKey writes the length first, so that no text can pass for what follows it.
func textKey(dst []byte, class byte, s string) []byte {
	dst = strconv.AppendInt(append(dst, ';', class), int64(len(s)), 10)
	return append(append(dst, ':'), s...)
}
