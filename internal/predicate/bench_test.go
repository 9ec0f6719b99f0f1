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

func BenchmarkLike(b *testing.B) {
	text := strings.Repeat("the quick brown fox jumps over the lazy dog, äöü. ", 200)
	for name, pattern := range map[string]string{"plain": "%lazy cat%", "hole": "%lazy_cat%"} {
		for fold, word := range map[bool]string{false: "like", true: "ilike"} {
			p := CompileLike(pattern, fold)
			b.Run(word+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					p.Match(text)
				}
			})
		}
	}
}
