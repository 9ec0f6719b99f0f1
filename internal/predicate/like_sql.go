package predicate

import (
	"strings"
	"sync"
	"unicode"
)

// StandardLike returns the pattern for a LIKE whose escape is the backslash and
// which refuses a backslash that escapes nothing, as in the SQL standard. For
// ilike, the column must have each code point of from replaced by that at the
// same place of to; both are empty where there is none to replace. They hold
// just the code points whose lower case stands in the pattern: all others
// cannot change the outcome, and a database's own lower() folds differently.
func (p *Pattern) StandardLike() (pattern, from, to string) {
	var out, upper, lower strings.Builder
	seen := map[rune]bool{}
	for i, r := range splitRuns(p.source, p.fold) {
		if i > 0 {
			out.WriteByte('%')
		}
		for _, point := range r.points {
			switch point {
			case anyPoint:
				out.WriteByte('_')
				continue
			case '%', '_', '\\':
				out.WriteByte('\\')
			}
			out.WriteRune(point)
			if !p.fold || seen[point] {
				continue
			}
			seen[point] = true
			for _, other := range foldsTo()[point] {
				upper.WriteRune(other)
				lower.WriteRune(point)
			}
		}
	}
	return out.String(), upper.String(), lower.String()
}

// foldsTo returns for each code point the others whose lower case it is.
var foldsTo = sync.OnceValue(func() map[rune][]rune {
	folds := map[rune][]rune{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if lower := unicode.ToLower(r); lower != r {
			folds[lower] = append(folds[lower], r)
		}
	}
	return folds
})
