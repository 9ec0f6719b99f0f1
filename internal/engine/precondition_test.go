package engine

import (
	"testing"

	"github.com/rowcast/rowcast/fault"
)

func TestEntityTagsAreComparedAsRFC9110Says(t *testing.T) {
	const tag = `"abc"`
	for _, c := range []struct {
		name, header  string
		exists        bool
		strong, loose bool // want of If-Match's and If-None-Match's comparison
	}{
		{"the same", `"abc"`, true, true, true},
		{"another", `"abd"`, true, false, false},
		{"one of a list", `"x" , "abc","y"`, true, true, true},
		{"with empty members", `"x",, "abc",`, true, true, true},
		{"a weak one", `W/"abc"`, true, false, true},
		{"with a comma inside", `"abc,"`, true, false, false},
		{"any", `*`, true, true, true},
		{"any, of no row", `*`, false, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tags, err := parseTags("If-Match", c.header)
			if err != nil {
				t.Fatal(err)
			}
			if got := tags.has(c.exists, tag, true); got != c.strong {
				t.Errorf("strong: got %t, want %t", got, c.strong)
			}
			if got := tags.has(c.exists, tag, false); got != c.loose {
				t.Errorf("weak: got %t, want %t", got, c.loose)
			}
		})
	}
}

func TestAMalformedTagIsRefusedRatherThanGuessed(t *testing.T) {
	for _, header := range []string{`abc`, `"abc`, `"a" "b"`, `w/"a"`, `W/`, `*, "a"`, `"a", *`} {
		if _, err := parseTags("If-Match", header); !fault.Is(err, fault.BadParameter) {
			t.Errorf("%s: got %v, want bad_parameter", header, err)
		}
	}
}
