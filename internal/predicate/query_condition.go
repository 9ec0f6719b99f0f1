package predicate

import (
	"unicode/utf8"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// operator is an operator of the filter grammar.
type operator struct {
	read    func(*queryReader, *schema.Field, []string) term // nil after a fault
	list    bool
	members int // of a list; 0: one or more, up to the entity's limit
}

// operators are looked up by the exact name.
func operators(name string) (operator, bool) {
	op, ok := operatorTable[name]
	return op, ok
}

var operatorTable = map[string]operator{
	"eq":        comparison(equal),
	"ne":        comparison(unequal),
	"lt":        comparison(less),
	"lte":       comparison(lessOrEqual),
	"gt":        comparison(greater),
	"gte":       comparison(greaterOrEqual),
	"in":        {list: true, read: (*queryReader).oneOf},
	"notIn":     {list: true, read: (*queryReader).noneOf},
	"between":   {list: true, members: 2, read: (*queryReader).between},
	"like":      {read: func(q *queryReader, f *schema.Field, sent []string) term { return q.like(f, sent[0], false) }},
	"ilike":     {read: func(q *queryReader, f *schema.Field, sent []string) term { return q.like(f, sent[0], true) }},
	"isNull":    {read: func(q *queryReader, f *schema.Field, sent []string) term { return q.nullCheck(f, sent[0], "true") }},
	"isNotNull": {read: func(q *queryReader, f *schema.Field, sent []string) term { return q.nullCheck(f, sent[0], "false") }},
}

func comparison(op relation) operator {
	return operator{read: func(q *queryReader, f *schema.Field, sent []string) term {
		v, ok := q.operand(f, sent[0])
		if !ok {
			return nil
		}
		return ready(newCompare(f, op, v), f).asEquality(op == equal)
	}}
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
	return op.read(q, f, sent)
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
	v, err := parseOperand(f, text)
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

// nullCheck reads a flag; whenNull is the flag that asks for NULL.
func (q *queryReader) nullCheck(f *schema.Field, flag, whenNull string) term {
	if flag != "true" && flag != "false" {
		q.fail(f.Name, fault.InvalidValue, "takes true or false")
		return nil
	}
	return ready(&null{field: f, negated: flag != whenNull}, f)
}
