package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// ListRequest is the query of a list.
type ListRequest struct {
	RawQuery string // filter…, sort, limit, offset, cursor, fields, count, deleted; anything else is bad_parameter
}

// Page is one page of a list.
type Page struct {
	Rows   []store.Row
	Keep   func(field int) bool // fields=; nil: all
	Limit  int
	Offset *int   // nil with a cursor
	Total  *int64 // nil without count=true
	Next   string // sealed cursor; "" at the end
}

// List returns the rows the grant may read; with deleted=true those deleted
// ones that it may restore. Faults: forbidden, bad_parameter, invalid_query
// (every fault of filter, sort and fields together), invalid_cursor, timeout.
func (e *Engine) List(ctx context.Context, g *access.Grant, r ListRequest) (*Page, error) {
	ent, err := e.entity(g, access.Read)
	if err != nil {
		return nil, err
	}
	q, err := ent.parseList(g, r.RawQuery)
	if err != nil {
		return nil, err
	}
	binding := e.binding(ent, g, q)
	selection := q.selection(g)
	page := &Page{Keep: q.keep, Limit: q.limit}
	if q.cursor == "" {
		page.Offset = &q.offset
	} else if selection.After, err = e.sealer.open(binding, q.cursor, len(q.sort)+1); err != nil {
		return nil, err
	}
	err = e.view(ctx, func(r store.Reader) error { return page.fill(r, ent, selection, q.count) })
	if err != nil {
		return nil, asFault(err)
	}
	if len(page.Rows) > q.limit {
		page.Rows = page.Rows[:q.limit]
		page.Next = e.sealer.seal(binding, q.place(ent, page.Rows[q.limit-1]))
	}
	return page, nil
}

// selection always holds the read rules. It asks for one row more than the
// page shows, to know whether there is a next one.
func (q *query) selection(g *access.Grant) store.Query {
	out := store.Query{Where: []*predicate.Predicate{g.Rows(access.Read)}, Sort: q.sort, Limit: q.limit + 1, Offset: q.offset}
	if q.filter != nil {
		out.Where = append(out.Where, q.filter)
	}
	if q.deleted {
		out.Deleted = store.OnlyDeleted
		out.Where = append(out.Where, g.Rows(access.Restore))
	}
	return out
}

func (p *Page) fill(r store.Reader, ent *entity, q store.Query, count bool) (err error) {
	if p.Rows, err = r.Select(ent.Entity, q); err != nil || !count {
		return err
	}
	total, err := r.Count(ent.Entity, store.Query{Where: q.Where, Deleted: q.Deleted})
	p.Total = &total
	return err
}

// place is where a page ends: the cells of the sort, then the id.
func (q *query) place(ent *entity, row store.Row) []value.Value {
	out := make([]value.Value, 0, len(q.sort)+1)
	for _, k := range q.sort {
		out = append(out, row[k.Field])
	}
	return append(out, row[ent.ID])
}

// binding is what a cursor belongs to: for any other list it does not open.
func (e *Engine) binding(ent *entity, g *access.Grant, q *query) string {
	var b strings.Builder
	filter := ""
	if q.filter != nil {
		filter = q.filter.Key()
	}
	fmt.Fprintf(&b, "%q %q %q %q %t", e.config.Tenant, ent.Name, g.ViewKey(), filter, q.deleted)
	for _, k := range q.sort {
		fmt.Fprintf(&b, " %q %t", ent.Fields[k.Field].Name, k.Desc)
	}
	return b.String()
}
