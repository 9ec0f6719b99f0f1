package access

import (
	"slices"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/script"
	"github.com/rowcast/rowcast/internal/value"
)

// Sight is how a principal sees a field.
type Sight uint8

// The sights.
const (
	Hidden Sight = iota // not at all
	Masked              // as its mask leaves it
	Plain               // as it is
)

// view is the part of a Grant that does not depend on rows. Grants may share one.
type view struct {
	actions actionSet
	sights  []Sight
	key     string
}

// newView works out the sights. Who may not read the entity sees no field, its
// id neither.
func (p *Policy) newView(actions actionSet, fields []bool) *view {
	v := &view{actions: actions, sights: make([]Sight, len(fields))}
	key := make([]byte, len(fields))
	for i, f := range p.Entity.Fields {
		switch {
		case !actions.has(Read) || !fields[i]:
		case f.Mask != nil && !actions.has(Unmask):
			v.sights[i] = Masked
		default:
			v.sights[i] = Plain
		}
		key[i] = "-*+"[v.sights[i]]
	}
	v.key = string(key)
	return v
}

// Grant is what one principal may do with one entity.
type Grant struct {
	Policy    *Policy
	Principal *Principal
	view      *view
	rows      [actionCount]*predicate.Predicate
}

// bind decides the row rules for the principal.
func (g *Grant) bind() {
	always := predicate.Always()
	for a := range actionCount {
		switch judge := g.Policy.judges[a]; {
		case !g.Restricted(a):
			g.rows[a] = always
		case g.rows[judge] != nil:
			g.rows[a] = g.rows[judge]
		default:
			g.rows[judge] = g.Policy.bind(judge, g.Principal)
			g.rows[a] = g.rows[judge]
		}
	}
}

// bind joins the rules that name the action, as they stand for the principal.
func (p *Policy) bind(a Action, pr *Principal) *predicate.Predicate {
	caller := pr.Caller()
	bound := make([]*predicate.Predicate, len(p.rules[a]))
	for i, tree := range p.rules[a] {
		bound[i] = tree.Bind(caller)
	}
	return predicate.Or(bound...)
}

// judge returns the action whose rules judge a: a itself, what it falls back
// on, or one that the very same rules name.
func (p *Policy) judge(a Action) Action {
	for len(p.rules[a]) == 0 && fallback[a] != a {
		a = fallback[a]
	}
	for b := range actionCount {
		if slices.Equal(p.rules[a], p.rules[b]) {
			return b
		}
	}
	return a
}

// Can reports whether the action is allowed on the entity at all.
func (g *Grant) Can(a Action) bool { return g.view.actions.has(a) }

// Restricted reports whether row rules judge the action, its own or those it
// falls back on. Where it is false, Rows is Always.
func (g *Grant) Restricted(a Action) bool { return len(g.Policy.rules[g.Policy.judges[a]]) > 0 }

// Rows returns the predicate that judges a row for the action: for Read,
// Update, Delete, Restore, Purge the row before; for Create the row as written.
// Always without row rules. Actions that are judged by the same rules return
// the same pointer, so that one who has tested Read need not test it twice.
// The table of the package comment says which rules judge what.
func (g *Grant) Rows(a Action) *predicate.Predicate { return g.rows[a] }

// Sight returns how the principal sees the field.
func (g *Grant) Sight(field int) Sight { return g.view.sights[field] }

// Reads reports whether the field is readable (perhaps masked).
func (g *Grant) Reads(field int) bool { return g.view.sights[field] != Hidden }

// ReadsPlain reports whether the field is readable and not masked for this
// principal: only such may be filtered, sorted or compared.
func (g *Grant) ReadsPlain(field int) bool { return g.view.sights[field] == Plain }

// Show returns what the principal sees in the cell: the value, the masked
// value, or NULL and false where it may not read the field.
func (g *Grant) Show(field int, v value.Value) (value.Value, bool) {
	switch g.view.sights[field] {
	case Plain:
		return v, true
	case Masked:
		return mask(g.Policy.Entity.Fields[field], v), true
	default:
		return value.Value{}, false
	}
}

// ViewKey is equal for grants on one entity that show the same bytes for the
// same row (readable and masked fields; not the row rules).
func (g *Grant) ViewKey() string { return g.view.key }

// User returns the principal as scripts see it.
func (g *Grant) User() script.User { return g.Principal.User() }

// Caller returns the principal as row rules see it.
func (g *Grant) Caller() predicate.Caller { return g.Principal.Caller() }
