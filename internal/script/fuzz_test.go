package script

import "testing"

// Whatever text stands in a schema: it is refused or it compiles, and what
// compiles runs to an answer or an error, over a full row and over no row.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{
		`payload.status != "draft"`, `old?.meta?.a ?? payload.tags[0]`, `"staff" in user.roles ? true : [1, 2.5]`,
		`payload.title matches "^a+$"`, `date(payload.due) < now()`, `1 < payload.total < 9`, `{"a": [nil, -1]}.a[1] ** 2`,
		`payload.tags | concat(["z"]) | len() > 1`, `if payload.open { 1 } else { 2 }`, `user.claims["a.b"].c`,
		`not (payload.big % 7 in [1, 2]) or old == nil`, `all(1..3, {# > 0})`, `let x = 1; x + x`, `payload.raw + "\u2028"`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, refused := CompileCondition(order(), src(text))
		if (p == nil) == (len(refused) == 0) {
			t.Fatalf("%q: program %v beside refusals %v", text, p, refused)
		}
		if p == nil {
			for _, r := range refused {
				if r.Message == "" || r.Pos.Line < 10 || r.Pos.Line == 10 && r.Pos.Col < 21 {
					t.Errorf("%q: refusal without a place in the script: %+v", text, r)
				}
			}
			return
		}
		for _, c := range []Change{{Payload: full(), Old: full(), Operation: "update", User: User{ID: "u"}}, {Payload: row(nil)}} {
			if ok, err := p.RunCondition(c); ok && err != nil {
				t.Errorf("%q: true beside error %v", text, err)
			}
		}
	})
}
