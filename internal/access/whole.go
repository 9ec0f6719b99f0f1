package access

import "github.com/rowcast/rowcast/internal/predicate"

// Whole returns the grant of code that acts for a principal and is trusted like
// the schema itself: it may do everything, sees every field as it is, and is bound
// by no row rule. What it writes still bears the principal's name. No request
// ever gets one by itself.
func (p *Policy) Whole(pr *Principal) *Grant {
	g := &Grant{Policy: p, Principal: pr, view: p.newView(allActions, p.everyField())}
	always := predicate.Always()
	for a := range actionCount {
		g.rows[a] = always
	}
	return g
}
