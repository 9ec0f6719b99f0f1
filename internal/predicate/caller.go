package predicate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// maxListClaim bounds the members that a list claim may bind in one statement.
// A longer one compares as unknown, and so denies.
const maxListClaim = 5000

// part is what a rule may ask of the caller.
type part struct {
	name  string // id, tenant, roles, claims
	claim string
}

// String returns the part as a rule writes it.
func (p part) String() string {
	if p.name == "claims" {
		return "user.claims." + p.claim
	}
	return "user." + p.name
}

// textual reports a part that is a text, or null, for every caller.
func (p part) textual() bool { return p.name == "id" || p.name == "tenant" }

// of returns the part as decoded JSON; nil is null.
func (p part) of(c *Caller) any {
	switch p.name {
	case "id":
		if c.Anonymous {
			return nil
		}
		return textOrNull(c.ID)
	case "tenant":
		return textOrNull(c.Tenant)
	case "roles":
		list := make([]any, len(c.Roles))
		for i, role := range c.Roles {
			list[i] = role
		}
		return list
	default:
		return c.Claims[p.claim]
	}
}

// textOrNull keeps a caller without a name from owning the rows without an owner.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// list returns a part that is a list, or false.
func (p part) list(c *Caller) ([]any, bool) {
	switch list := p.of(c).(type) {
	case []any:
		return list, len(list) <= maxListClaim
	case []string:
		out := make([]any, len(list))
		for i, s := range list {
			out[i] = s
		}
		return out, len(out) <= maxListClaim
	default:
		return nil, false
	}
}

// cellOf reads decoded JSON as a value of the field. What is null, of another
// type, or no value of the field (a text that is no member of its enum) is
// NULL, so that a comparison with it is unknown.
func cellOf(f *schema.Field, x any) value.Value {
	text, ok := "", false
	switch f.Type {
	case value.Integer, value.BigInt, value.Double:
		text, ok = numberOf(x)
	case value.Boolean:
		if b, isBool := x.(bool); isBool {
			return value.OfBool(b)
		}
	default:
		text, ok = x.(string)
	}
	if !ok {
		return value.Value{}
	}
	v, err := f.ParseText(text)
	if err != nil {
		return value.Value{}
	}
	return v
}

// numberOf returns the JSON text of a number. Claims that an embedding program
// made itself may be Go numbers.
func numberOf(x any) (string, bool) {
	switch n := x.(type) {
	case json.Number:
		return n.String(), true
	case float64:
		return strconv.FormatFloat(n, 'g', -1, 64), true
	case int:
		return strconv.Itoa(n), true
	case int64:
		return strconv.FormatInt(n, 10), true
	default:
		return "", false
	}
}

// compareParts compares two pieces of decoded JSON with no row between them:
// texts by bytes, numbers exactly, booleans for equality alone. Anything else
// is unknown.
func compareParts(op relation, a, b any) Truth {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return op.of(strings.Compare(x, y))
		}
	case bool:
		if y, ok := b.(bool); ok && (op == equal || op == unequal) {
			return truth((x == y) == (op == equal))
		}
	default:
		m, okA := numberCell(a)
		n, okB := numberCell(b)
		if okA && okB {
			return op.of(value.Compare(m, n))
		}
	}
	return Maybe
}

func numberCell(x any) (value.Value, bool) {
	text, ok := numberOf(x)
	if !ok {
		return value.Value{}, false
	}
	v, err := value.ParseText(value.BigInt, text)
	if err != nil {
		v, err = value.ParseText(value.Double, text)
	}
	return v, err == nil
}
