package typegen

import (
	"strconv"
	"strings"
)

// names are the names that are taken in one scope.
type names map[string]bool

// take returns the wanted name, with a number behind it where it is taken.
func (n names) take(want string) string {
	name := want
	for i := 2; n[name]; i++ {
		name = want + strconv.Itoa(i)
	}
	n[name] = true
	return name
}

// initialisms are words that Go writes in capitals.
var initialisms = map[string]bool{"id": true, "url": true, "uuid": true, "ulid": true, "api": true, "http": true, "ip": true, "json": true}

// pascal makes OrderStatus of order_status. What is neither a letter nor a digit
// of ASCII parts words; it returns "" where nothing else is there.
func pascal(text string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !isWord(r) }) {
		if initialisms[word] {
			b.WriteString(strings.ToUpper(word))
			continue
		}
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// exported is pascal in a form that may begin an identifier.
func exported(text string) string {
	name := pascal(text)
	if name == "" || name[0] <= '9' {
		return "X" + name
	}
	return name
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
