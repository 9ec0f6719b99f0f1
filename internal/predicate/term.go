package predicate

import (
	"math/bits"

	"github.com/rowcast/rowcast/schema"
)

// highest is how high an expression may be. The engines overflow their stack,
// and not always politely, at about three times that.
const highest = 100

// term is a part of a Tree: a condition that may still ask the caller.
type term interface {
	bind(c *Caller) node
	not() term
	walk(func(*leaf))
}

// leaf is a condition on fields, on the caller, or on both.
type leaf struct {
	fields   []int // positions of the fields it names
	equality bool  // compares its field for equality with what is no field
	negated  bool
	decide   func(*Caller) atom
}

// ready is a leaf that asks nothing of the caller.
func ready(n atom, fields ...*schema.Field) *leaf {
	return asking(func(*Caller) atom { return n }, fields...)
}

// asking is a leaf that is known once the caller is.
func asking(decide func(*Caller) atom, fields ...*schema.Field) *leaf {
	l := &leaf{decide: decide}
	for _, f := range fields {
		l.fields = append(l.fields, f.Index)
	}
	return l
}

// asEquality marks the leaf as one that an index on its field helps.
func (l *leaf) asEquality(yes bool) *leaf {
	l.equality = yes
	return l
}

func (l *leaf) bind(c *Caller) node {
	n := l.decide(c)
	if l.negated {
		return n.not()
	}
	return n
}

func (l *leaf) not() term {
	n := *l
	n.negated = !l.negated
	return &n
}

func (l *leaf) walk(visit func(*leaf)) { visit(l) }

// junction is the and, or the or, of terms.
type junction struct {
	and   bool
	terms []term
}

func (j *junction) bind(c *Caller) node {
	nodes := make([]node, len(j.terms))
	for i, t := range j.terms {
		nodes[i] = t.bind(c)
	}
	if j.and {
		return allOf(nodes)
	}
	return anyOf(nodes)
}

func (j *junction) not() term {
	n := &junction{and: !j.and, terms: make([]term, len(j.terms))}
	for i, t := range j.terms {
		n.terms[i] = t.not()
	}
	return n
}

func (j *junction) walk(visit func(*leaf)) {
	for _, t := range j.terms {
		t.walk(visit)
	}
}

// choice is c ? a : b where c asks the caller alone, so that binding takes one
// of the two. An unknown c takes neither: the choice is then unknown.
type choice struct{ condition, yes, no term }

func (c *choice) bind(caller *Caller) node {
	switch c.condition.bind(caller) {
	case constant(True):
		return c.yes.bind(caller)
	case constant(False):
		return c.no.bind(caller)
	}
	return constant(Maybe)
}

func (c *choice) not() term {
	return &choice{condition: c.condition, yes: c.yes.not(), no: c.no.not()}
}

func (c *choice) walk(visit func(*leaf)) {
	c.condition.walk(visit)
	c.yes.walk(visit)
	c.no.walk(visit)
}

// joined is the junction of one term or more.
func joined(and bool, terms []term) term {
	if len(terms) == 1 {
		return terms[0]
	}
	return &junction{and: and, terms: terms}
}

// height is how deep the SQL of a term nests: a junction is rendered as a
// balanced tree. Binding never makes it higher.
func height(t term) int {
	switch t := t.(type) {
	case *junction:
		inner := 0
		for _, part := range t.terms {
			inner = max(inner, height(part))
		}
		return inner + bits.Len(uint(max(len(t.terms), 1)-1))
	case *choice:
		return max(height(t.yes), height(t.no))
	}
	return 1
}
