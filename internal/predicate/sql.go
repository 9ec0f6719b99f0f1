package predicate

import (
	"strings"

	"github.com/rowcast/rowcast/internal/value"
)

// writer collects SQL text and the values bound in it.
type writer struct {
	strings.Builder
	dialect Dialect
	args    []value.Value
}

// SQL renders the predicate as one expression in parentheses or without need of
// any. Every value is bound; nothing of a caller stands in the text. args are
// the values bound so far; the result's args have the new ones appended.
func (p *Predicate) SQL(d Dialect, args []value.Value) (string, []value.Value) {
	w := &writer{dialect: d, args: args}
	p.root.sql(w)
	return w.String(), w.args
}

// next binds a value and returns its number.
func (w *writer) next(v value.Value) int {
	w.args = append(w.args, v)
	return len(w.args)
}

func (w *writer) bind(v value.Value) {
	w.WriteString(w.dialect.Placeholder(w.next(v)))
}

func (w *writer) negatable(negated bool, text string) {
	if negated {
		w.WriteString("NOT (" + text + ")")
		return
	}
	w.WriteString("(" + text + ")")
}

func (c constant) sql(w *writer) {
	w.WriteString([...]string{"(1 = 0)", "NULL", "(1 = 1)"}[c+1])
}

func (g *group) sql(w *writer) {
	word := " OR "
	if g.and {
		word = " AND "
	}
	joinHalves(w, word, g.nodes)
}

// joinHalves nests a chain as a balanced tree: databases limit how deep an
// expression may be (see highest), and a plain chain of n parts is n deep.
func joinHalves(w *writer, word string, nodes []node) {
	if len(nodes) == 1 {
		nodes[0].sql(w)
		return
	}
	middle := len(nodes) / 2
	w.WriteByte('(')
	joinHalves(w, word, nodes[:middle])
	w.WriteString(word)
	joinHalves(w, word, nodes[middle:])
	w.WriteByte(')')
}

func (c *compare) sql(w *writer) {
	w.WriteString(w.dialect.Column(c.field) + " " + relationText[c.op] + " ")
	w.bind(c.value)
}

func (p *pair) sql(w *writer) {
	w.WriteString(w.dialect.Column(p.left) + " " + relationText[p.op] + " " + w.dialect.Column(p.right))
}

func (m *member) sql(w *writer) {
	w.WriteString(w.dialect.Column(m.field))
	if m.negated {
		w.WriteString(" NOT")
	}
	w.WriteString(" IN (")
	for i, v := range m.values {
		if i > 0 {
			w.WriteString(", ")
		}
		w.bind(v)
	}
	if m.null {
		w.WriteString(", NULL")
	}
	w.WriteByte(')')
}

func (n *null) sql(w *writer) {
	w.WriteString(w.dialect.Column(n.field))
	if n.negated {
		w.WriteString(" IS NOT NULL")
		return
	}
	w.WriteString(" IS NULL")
}

func (m *match) sql(w *writer) {
	bind := func(v value.Value) string { return w.dialect.Placeholder(w.next(v)) }
	w.negatable(m.negated, w.dialect.Like(w.dialect.Column(m.field), m.pattern, bind))
}

func (h *has) sql(w *writer) {
	n := w.next(value.OfText(h.text))
	w.negatable(h.negated, w.dialect.Has(h.kind, w.dialect.Column(h.field), n))
}
