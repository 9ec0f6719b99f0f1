package predicate

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

func TestLike(t *testing.T) {
	tests := []struct {
		name, pattern, text string
		fold, want          bool
	}{
		{"the empty pattern is the empty text", "", "", false, true},
		{"the empty pattern is no other text", "", "a", false, false},
		{"% is any run, the empty one too", "%", "", false, true},
		{"% crosses line breaks", "a%b", "a\r\n\u2028b", false, true},
		{"_ is one code point, an astral one too", "_", "\U0001F600", false, true},
		{"_ is a line break", "a_b", "a\nb", false, true},
		{"_ is not two code points", "_", "e\u0301", false, false},
		{"no wildcard is added", "b", "abc", false, false},
		{"head and tail do not overlap", "ab%ba", "aba", false, false},
		{"a tail of wildcards needs its code points", "%__", "a", false, false},
		{"the leftmost place is taken", "%ab%c", "xabab-c", false, true},
		{"a run is found behind another", "%ab%ab", "ab", false, false},
		{"a run with _ is found", "%a_c%", "xxaaabcx", false, true},
		{`\% is a percent sign`, `100\%`, "100%", false, true},
		{`\% is no wildcard`, `100\%`, "100x", false, false},
		{`\\ is a backslash`, `a\\%`, `a\zzz`, false, true},
		{"another backslash is itself", `a\n`, `a\n`, false, true},
		{"a backslash at the end is itself", `a\`, `a\`, false, true},
		{"letter case counts", "A", "a", false, false},
		{"letter case does not count when folded", "Ä%", "ärger", true, true},
		{"dotted capital I lower-cases to i", "İ", "i", true, true},
		{"sharp s is not ss", "STRASSE", "straße", true, false},
		{"no final sigma", "ΟΔΟΣ", "οδος", true, false},
		{"the Kelvin sign lower-cases to k", "%K%", "xKx", true, true},
		{"nothing in a regular expression is special", "^a.*$", "axx", false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Like(test.pattern, test.text, test.fold); got != test.want {
				t.Errorf("Like(%q, %q, %v) = %v, want %v", test.pattern, test.text, test.fold, got, test.want)
			}
		})
	}
}

// A pattern made to go back and forth is decided in one pass.
func TestLikeIsLinear(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	patterns := map[string]string{
		"many runs":                   "%a%a%a%a%a%b",
		"one long run that nearly is": "%" + strings.Repeat("a", 199) + "b%",
		"a long run with a hole":      "%" + strings.Repeat("a", 100) + "_" + strings.Repeat("a", 98) + "b%",
		"a run above 256 code points": "%" + strings.Repeat("_", 2000) + "b%",
	}
	for name, pattern := range patterns {
		for _, fold := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				begin := time.Now()
				if Like(pattern, long, fold) {
					t.Error("matches, want no match")
				}
				if took := time.Since(begin); took > 2*time.Second {
					t.Errorf("took %v for 100,000 letters", took)
				}
			})
		}
	}
}

func TestLikeDoesNotAllocate(t *testing.T) {
	p := CompileLike("%a_c%Ä%", true)
	text := strings.Repeat("xyzä", 100)
	if got := testing.AllocsPerRun(100, func() { p.Match(text) }); got != 0 {
		t.Errorf("Match allocates %v times, want 0", got)
	}
}

// referenceLike is the meaning of a pattern, by recursion over code points.
func referenceLike(pattern, text []rune, fold bool) bool {
	if len(pattern) == 0 {
		return len(text) == 0
	}
	head, rest := pattern[0], pattern[1:]
	if head == '%' {
		for i := 0; i <= len(text); i++ {
			if referenceLike(rest, text[i:], fold) {
				return true
			}
		}
		return false
	}
	if len(text) == 0 {
		return false
	}
	if head == '_' {
		return referenceLike(rest, text[1:], fold)
	}
	if head == '\\' && len(rest) > 0 && strings.ContainsRune(`%_\`, rest[0]) {
		head, rest = rest[0], rest[1:]
	}
	same := head == text[0]
	if fold {
		same = unicode.ToLower(head) == unicode.ToLower(text[0])
	}
	return same && referenceLike(rest, text[1:], fold)
}

func TestLikeMeansWhatTheReferenceMeans(t *testing.T) {
	letters := []rune(`aAbÄäİi%_\` + "\n\U0001F600\uFFFD")
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.SampledFrom(letters), 0, 9, -1).Draw(t, "pattern")
		text := rapid.StringOfN(rapid.SampledFrom(letters), 0, 12, -1).Draw(t, "text")
		fold := rapid.Bool().Draw(t, "fold")
		got, want := Like(pattern, text, fold), referenceLike([]rune(pattern), []rune(text), fold)
		if got != want {
			t.Fatalf("Like(%q, %q, %v) = %v, want %v", pattern, text, fold, got, want)
		}
	})
}

func FuzzLike(f *testing.F) {
	f.Add("%a_b%", "xxaXb", true)
	f.Add(`a\%%`, "a%", false)
	f.Fuzz(func(t *testing.T, pattern, text string, fold bool) {
		if strings.Count(pattern, "%") > 3 || len(text) > 24 {
			return // the reference is exponential
		}
		got, want := Like(pattern, text, fold), referenceLike([]rune(pattern), []rune(text), fold)
		if got != want {
			t.Fatalf("Like(%q, %q, %v) = %v, want %v", pattern, text, fold, got, want)
		}
	})
}
