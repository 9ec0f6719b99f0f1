package predicate

import (
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/value"
)

func BenchmarkEvalOwner(b *testing.B) {
	e := hardEntity(b)
	row := make([]value.Value, len(e.Fields))
	row[1] = value.OfText("someone else")
	p := mustRule(b, e, `row.text == user.id`).Bind(alice)
	for b.Loop() {
		p.Eval(row)
	}
}

func BenchmarkEvalOwnerAndState(b *testing.B) {
	e := hardEntity(b)
	row := make([]value.Value, len(e.Fields))
	row[1], row[3] = value.OfText("alice"), value.OfInt(4)
	p := mustRule(b, e, `row.text == user.id and row.n > 3 and row.state == nil`).Bind(alice)
	for b.Loop() {
		p.Eval(row)
	}
}

func BenchmarkBindOwner(b *testing.B) {
	tree := mustRule(b, hardEntity(b), `"admin" in user.roles or row.text == user.id`)
	for b.Loop() {
		tree.Bind(alice)
	}
}

// What LIKE costs for each byte of text, also where a pattern is made to go
// back and forth.
func BenchmarkLike(b *testing.B) {
	prose := strings.Repeat("the quick brown fox jumps over the lazy dog, äöü. ", 200)
	letters := strings.Repeat("a", 100_000)
	for _, c := range []struct{ name, pattern, text string }{
		{"plain", "%lazy cat%", prose},
		{"hole", "%lazy_cat%", prose},
		{"many runs", "%a%a%a%a%a%b%", letters},
		{"a run that nearly is", "%" + strings.Repeat("a", 199) + "b%", letters},
	} {
		for fold, word := range map[bool]string{false: "like", true: "ilike"} {
			p := CompileLike(c.pattern, fold)
			b.Run(word+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					p.Match(c.text)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(c.text)), "ns/byte")
			})
		}
	}
}
