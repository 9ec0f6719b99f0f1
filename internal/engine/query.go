package engine

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
)

// The bounds of a list.
const (
	defaultLimit = 20
	maxLimit     = 100
	maxSortKeys  = 8
)

// query is a list's query string, read.
type query struct {
	filter  *predicate.Predicate // nil: none
	sort    []store.SortKey
	limit   int
	offset  int
	cursor  string
	keep    func(field int) bool
	count   bool
	deleted bool
}

// parameters returns the parameters of a query string but for those of the
// filter. An unknown or repeated one is refused: a misspelt filter must not
// become a list of everything.
func parameters(raw string, known ...string) (map[string]string, error) {
	out := map[string]string{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		rawName, rawText, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(rawName)
		text, err2 := url.QueryUnescape(rawText)
		if err != nil || err2 != nil || strings.Contains(pair, ";") {
			return nil, fault.New(fault.InvalidQuery, "the query string does not decode: check its percent escapes, and write ; as %%3B").
				With(fault.FieldError{Field: "filter", Code: string(fault.InvalidValue), Detail: "the query string does not decode"})
		}
		if strings.HasPrefix(name, "filter") {
			continue
		}
		if !slices.Contains(known, name) {
			return nil, badParameter(name, "is not known here", known)
		}
		if _, twice := out[name]; twice {
			return nil, badParameter(name, "is given twice", nil)
		}
		out[name] = text
	}
	return out, nil
}

func badParameter(name, what string, available []string) error {
	f := fault.New(fault.BadParameter, "parameter %q %s", clipped(name), what)
	f.Available = available
	return f
}

// filter reads the filter of a query string: by listed fields, as far as the
// caller reads them unmasked. nil is no filter.
func (ent *entity) filter(g *access.Grant, raw string) (*predicate.Predicate, error) {
	return ent.filterBy(raw, func(field int) bool {
		return slices.Contains(ent.Filter.Fields, field) && g.ReadsPlain(field)
	})
}

func (ent *entity) filterBy(raw string, may func(field int) bool) (*predicate.Predicate, error) {
	tree, err := predicate.ParseQuery(ent.Entity, raw, may)
	if err != nil || tree == nil {
		return nil, err
	}
	return tree.Bind(predicate.Caller{}), nil
}

func (ent *entity) parseList(g *access.Grant, raw string) (*query, error) {
	given, err := parameters(raw, "sort", "limit", "offset", "cursor", "fields", "count", "deleted")
	if err != nil {
		return nil, err
	}
	q := &query{limit: defaultLimit, cursor: given["cursor"]}
	if err := q.page(given); err != nil {
		return nil, err
	}
	if err := ent.flags(g, q, given); err != nil {
		return nil, err
	}
	var faults []fault.FieldError
	q.filter, err = ent.filter(g, raw)
	if f, ok := fault.Of(err); ok && f.Code == fault.InvalidQuery {
		faults = append(faults, f.Errors...)
	} else if err != nil {
		return nil, err
	}
	if text, ok := given["sort"]; ok {
		faults = append(faults, ent.sort(g, q, text)...)
	}
	if text, ok := given["fields"]; ok {
		keep, wrong := project(g, text)
		q.keep, faults = keep, append(faults, wrong...)
	}
	if len(faults) > 0 {
		return nil, unanswerable(faults)
	}
	return q, nil
}

// page reads limit, offset and cursor. Out of range is a fault, never clamped.
func (q *query) page(given map[string]string) (err error) {
	if text, ok := given["limit"]; ok {
		if q.limit, err = number("limit", text, 1, maxLimit); err != nil {
			return err
		}
	}
	text, hasOffset := given["offset"]
	cursor, hasCursor := given["cursor"]
	switch {
	case hasOffset && hasCursor:
		return badParameter("offset", "cannot go with cursor: take one of them", nil)
	case hasCursor && cursor == "":
		return fault.New(fault.InvalidCursor, "the cursor is empty; leave it out to start from the beginning")
	case hasOffset:
		q.offset, err = number("offset", text, 0, 1<<31-1)
	}
	return err
}

func number(name, text string, lo, hi int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < lo || n > hi || text[0] == '+' || text[0] == '-' {
		return 0, badParameter(name, "must be a whole number from "+strconv.Itoa(lo)+" to "+strconv.Itoa(hi), nil)
	}
	return n, nil
}

func (ent *entity) flags(g *access.Grant, q *query, given map[string]string) (err error) {
	if q.count, err = flag(given, "count"); err != nil {
		return err
	}
	if q.deleted, err = flag(given, "deleted"); err != nil || !q.deleted {
		return err
	}
	if !ent.SoftDelete {
		return badParameter("deleted", "means nothing here: rows of "+ent.Name+" are not soft-deleted", nil)
	}
	return permit(ent, g, access.Restore)
}

func flag(given map[string]string, name string) (bool, error) {
	text, ok := given[name]
	if ok && text != "true" && text != "false" {
		return false, badParameter(name, "must be true or false", nil)
	}
	return text == "true", nil
}

// sort reads -total,title: fields the caller reads unmasked, since an order by
// a hidden field would tell it.
func (ent *entity) sort(g *access.Grant, q *query, text string) (faults []fault.FieldError) {
	refuse := func(field string, code fault.Code, detail string) {
		faults = append(faults, fault.FieldError{Field: clipped(field), Code: string(code), Detail: detail})
	}
	names := strings.Split(text, ",")
	if len(names) > maxSortKeys {
		refuse("sort", fault.LimitExceeded, "takes at most "+strconv.Itoa(maxSortKeys)+" fields")
		return faults
	}
	for _, name := range names {
		name, desc := strings.CutPrefix(name, "-")
		i, ok := ent.Field(name)
		switch {
		case name == "":
			refuse("sort", fault.InvalidValue, "must name fields, such as -total,title")
		case !ok || !g.ReadsPlain(i) || !ent.Fields[i].Type.Scalar():
			refuse(name, fault.InvalidField, "cannot be sorted by")
		case slices.ContainsFunc(q.sort, func(k store.SortKey) bool { return k.Field == i }):
			refuse(name, fault.InvalidValue, "is given twice in sort")
		default:
			q.sort = append(q.sort, store.SortKey{Field: i, Desc: desc})
		}
	}
	return faults
}

// Projection reads the value of fields=id,title, which names what the caller
// may read of a row. The fault is invalid_query.
func Projection(g *access.Grant, text string) (keep func(field int) bool, err error) {
	keep, faults := project(g, text)
	if len(faults) > 0 {
		return nil, unanswerable(faults)
	}
	return keep, nil
}

// project is Projection for who has more to report. Names are trimmed and empty
// ones dropped, as on channels; a list of none is refused, since it would answer
// empty objects.
func project(g *access.Grant, text string) (keep func(field int) bool, faults []fault.FieldError) {
	entity := g.Policy.Entity
	kept := make([]bool, len(entity.Fields))
	named := false
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		named = true
		i, ok := entity.Field(name)
		if !ok || !g.Reads(i) {
			faults = append(faults, fault.FieldError{Field: clipped(name), Code: string(fault.InvalidField), Detail: "is no field you can read"})
			continue
		}
		kept[i] = true
	}
	if !named {
		faults = []fault.FieldError{{Field: "fields", Code: string(fault.InvalidValue), Detail: "must name a field; leave it out for all"}}
	}
	return func(field int) bool { return kept[field] }, faults
}

func unanswerable(faults []fault.FieldError) error {
	return fault.New(fault.InvalidQuery, "the query cannot be answered: see errors").With(bounded(faults)...)
}
