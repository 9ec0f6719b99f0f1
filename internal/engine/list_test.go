package engine_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
)

func (h *house) tryList(pr *access.Principal, entity, query string) (*engine.Page, error) {
	h.t.Helper()
	return h.List(context.Background(), h.grant(pr, entity, access.Read), engine.ListRequest{RawQuery: query})
}

func (h *house) list(pr *access.Principal, entity, query string) *engine.Page {
	h.t.Helper()
	page, err := h.tryList(pr, entity, query)
	if err != nil {
		h.t.Fatal(err)
	}
	return page
}

// column returns one field of each row of a page, as text.
func column(p *engine.Page, field int) string {
	out := make([]string, len(p.Rows))
	for i, row := range p.Rows {
		if row[field].IsNull() {
			out[i] = "null"
			continue
		}
		if out[i] = row[field].Text(); out[i] == "" {
			out[i] = fmt.Sprint(row[field].Int())
		}
	}
	return strings.Join(out, " ")
}

func notes(h *house) {
	for i, n := range []string{"null", "2", "1", "2", "null", "3"} {
		h.given(alice, "note", fmt.Sprintf(`{"id":%d,"rank":%s,"text":"%c"}`, i+1, n, 'a'+i))
	}
}

func TestAListIsInTheOrderAskedFor(t *testing.T) {
	h := open(t, func(c *engine.Config) { c.Now = nil })
	notes(h)
	for _, c := range []struct{ query, want string }{
		{"", "1 2 3 4 5 6"},
		{"sort=rank", "3 2 4 6 1 5"},       // nulls last, the id breaks ties
		{"sort=-rank", "6 2 4 3 1 5"},      // nulls last here too
		{"sort=rank,-text", "3 4 2 6 5 1"}, //
		{"sort=-id", "6 5 4 3 2 1"},        //
		{"filter[rank][gte]=2", "2 4 6"},   //
		{"limit=2&offset=1", "2 3"},        //
		{"offset=100", ""},                 //
		{"filter[rank][isNull]=true", "1 5"},
	} {
		if got := column(h.list(alice, "note", c.query), 0); got != c.want {
			t.Errorf("%s: got %s, want %s", c.query, got, c.want)
		}
	}
}

func TestPagesByCursorMissNothingAndRepeatNothing(t *testing.T) {
	h := open(t)
	notes(h)
	for _, sort := range []string{"", "sort=rank", "sort=-rank", "sort=-rank,text", "sort=-id", "sort=id,rank"} {
		for limit := 1; limit <= 7; limit++ {
			whole := column(h.list(alice, "note", sort), 0)
			var got []string
			query := fmt.Sprintf("%s&limit=%d", sort, limit)
			for next := ""; ; {
				page := h.list(alice, "note", query+next)
				if (next == "") != (page.Offset != nil) {
					t.Errorf("offset: got %v with cursor %q", page.Offset, next)
				}
				got = append(got, strings.Fields(column(page, 0))...)
				if page.Next == "" {
					break
				}
				next = "&cursor=" + page.Next
			}
			if strings.Join(got, " ") != whole {
				t.Errorf("%s by %d: got %v, want %s", sort, limit, got, whole)
			}
		}
	}
}

func TestACursorIsBoundToItsListAndItsReader(t *testing.T) {
	h := open(t)
	for range 3 {
		h.given(alice, "order", `{"title":"ab","status":"open"}`)
	}
	query := "limit=1&sort=title&filter[title][eq]=ab"
	next := "&cursor=" + h.list(alice, "order", query).Next
	if got := len(h.list(alice, "order", query+next).Rows); got != 1 {
		t.Fatalf("got %d rows", got)
	}
	for name, c := range map[string]struct {
		pr    *access.Principal
		query string
	}{
		"another sort":    {alice, "limit=1&sort=-title&filter[title][eq]=ab" + next},
		"another filter":  {alice, "limit=1&sort=title&filter[title][eq]=cd" + next},
		"no filter":       {alice, "limit=1&sort=title" + next},
		"deleted rows":    {alice, query + "&deleted=true" + next},
		"another view":    {staff, query + next},
		"a bent cursor":   {alice, query + next + "A"},
		"an empty cursor": {alice, query + "&cursor="},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.tryList(c.pr, "order", c.query)
			wantFault(t, err, fault.InvalidCursor)
		})
	}
	_, err := h.tryList(alice, "note", "sort=text"+next)
	wantFault(t, err, fault.InvalidCursor)
}

