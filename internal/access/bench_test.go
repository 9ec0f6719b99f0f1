package access_test

import (
	"testing"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/schema/schematest"
)

func BenchmarkGrant(b *testing.B) {
	for name, lines := range map[string]string{
		"no scripts, no rules": "",
		"two scripts, two rules": section(`"staff" in user.roles ? true : ["read", "update"]`, `"staff" in user.roles ? true : ["title"]`) +
			rules([2]string{"read, update", own}, [2]string{"read, update, delete", staff}),
	} {
		p, refused := access.Compile(schematest.Entity(b, fields+lines))
		if len(refused) > 0 {
			b.Fatal(refused)
		}
		pr := user("u", "eu")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Grant(pr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
