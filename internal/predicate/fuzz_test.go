package predicate

import (
	"testing"

	"github.com/rowcast/rowcast/fault"
)

// FuzzParseQuery holds ParseQuery to one of three answers, and what it accepts
// to one meaning.
func FuzzParseQuery(f *testing.F) {
	fixtures, cases := loadCases(f)
	for _, c := range cases {
		f.Add(c.Query)
	}
	fx := fixtures["sample"]
	db := openDatabase(f, fx.entity, fx.rows)
	f.Fuzz(func(t *testing.T, query string) {
		tree, err := ParseQuery(fx.entity, query, nil)
		switch {
		case err != nil:
			if refused, ok := fault.Of(err); !ok || refused.Code != fault.InvalidQuery || len(refused.Errors) == 0 {
				t.Fatalf("%q: %v", query, err)
			}
		case tree != nil:
			if len(tree.Columns()) == 0 {
				t.Fatalf("%q: a filter without a field", query)
			}
			sameTruths(t, db, fx.rows, tree.Bind(Caller{}))
		}
	})
}

// FuzzParseRule holds ParseRule to a tree or refusals, never both, and what it
// accepts to one meaning.
func FuzzParseRule(f *testing.F) {
	for _, s := range []string{
		`row.text == user.id`, `"staff" in user.roles ? row.n < 5 : not row.on`, `row.text in user.claims.teams or row.n in [1, -2]`,
		`row.text startsWith "a" and row.at >= "2026-01-01T00:00:00Z"`, `row.meta == nil || !(row.n != row.m)`, "row.n\n== 'x'",
	} {
		f.Add(s)
	}
	e := hardEntity(f)
	rows := seeded(3).rows(e, 30)
	db := openDatabase(f, e, rows)
	f.Fuzz(func(t *testing.T, source string) {
		tree, refusals := ParseRule(e, script(source))
		if (tree == nil) != (len(refusals) > 0) {
			t.Fatalf("%q: tree %v, refusals %v", source, tree, refusals)
		}
		if tree == nil {
			return
		}
		for _, caller := range []Caller{alice, anonymous} {
			sameTruths(t, db, rows, tree.Bind(caller))
		}
	})
}
