package script

import "testing"

func BenchmarkRunFilter(b *testing.B) {
	p, refused := CompileFilter(order(), src(`payload.status == "paid" and payload.total > 3 and "staff" in user.roles`), nil)
	if len(refused) > 0 {
		b.Fatal(refused)
	}
	d := Delivery{Payload: full(), User: User{ID: "u", Roles: []string{"staff"}}}
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := p.RunFilter(d); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
