package predicate

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/schema"
)

// Limits that hold whatever the entity declares: databases bound the depth of
// an expression and the values bound in a statement.
const (
	deepest       = highest
	maxConditions = 500
	maxOperands   = 5000
	maxParameters = maxConditions + maxOperands
	maxFaults     = 100 // reported at once
)

// queryReader reads one query string, and goes on after a fault so that all of
// them are reported together.
type queryReader struct {
	entity     *schema.Entity
	allowed    func(int) bool
	faults     []fault.FieldError
	conditions int
	operands   int
}

// ParseQuery reads every parameter of a raw query string (without "?") whose
// name begins with "filter". It returns nil where there is none; what begins so
// and gives no condition is an error, never "no filter". allowed says which
// fields the caller may filter by, of those the entity lets be filtered. The
// error is a *fault.Fault with code invalid_query and all FieldErrors.
func ParseQuery(e *schema.Entity, rawQuery string, allowed func(field int) bool) (*Tree, error) {
	q := &queryReader{entity: e, allowed: allowed}
	conditions := &branch{}
	var objects []string
	sent := 0
	for _, parameter := range strings.Split(rawQuery, "&") {
		name, text, ok := q.decode(parameter)
		if !ok {
			continue
		}
		if sent++; sent > maxParameters {
			q.tooMany()
			break
		}
		if name == "filter" {
			objects = append(objects, text)
		} else if path, ok := brackets(strings.TrimPrefix(name, "filter")); ok {
			q.place(conditions, path, text)
		} else {
			q.fail("filter", fault.InvalidValue, "a parameter that begins with filter is filter[FIELD][OPERATOR]=VALUE, or filter={…} in JSON")
		}
	}
	terms := q.branch(conditions)
	if len(objects) > 1 {
		q.fail("filter", fault.InvalidValue, "filter={…} may be given once; put both into one object")
	} else if len(objects) == 1 {
		terms = append(terms, q.document(objects[0])...)
	}
	root := joined(true, terms)
	if height(root) > highest {
		q.fail("filter", fault.LimitExceeded, "nests too many conditions; use in for lists of values")
	}
	if len(q.faults) > 0 {
		return nil, fault.New(fault.InvalidQuery, "the filter is not valid").With(q.faults...)
	}
	if sent == 0 {
		return nil, nil
	}
	return &Tree{root: root}, nil
}

// decode splits and decodes a parameter; ok is false where it is no filter. One
// that does not decode may hide a filter, and so is never skipped in silence.
func (q *queryReader) decode(parameter string) (name, text string, ok bool) {
	rawName, rawText, _ := strings.Cut(parameter, "=")
	name, err := url.QueryUnescape(rawName)
	if err == nil && strings.HasPrefix(name, "filter") {
		ok = true
		text, err = url.QueryUnescape(rawText)
	}
	if err != nil || strings.Contains(parameter, ";") {
		q.fail("filter", fault.InvalidValue, "the query string does not decode: %% must be followed by two hexadecimal digits, and ; be sent as %%3B")
		return "", "", false
	}
	return name, text, ok
}

// fail notes a fault once, and only so many: each costs a look at the others.
func (q *queryReader) fail(field string, code fault.Code, format string, args ...any) {
	for _, f := range q.faults {
		if f.Field == field && f.Code == string(code) {
			return
		}
	}
	if len(q.faults) == maxFaults {
		return
	}
	q.faults = append(q.faults, fault.FieldError{Field: field, Code: string(code), Detail: fmt.Sprintf(format, args...)})
}

// field finds a field that may be filtered by. Whether another one exists is
// not told.
func (q *queryReader) field(name string) (*schema.Field, bool) {
	i, ok := q.entity.Field(name)
	if !ok || !slices.Contains(q.entity.Filter.Fields, i) || q.allowed != nil && !q.allowed(i) {
		q.fail(name, fault.InvalidField, "is no field that you can filter by")
		return nil, false
	}
	return q.entity.Fields[i], true
}

// within reports whether another branch may be opened at the depth.
func (q *queryReader) within(depth int) bool {
	limit := min(q.entity.Filter.MaxDepth, deepest)
	if depth > limit {
		q.fail("filter", fault.LimitExceeded, "nests deeper than %d levels; the root is the first", limit)
		return false
	}
	return true
}

// counted reports whether the filter may hold so many operands more.
func (q *queryReader) counted(operands int) bool {
	q.conditions++
	q.operands += operands
	if q.conditions > maxConditions || q.operands > maxOperands {
		q.tooMany()
		return false
	}
	return true
}

func (q *queryReader) tooMany() {
	q.fail("filter", fault.LimitExceeded, "may hold %d conditions and %d values", maxConditions, maxOperands)
}

func (q *queryReader) noGroup(group string) {
	example := "filter[" + group + "][0][FIELD][OPERATOR]=VALUE"
	if group == "not" {
		example = "filter[not][FIELD][OPERATOR]=VALUE"
	}
	q.fail("filter["+group+"]", fault.InvalidValue, "must hold conditions, as in %s", example)
}