func TestTheTotalCountsWhatTheCallerSees(t *testing.T) {
	h := open(t)
	for range 3 {
		h.given(alice, "order", `{"title":"ab"}`)
		h.given(bob, "order", `{"title":"ab"}`)
	}
	page := h.list(alice, "order", "count=true&limit=2")
	if page.Total == nil || *page.Total != 3 || len(page.Rows) != 2 {
		t.Errorf("got total %v of %d rows, want 3 of 2", page.Total, len(page.Rows))
	}
	if page := h.list(alice, "order", "count=false"); page.Total != nil {
		t.Errorf("got total %d unasked", *page.Total)
	}
}

func TestAListShowsTheFieldsAskedFor(t *testing.T) {
	h := open(t)
	h.given(alice, "order", `{"title":"ab"}`)
	page := h.list(alice, "order", "fields=+title,,card")
	policy, _ := h.Policy("order")
	for i, f := range policy.Entity.Fields {
		if want := f.Name == "title" || f.Name == "card"; page.Keep(i) != want {
			t.Errorf("%s: got %t, want %t", f.Name, page.Keep(i), want)
		}
	}
	if page := h.list(alice, "order", ""); page.Keep != nil {
		t.Error("a projection unasked")
	}
}

func TestListParametersAreJudgedStrictly(t *testing.T) {
	h := open(t)
	for _, c := range []struct {
		query string
		code  fault.Code
	}{
		{"limit=0", fault.BadParameter}, {"limit=101", fault.BadParameter}, {"limit=-1", fault.BadParameter},
		{"limit=+5", fault.BadParameter}, {"limit=%2B5", fault.BadParameter}, {"limit=1e1", fault.BadParameter}, {"limit=", fault.BadParameter},
		{"offset=-1", fault.BadParameter}, {"offset=99999999999999999999", fault.BadParameter},
		{"offset=0&cursor=x", fault.BadParameter}, {"count=1", fault.BadParameter}, {"count=", fault.BadParameter},
		{"deleted=yes", fault.BadParameter}, {"limit=1&limit=1", fault.BadParameter}, {"sort=rank&sort=rank", fault.BadParameter},
		{"order=rank", fault.BadParameter}, {"Limit=1", fault.BadParameter}, {"=1", fault.BadParameter}, {"page", fault.BadParameter},
		{"limit=%zz", fault.InvalidQuery}, {"limit=1;offset=2", fault.InvalidQuery}, {"cursor=x", fault.InvalidCursor},
	} {
		if _, err := h.tryList(alice, "note", c.query); !fault.Is(err, c.code) {
			t.Errorf("%s: got %v, want %s", c.query, err, c.code)
		}
	}
	if page := h.list(alice, "note", "limit=100&offset=0&count=true&"); page.Limit != 100 {
		t.Errorf("got limit %d", page.Limit)
	}
	if page := h.list(alice, "note", ""); page.Limit != 20 || *page.Offset != 0 {
		t.Errorf("got %d, %d, want the defaults", page.Limit, *page.Offset)
	}
}

func TestAllFaultsOfAQueryAreReportedTogether(t *testing.T) {
	h := open(t)
	_, err := h.tryList(alice, "order", "filter[notes][eq]=x&filter[total][gt]=abc&filter[title][zap]=1&sort=card,meta,zap,,title,title&fields=stamp")
	wantErrors(t, err, fault.InvalidQuery,
		"notes invalid_field", "total invalid_value", "title invalid_operator",
		"card invalid_field", "meta invalid_field", "zap invalid_field", "sort invalid_value", "title invalid_value", "stamp invalid_field")
	_, err = h.tryList(alice, "order", "sort="+strings.Repeat("title,", 9))
	wantErrors(t, err, fault.InvalidQuery, "sort limit_exceeded")
	_, err = h.tryList(alice, "order", "fields="+url.QueryEscape(" , "))
	wantErrors(t, err, fault.InvalidQuery, "fields invalid_value")
}

func TestAProbeIsARead(t *testing.T) {
	h := open(t)
	if err := h.Probe(context.Background(), h.grant(alice, "order", access.Read)); err != nil {
		t.Error(err)
	}
	wantFault(t, h.Probe(context.Background(), h.grant(writer, "order", access.Create)), fault.Forbidden)
}
