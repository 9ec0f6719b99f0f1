package predicate

import (
	"slices"
	"unicode/utf8"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// operator is an operator of the filter grammar.
type operator struct {
	name    string
	list    bool
	members int // of a list; 0: one or more, up to the entity's limit
}

// relationNames are the operators that take one value, in the order of relation.
var relationNames = [...]string{"eq", "ne", "lt", "lte", "gt", "gte"}

const operatorNames = "eq, ne, gt, gte, lt, lte, in, notIn, between, like, ilike, isNull, isNotNull"

// operatorOf finds an operator by its exact name.
func operatorOf(name string) (operator, bool) {
	switch name {
	case "eq", "ne", "lt", "lte", "gt", "gte", "like", "ilike", "isNull", "isNotNull":
		return operator{name: name}, true
	case "in", "notIn":
		return operator{name: name, list: true}, true
	case "between":
		return operator{name: name, list: true, members: 2}, true
	}
	return operator{}, false
}

// condition reads one condition: a field, an operator and what was sent for it,
// one text for an operator that takes no list. It returns nil after a fault.
func (q *queryReader) condition(f *schema.Field, op operator, sent []string) term {
	limit := q.entity.Filter.MaxInValues
	switch {
	case op.members > 0 && len(sent) != op.members:
		q.fail(f.Name, fault.InvalidValue, "takes %d values, %d were sent", op.members, len(sent))
		return nil
	case len(sent) == 0:
		q.fail(f.Name, fault.InvalidValue, "takes a list of one value or more")
		return nil
	case op.list && op.members == 0 && len(sent) > limit:
		q.fail(f.Name, fault.LimitExceeded, "takes a list of at most %d values, %d were sent", limit, len(sent))
		return nil
	case !q.counted(len(sent)):
		return nil
	}
	switch op.name {
	case "in":
		return q.oneOf(f, sent)
	case "notIn":
		return q.noneOf(f, sent)
	case "between":
		return q.between(f, sent)
	case "like", "ilike":
		return q.like(f, sent[0], op.name == "ilike")
	case "isNull", "isNotNull":
		return q.nullCheck(f, sent[0], op.name == "isNull")
	}
	return q.comparison(f, relation(slices.Index(relationNames[:], op.name)), sent[0])
}

func (q *queryReader) comparison(f *schema.Field, op relation, text string) term {
	v, ok := q.operand(f, text)
	if !ok {
		return nil
	}
	return ready(newCompare(f, op, v), f).asEquality(op == equal)
}

// operand reads a value of the field, or the null literal.
func (q *queryReader) operand(f *schema.Field, text string) (value.Value, bool) {
	if text == "null" {
		if f.Required || f.Index == q.entity.ID {
			q.fail(f.Name, fault.InvalidValue, "is never null")
			return value.Value{}, false
		}
		return value.Value{}, true
	}
	v, err := f.ParseText(text)
	if err != nil {
		q.fail(f.Name, fault.InvalidValue, "%s", err.Error())
		return value.Value{}, false
	}
	return v, true
}

func (q *queryReader) oneOf(f *schema.Field, sent []string) term {
	values := make([]value.Value, len(sent))
	for i, text := range sent {
		v, ok := q.operand(f, text)
		if !ok {
			return nil
		}
		values[i] = v
	}
	return ready(newMember(f, values), f).asEquality(true)
}

func (q *queryReader) noneOf(f *schema.Field, sent []string) term {
	if t := q.oneOf(f, sent); t != nil {
		return t.not()
	}
	return nil
}

// between is the and of two comparisons, which is what it means in SQL too: a
// null bound leaves the other one to say no.
func (q *queryReader) between(f *schema.Field, sent []string) term {
	low, okLow := q.operand(f, sent[0])
	high, okHigh := q.operand(f, sent[1])
	if !okLow || !okHigh {
		return nil
	}
	return joined(true, []term{
		ready(newCompare(f, greaterOrEqual, low), f),
		ready(newCompare(f, lessOrEqual, high), f),
	})
}

// like takes null as the text it is.
func (q *queryReader) like(f *schema.Field, pattern string, fold bool) term {
	limit := q.entity.Filter.MaxLikePattern
	if f.Type != value.String {
		q.fail(f.Name, fault.InvalidValue, "is of type %s, and like and ilike are for fields of type string", f.Type)
		return nil
	}
	if _, err := value.ParseText(value.String, pattern); err != nil {
		q.fail(f.Name, fault.InvalidValue, "%s", err.Error())
		return nil
	}
	if utf8.RuneCountInString(pattern) > limit {
		q.fail(f.Name, fault.LimitExceeded, "takes a pattern of at most %d characters", limit)
		return nil
	}
	return ready(&match{field: f, pattern: CompileLike(pattern, fold)}, f)
}

// nullCheck reads the flag of isNull, or of isNotNull: false means the other one.
func (q *queryReader) nullCheck(f *schema.Field, flag string, isNull bool) term {
	if flag != "true" && flag != "false" {
		q.fail(f.Name, fault.InvalidValue, "takes true or false")
		return nil
	}
	return ready(&null{field: f, negated: isNull != (flag == "true")}, f)
}
