package boot

import (
	"fmt"
	"strings"
)

// expand replaces each ${NAME} by what the environment says, and $${ by ${. Any
// other $ is itself. The message, where there is one, never holds a value.
func expand(text string, env func(string) (string, bool)) (out, refusal string) {
	var b strings.Builder
	for {
		i := strings.Index(text, "${")
		if i < 0 {
			b.WriteString(text)
			return b.String(), ""
		}
		if i > 0 && text[i-1] == '$' {
			b.WriteString(text[:i-1] + "${")
			text = text[i+2:]
			continue
		}
		b.WriteString(text[:i])
		name, rest, closed := strings.Cut(text[i+2:], "}")
		if !closed || !isName(name) {
			return "", "${ does not begin ${NAME}; name an environment variable, or write $${ for the text itself"
		}
		switch value, set := env(name); {
		case !set:
			return "", fmt.Sprintf("the environment has no %s; set it before starting", name)
		case value == "":
			return "", fmt.Sprintf("%s is empty in the environment; give it a value before starting", name)
		default:
			b.WriteString(value)
		}
		text = rest
	}
}

// isName reports whether s is the name of an environment variable.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
