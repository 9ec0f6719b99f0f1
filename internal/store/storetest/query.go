package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

var queryPromises = []promise{
	{"a query orders by its keys, nulls last either way, then by id", selectOrders},
	{"keyset pages show each row once, in order", keysetPages},
	{"limit and offset cut the order", limitAndOffset},
	{"a query sees live rows, deleted ones or all", deletedFilter},
	{"a query's predicates must all be true", predicatesSelect},
	{"Count counts what Select finds", countAgrees},
	{"text is ordered by bytes", textOrder},
}

// seed writes rows with nulls and doubles in total and note.
func seed(b *bench) {
	b.open(Options{})
	b.must(b.write(func(tx store.Tx) error {
		for i, total := range []any{3, nil, 1, 3, nil, -2, 1, 3} {
			row := order(fmt.Sprintf("id%d", i), "")
			if n, ok := total.(int); ok {
				row[fTotal] = value.OfInt(int64(n))
			}
			if i%3 != 0 {
				row[fNote] = value.OfText(string(rune('a' + i%3)))
			}
			if err := tx.Insert(orders, row); err != nil {
				return err
			}
		}
		return nil
	}))
}

var sorts = []struct {
	name string
	sort []store.SortKey
	want []string
}{
	{"no key", nil, []string{"id0", "id1", "id2", "id3", "id4", "id5", "id6", "id7"}},
	{"total", []store.SortKey{{Field: fTotal}}, []string{"id5", "id2", "id6", "id0", "id3", "id7", "id1", "id4"}},
	{"total descending", []store.SortKey{{Field: fTotal, Desc: true}}, []string{"id0", "id3", "id7", "id2", "id6", "id5", "id1", "id4"}},
	{"note, total descending", []store.SortKey{{Field: fNote}, {Field: fTotal, Desc: true}}, []string{"id7", "id1", "id4", "id2", "id5", "id0", "id3", "id6"}},
	{"note descending, total", []store.SortKey{{Field: fNote, Desc: true}, {Field: fTotal}}, []string{"id5", "id2", "id7", "id1", "id4", "id6", "id0", "id3"}},
	{"id descending", []store.SortKey{{Field: fID, Desc: true}}, []string{"id7", "id6", "id5", "id4", "id3", "id2", "id1", "id0"}},
}

func selectOrders(b *bench) {
	seed(b)
	for _, c := range sorts {
		b.Run(c.name, func(t *testing.T) {
			if got := b.selectIDs(store.Query{Sort: c.sort}); !slices.Equal(got, c.want) {
				t.Errorf("got  %v\nwant %v", got, c.want)
			}
		})
	}
}

func keysetPages(b *bench) {
	seed(b)
	for _, c := range sorts {
		for limit := 1; limit <= 3; limit++ {
			b.Run(fmt.Sprintf("%s, %d a page", c.name, limit), func(t *testing.T) {
				if got := walk(b, c.sort, limit); !slices.Equal(got, c.want) {
					t.Errorf("got  %v\nwant %v", got, c.want)
				}
			})
		}
	}
}

// walk follows the keyset from page to page.
func walk(b *bench, sort []store.SortKey, limit int) (ids []string) {
	q := store.Query{Sort: sort, Limit: limit}
	for {
		var page []store.Row
		b.view(func(r store.Reader) (err error) {
			page, err = r.Select(orders, q)
			return err
		})
		for _, row := range page {
			ids = append(ids, row[fID].Text())
		}
		if len(page) < limit || len(ids) > 100 {
			return ids
		}
		q.After = nil
		for _, k := range sort {
			q.After = append(q.After, page[limit-1][k.Field])
		}
		q.After = append(q.After, page[limit-1][fID])
	}
}

func limitAndOffset(b *bench) {
	seed(b)
	for _, c := range []struct {
		limit, offset int
		want          []string
	}{
		{2, 0, []string{"id0", "id1"}},
		{2, 6, []string{"id6", "id7"}},
		{0, 6, []string{"id6", "id7"}},
		{5, 99, nil},
	} {
		if got := b.selectIDs(store.Query{Limit: c.limit, Offset: c.offset}); !slices.Equal(got, c.want) {
			b.Errorf("limit %d offset %d: got %v, want %v", c.limit, c.offset, got, c.want)
		}
	}
}

func deletedFilter(b *bench) {
	b.open(Options{})
	b.must(b.insert("dead", "", with(fDeletedOn, value.OfInt(1)), with(fDeletedBy, value.OfText("ann"))))
	b.must(b.insert("live", ""))
	for _, c := range []struct {
		deleted store.Deleted
		want    []string
	}{
		{store.Live, []string{"live"}},
		{store.OnlyDeleted, []string{"dead"}},
		{store.All, []string{"dead", "live"}},
	} {
		if got := b.selectIDs(store.Query{Deleted: c.deleted}); !slices.Equal(got, c.want) {
			b.Errorf("Deleted %d: got %v, want %v", c.deleted, got, c.want)
		}
	}
	b.view(func(r store.Reader) error {
		if _, err := r.Get(orders, value.OfText("dead")); err != nil {
			b.Errorf("Get of a deleted row: %v, want the raw row", err)
		}
		none, err := r.Count(tickets, store.Query{Deleted: store.OnlyDeleted})
		if none != 0 {
			b.Errorf("%d deleted rows of an entity without soft delete", none)
		}
		return err
	})
}

func predicatesSelect(b *bench) {
	seed(b)
	for _, c := range []struct {
		where []*predicate.Predicate
		want  []string
	}{
		{[]*predicate.Predicate{predicate.Always()}, []string{"id0", "id1", "id2", "id3", "id4", "id5", "id6", "id7"}},
		{[]*predicate.Predicate{predicate.Always(), predicate.Never()}, nil},
	} {
		if got := b.selectIDs(store.Query{Where: c.where}); !slices.Equal(got, c.want) {
			b.Errorf("got %v, want %v", got, c.want)
		}
	}
}

func countAgrees(b *bench) {
	seed(b)
	b.view(func(r store.Reader) error {
		n, err := r.Count(orders, store.Query{Limit: 2, Offset: 1, Sort: sorts[1].sort})
		never, err2 := r.Count(orders, store.Query{Where: []*predicate.Predicate{predicate.Never()}})
		if n != 8 || never != 0 {
			b.Errorf("counted %d and %d, want 8 and 0", n, never)
		}
		return errors.Join(err, err2)
	})
}

func textOrder(b *bench) {
	b.open(Options{})
	titles := []string{"\U0001F600", "\uFFFD", "é", "z", "a", "Z", "10", "9", " "}
	for i, title := range titles {
		b.must(b.insert(fmt.Sprintf("id%d", i), title))
	}
	var got []string
	b.view(func(r store.Reader) error {
		rows, err := r.Select(orders, store.Query{Sort: []store.SortKey{{Field: fTitle}}})
		for _, row := range rows {
			got = append(got, row[fTitle].Text())
		}
		return err
	})
	want := slices.Sorted(slices.Values(titles))
	if !slices.Equal(got, want) {
		b.Errorf("got  %q\nwant %q", got, want)
	}
}
