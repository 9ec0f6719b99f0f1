package predicate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is a compiled pattern of like or ilike: % is any run, _ one code
// point, \% \_ \\ are literal and any other backslash is itself. It matches the
// whole text, line breaks included. Matching reads the text once per run of the
// pattern between two %, never goes back, and allocates only for runs above 256
// code points. A Pattern is immutable and safe for concurrent use.
type Pattern struct {
	source     string
	fold       bool
	open       bool // holds a %
	head, tail run  // before the first %, after the last; without % the head alone
	middle     []run
}

// Like reports whether the text matches the pattern. With fold both sides are
// lower-cased first, code point by code point and without context.
func Like(pattern, text string, fold bool) bool { return CompileLike(pattern, fold).Match(text) }

// CompileLike compiles a pattern; every text is one.
func CompileLike(pattern string, fold bool) *Pattern {
	p := &Pattern{source: pattern, fold: fold}
	runs := splitRuns(pattern, fold)
	p.head = runs[0].compiled(fold, false)
	if last := len(runs) - 1; last > 0 {
		p.open = true
		p.tail = runs[last].compiled(fold, false)
		for _, r := range runs[1:last] {
			if len(r.points) > 0 {
				p.middle = append(p.middle, r.compiled(fold, true))
			}
		}
	}
	return p
}

// Source returns the pattern as it was written.
func (p *Pattern) Source() string { return p.source }

// Fold reports whether the pattern is one of ilike.
func (p *Pattern) Fold() bool { return p.fold }

// Match reports whether the text matches.
func (p *Pattern) Match(text string) bool {
	end, ok := p.head.prefix(text, p.fold)
	if !ok || !p.open {
		return ok && end == len(text)
	}
	text = text[end:]
	start, ok := p.tail.suffix(text)
	if !ok {
		return false
	}
	if end, ok = p.tail.prefix(text[start:], p.fold); !ok || start+end != len(text) {
		return false
	}
	text = text[:start]
	for i := range p.middle {
		// The leftmost place leaves the most for the runs behind it.
		if end = p.middle[i].find(text, p.fold); end < 0 {
			return false
		}
		text = text[end:]
	}
	return true
}

// anyPoint stands for _ in a run.
const anyPoint rune = -1

// run is a part of a pattern without %: so many code points, one after another.
type run struct {
	points  []rune
	plain   string // the points as text, where neither _ nor fold is in the way
	literal bool
	masks   map[rune][]uint64 // see find
	any     []uint64          // mask of the code points that only _ matches
}

// splitRuns cuts a pattern at each %.
func splitRuns(pattern string, fold bool) []run {
	runs := []run{{}}
	add := func(r rune) {
		last := &runs[len(runs)-1]
		last.points = append(last.points, r)
	}
	escaped := false
	for _, r := range pattern {
		special := r == '%' || r == '_' || r == '\\'
		switch {
		case escaped && special:
			add(r)
		case r == '\\':
			escaped = true
			continue
		default:
			if escaped {
				add('\\')
			}
			switch {
			case r == '%':
				runs = append(runs, run{})
			case r == '_':
				add(anyPoint)
			case fold:
				add(unicode.ToLower(r))
			default:
				add(r)
			}
		}
		escaped = false
	}
	if escaped {
		add('\\')
	}
	return runs
}

func (r run) compiled(fold, searched bool) run {
	r.literal = !fold
	for _, point := range r.points {
		r.literal = r.literal && point != anyPoint && point != utf8.RuneError
	}
	if r.literal {
		r.plain = string(r.points)
	} else if searched {
		r.index()
	}
	return r
}

// index notes for each code point at which places of the run it may stand.
func (r *run) index() {
	words := (len(r.points) + 63) / 64
	r.any = make([]uint64, words)
	r.masks = make(map[rune][]uint64)
	for i, point := range r.points {
		if point == anyPoint {
			r.any[i/64] |= 1 << (i % 64)
		} else if r.masks[point] == nil {
			r.masks[point] = make([]uint64, words)
		}
	}
	for i, point := range r.points {
		if point != anyPoint {
			r.masks[point][i/64] |= 1 << (i % 64)
		}
	}
	for _, mask := range r.masks {
		for w := range mask {
			mask[w] |= r.any[w]
		}
	}
}

// prefix returns where the run ends when text begins with it.
func (r *run) prefix(text string, fold bool) (int, bool) {
	if r.literal {
		return len(r.plain), strings.HasPrefix(text, r.plain)
	}
	at := 0
	for _, point := range r.points {
		got, width := utf8.DecodeRuneInString(text[at:])
		if width == 0 {
			return 0, false
		}
		if fold {
			got = unicode.ToLower(got)
		}
		if point != anyPoint && point != got {
			return 0, false
		}
		at += width
	}
	return at, true
}

// suffix returns where the last code points of text begin, as many as the run has.
func (r *run) suffix(text string) (int, bool) {
	at := len(text)
	if r.literal {
		at -= len(r.plain)
		return at, at >= 0
	}
	for range r.points {
		_, width := utf8.DecodeLastRuneInString(text[:at])
		if width == 0 {
			return 0, false
		}
		at -= width
	}
	return at, true
}

// find returns where the leftmost place of the run in text ends, or -1. Bit i
// of state says that the points up to i stand right before the reader: all
// places are tried at once, in one pass (Shift-And).
func (r *run) find(text string, fold bool) int {
	if r.literal {
		if i := strings.Index(text, r.plain); i >= 0 {
			return i + len(r.plain)
		}
		return -1
	}
	var small [4]uint64
	state := small[:]
	if len(r.any) > len(small) {
		state = make([]uint64, len(r.any))
	}
	state = state[:len(r.any)]
	first, last := r.points[0], len(r.points)-1
	idle := true // no place is open: only the first point can open one
	for at, got := range text {
		if fold {
			got = unicode.ToLower(got)
		}
		if idle && got != first && first != anyPoint {
			continue
		}
		mask, ok := r.masks[got]
		if !ok {
			mask = r.any
		}
		carry, open := uint64(1), uint64(0)
		for w := range state {
			shifted := state[w]<<1 | carry
			carry = state[w] >> 63
			state[w] = shifted & mask[w]
			open |= state[w]
		}
		idle = open == 0
		if state[last/64]&(1<<(last%64)) != 0 {
			_, width := utf8.DecodeRuneInString(text[at:])
			return at + width
		}
	}
	return -1
}
