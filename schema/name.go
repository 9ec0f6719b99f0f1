package schema

import (
	"strings"

	"github.com/rowcast/rowcast/internal/document"
)

// maxName is the longest identifier that PostgreSQL keeps whole.
const maxName = 63

// nameKind says what a name may hold beyond letters, digits and underscores.
type nameKind struct {
	what  string
	extra string
}

var (
	entityName = nameKind{"an entity", ".-"}
	fieldName  = nameKind{"a field", ""}       // row.NAME in an expression
	pathName   = nameKind{"an operation", "-"} // the last part of a URL
	labelName  = nameKind{"anything", "-"}
	topicName  = nameKind{"a topic", ".-"} // one word of a header
)

// name reads a name that stands in URLs, expressions, headers and frames.
func (l *loader) name(n *document.Node, kind nameKind) string {
	text, ok := n.Text(&l.refusals)
	if !ok {
		return ""
	}
	if !wellFormed(text, kind.extra) {
		also := "letters, digits and _"
		for _, c := range kind.extra {
			also += " and " + string(c)
		}
		l.refusals.Add(n.Refusal("%q cannot name %s; use %s, a letter or _ first, at most %d of them", text, kind.what, also, maxName))
		return ""
	}
	return text
}

func wellFormed(s, extra string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		c := s[i] | 0x20 // lower case, for ASCII letters
		letter := (c >= 'a' && c <= 'z') || s[i] == '_'
		further := (s[i] >= '0' && s[i] <= '9') || strings.IndexByte(extra, s[i]) >= 0
		if !letter && (i == 0 || !further) {
			return false
		}
	}
	return true
}

// reserved returns the prefix that keeps a table or column name for the
// database or for rowcast, or "".
func reserved(name string) string {
	for _, prefix := range []string{"_rowcast", "sqlite_"} {
		if strings.HasPrefix(fold(name), prefix) {
			return prefix
		}
	}
	return ""
}
