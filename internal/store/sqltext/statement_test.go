package sqltext

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// plain is a dialect that these tests can read.
type plain struct{}

func (plain) Column(f *schema.Field) string { return Quote(f.Name) }
func (plain) Placeholder(n int) string      { return fmt.Sprint("?", n) }
func (plain) Like(column string, _ *predicate.Pattern, _ func(value.Value) string) string {
	return column
}
func (plain) Has(_, column string, _ int) string { return column }

func book(soft bool) *schema.Entity {
	e := &schema.Entity{Name: "book", Table: `bo"ok`, SoftDelete: soft, Fields: []*schema.Field{
		{Name: "id", Type: value.String}, {Name: "a", Type: value.BigInt}, {Name: "b", Type: value.String}, {Name: "deletedon", Type: value.Timestamp},
	}}
	for i, f := range e.Fields {
		f.Index = i
	}
	return e
}

const fromBook = `SELECT "id", "a", "b", "deletedon" FROM ns."bo""ok"`

func TestAQuerySelects(t *testing.T) {
	one, null := value.OfInt(1), value.Value{}
	for name, c := range map[string]struct {
		query store.Query
		sql   string
		args  []value.Value
	}{
		"everything":     {store.Query{Deleted: store.All}, ` ORDER BY "id"`, nil},
		"live rows":      {store.Query{}, ` WHERE "deletedon" IS NULL ORDER BY "id"`, nil},
		"deleted rows":   {store.Query{Deleted: store.OnlyDeleted}, ` WHERE "deletedon" IS NOT NULL ORDER BY "id"`, nil},
		"a page":         {store.Query{Deleted: store.All, Limit: 2, Offset: 3}, ` ORDER BY "id" LIMIT ?1 OFFSET ?2`, []value.Value{value.OfInt(2), value.OfInt(3)}},
		"a tail":         {store.Query{Deleted: store.All, Offset: 3}, ` ORDER BY "id" LIMIT ?1 OFFSET ?2`, []value.Value{value.OfInt(1 << 62), value.OfInt(3)}},
		"both ways":      {store.Query{Deleted: store.All, Sort: []store.SortKey{{Field: 1}, {Field: 2, Desc: true}}}, ` ORDER BY "a" NULLS LAST, "b" DESC NULLS LAST, "id"`, nil},
		"what is true":   {store.Query{Where: []*predicate.Predicate{predicate.Always(), predicate.Never()}}, ` WHERE "deletedon" IS NULL AND ((1 = 1)) AND ((1 = 0)) ORDER BY "id"`, nil},
		"behind an id":   {store.Query{Deleted: store.All, After: []value.Value{one}}, ` WHERE "id" > ?1 ORDER BY "id"`, []value.Value{one}},
		"behind a value": {store.Query{Deleted: store.All, Sort: []store.SortKey{{Field: 1, Desc: true}}, After: []value.Value{one, one}}, ` WHERE ("a" < ?1 OR "a" IS NULL OR ("a" = ?2 AND "id" > ?3)) ORDER BY "a" DESC NULLS LAST, "id"`, []value.Value{one, one, one}},
		"behind a NULL":  {store.Query{Deleted: store.All, Sort: []store.SortKey{{Field: 1}}, After: []value.Value{null, one}}, ` WHERE ("a" IS NULL AND "id" > ?1) ORDER BY "a" NULLS LAST, "id"`, []value.Value{one}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := NewTable(plain{}, "ns.", book(true), nil).Select([]byte("what was there"), c.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(s.SQL); got != fromBook+c.sql || !slices.Equal(s.Args, c.args) {
				t.Errorf("got  %s %v\nwant %s %v", got, s.Args, fromBook+c.sql, c.args)
			}
		})
	}
}

func TestAKeysetFitsItsOrder(t *testing.T) {
	if _, err := NewTable(plain{}, "", book(false), nil).Select(nil, store.Query{After: make([]value.Value, 2)}); err == nil {
		t.Error("a keyset of two cells was taken for the id alone")
	}
}

func TestWithoutSoftDeleteNothingIsDeleted(t *testing.T) {
	table := NewTable(plain{}, "", book(false), nil)
	for deleted, want := range map[store.Deleted]string{store.Live: "", store.All: "", store.OnlyDeleted: " WHERE (1 = 0)"} {
		if got := string(table.Count(nil, store.Query{Deleted: deleted, Limit: 1}).SQL); got != `SELECT count(*) FROM "bo""ok"`+want {
			t.Errorf("Deleted %d: %s", deleted, got)
		}
	}
}

func TestARowIsWritten(t *testing.T) {
	table := NewTable(plain{}, "", book(false), nil)
	row := store.Row{value.OfText("x"), value.OfInt(1), value.OfText("b"), {}}
	update := table.Update(nil, row, []int{2, 1})
	for got, want := range map[string]string{
		table.Get:             `SELECT "id", "a", "b", "deletedon" FROM "bo""ok" WHERE "id" = ?1`,
		table.Insert:          `INSERT INTO "bo""ok" ("id", "a", "b", "deletedon") VALUES (?1, ?2, ?3, ?4)`,
		table.InsertBut(0):    `INSERT INTO "bo""ok" ("a", "b", "deletedon") VALUES (?1, ?2, ?3)`,
		table.Delete:          `DELETE FROM "bo""ok" WHERE "id" = ?1`,
		string(update.SQL):    `UPDATE "bo""ok" SET "b" = ?1, "a" = ?2 WHERE "id" = ?3`,
		onlyID().InsertBut(0): `INSERT INTO "only" DEFAULT VALUES`,
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if want := []value.Value{row[2], row[1], row[0]}; !slices.Equal(update.Args, want) {
		t.Errorf("the update has %v, want %v", update.Args, want)
	}
}

func onlyID() *Table {
	return NewTable(plain{}, "", &schema.Entity{Table: "only", Fields: []*schema.Field{{Name: "id", Type: value.BigInt}}}, nil)
}

func TestTextsOfAnIndexShareItsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		declared, further [][]int
		want              []int
	}{
		"the key and a unique field":   {nil, nil, []int{2600, 0, 2600, 0}},
		"two in one":                   {[][]int{{0, 1, 2}}, nil, []int{1300, 0, 1300, 0}},
		"the least room counts":        {[][]int{{2}, {2, 0}}, nil, []int{1300, 0, 1300, 0}},
		"a further one counts":         {nil, [][]int{{1, 2, 0}}, []int{1300, 0, 1300, 0}},
		"one that is served adds none": {nil, [][]int{{2}, {0}}, []int{2600, 0, 2600, 0}},
	} {
		e := book(false)
		e.Fields[2].Unique, e.Indexes = true, c.declared
		if got := rooms(e, c.further); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
