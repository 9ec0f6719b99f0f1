package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

var migratePromises = []promise{
	{"migrating twice changes nothing", migrateIsIdempotent},
	{"a new field is a new column, empty in the rows there are", addsColumn},
	{"a new field with a literal default has it in the rows there are", addsColumnWithDefault},
	{"a required field without a default is refused where there are rows", refusesRequired},
	{"a required field without a default is added where there are none", addsRequiredToEmpty},
	{"a change of type is refused and nothing of the plan is done", refusesTypeChange},
	{"a field that left the schema is left alone, with a warning", warnsOfDropped},
	{"a field that becomes unique is refused where there are duplicates", refusesDuplicates},
	{"a field that is no longer unique takes duplicates", loosensUnique},
	{"a field that is no longer required takes nulls", loosensRequired},
	{"declared and further indexes are made once", makesIndexes},
}

func migrate(b *bench, entities ...*schema.Entity) (store.Report, error) {
	return b.store.Migrate(b.Context(), store.Plan{Entities: entities})
}

func wantRefusal(b *bench, err error, mentions ...string) {
	b.Helper()
	var refused *store.RefusedError
	if !errors.As(err, &refused) {
		b.Fatalf("error = %v, want a refusal", err)
	}
	for _, m := range mentions {
		if !strings.Contains(err.Error(), m) {
			b.Errorf("refusal %q does not mention %q", err, m)
		}
	}
}

func migrateIsIdempotent(b *bench) {
	b.open(Options{})
	report, err := migrate(b, orders, tickets)
	b.must(err)
	if len(report.Created)+len(report.Warnings) != 0 {
		b.Errorf("report = %+v, want nothing", report)
	}
}

// cell reads the last cell of order a.
func cell(b *bench, e *schema.Entity) (v value.Value) {
	b.Helper()
	b.view(func(r store.Reader) error {
		row, err := r.Get(e, value.OfText("a"))
		if err == nil {
			v = row[len(row)-1]
		}
		return err
	})
	return v
}

func addsColumn(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", ""))
	wider := ordersEntity(&schema.Field{Name: "color", Type: value.String})
	report, err := migrate(b, wider)
	b.must(err)
	if len(report.Created) != 1 || !strings.Contains(report.Created[0], "color") {
		b.Errorf("created %v, want the column", report.Created)
	}
	if v := cell(b, wider); !v.IsNull() {
		b.Errorf("color = %v, want NULL", v)
	}
	b.must(b.write(func(tx store.Tx) error {
		return tx.Update(wider, append(order("a", ""), value.OfText("red")), []int{len(wider.Fields) - 1})
	}))
	if v := cell(b, wider); v != value.OfText("red") {
		b.Errorf("color = %v, want red", v)
	}
}

func addsColumnWithDefault(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", ""))
	for _, want := range []value.Value{
		value.OfText("it's"), value.OfInt(-7), value.OfFloat(2.5), value.OfBlob([]byte{0, 1}),
	} {
		types := map[value.Class]value.Type{value.Text: value.String, value.Int: value.BigInt, value.Float: value.Double, value.Blob: value.Bytes}
		wantDefault(b, types[want.Class()], want, "new_"+types[want.Class()].String())
	}
	for i, text := range []string{"0000-01-01T00:00:00Z", "0000-12-31T23:59:59.999999Z", "0001-01-01T00:00:00.5Z", "1969-12-31T23:59:59.000001Z", "9999-12-31T23:59:59.999999Z"} {
		at, err := value.ParseText(value.Timestamp, text)
		b.must(err)
		wantDefault(b, value.Timestamp, at, fmt.Sprint("at", i))
	}
}

// wantDefault adds a column with a literal default to orders, which has a row.
func wantDefault(b *bench, typ value.Type, want value.Value, name string) {
	b.Helper()
	wider := ordersEntity(&schema.Field{Name: name, Type: typ, Required: true,
		Default: &schema.Default{Kind: schema.DefaultLiteral, Value: want}})
	if _, err := migrate(b, wider); err != nil {
		b.Fatal(err)
	}
	if got := cell(b, wider); got != want {
		b.Errorf("%s = %v, want %v", name, got, want)
	}
}

func refusesRequired(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", ""))
	_, err := migrate(b, ordersEntity(&schema.Field{Name: "color", Type: value.String, Required: true}))
	wantRefusal(b, err, "orders", "color", "ALTER TABLE", "UPDATE")
}

func addsRequiredToEmpty(b *bench) {
	b.open(Options{})
	_, err := migrate(b, ordersEntity(&schema.Field{Name: "color", Type: value.String, Required: true}))
	b.must(err)
}

// changed returns orders with a field replaced.
func changed(i int, f schema.Field) *schema.Entity {
	e := ordersEntity()
	e.Fields = slices.Clone(e.Fields)
	f.Index = i
	e.Fields[i] = &f
	return e
}

func refusesTypeChange(b *bench) {
	b.open(Options{})
	retyped := changed(fTotal, schema.Field{Name: "total", Type: value.String})
	retyped.Fields = append(retyped.Fields, &schema.Field{Name: "color", Type: value.String, Index: len(retyped.Fields)})
	other := newEntity("customer", "customers", false, &schema.Field{Name: "id", Type: value.ULID})
	_, err := migrate(b, other, retyped)
	wantRefusal(b, err, "orders", "total", "ALTER TABLE")
	report, err := migrate(b, other)
	b.must(err)
	if len(report.Created) != 1 {
		b.Errorf("created %v afterwards, want the table that the refused plan left out", report.Created)
	}
	_, err = migrate(b, changed(fID, schema.Field{Name: "id", Type: value.BigInt}))
	wantRefusal(b, err, "orders", "id")
}

func warnsOfDropped(b *bench) {
	b.open(Options{}, ordersEntity(&schema.Field{Name: "gone", Type: value.String}))
	report, err := migrate(b, orders)
	b.must(err)
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0], "gone") {
		b.Errorf("warnings %v, want one about the column", report.Warnings)
	}
	b.must(b.insert("a", ""))
}

func refusesDuplicates(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", "", with(fNote, value.OfText("same"))))
	b.must(b.insert("b", "", with(fNote, value.OfText("same"))))
	_, err := migrate(b, changed(fNote, schema.Field{Name: "note", Type: value.String, Unique: true}))
	wantRefusal(b, err, "orders", "note", "SELECT")
}

func loosensUnique(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", "same"))
	loose := changed(fTitle, schema.Field{Name: "title", Type: value.String})
	if _, err := migrate(b, loose); err != nil {
		b.Fatal(err)
	}
	b.must(b.write(func(tx store.Tx) error { return tx.Insert(loose, order("b", "same")) }))
}

func loosensRequired(b *bench) {
	b.open(Options{}, changed(fNote, schema.Field{Name: "note", Type: value.String, Required: true}))
	if _, err := migrate(b, orders); err != nil {
		b.Fatal(err)
	}
	b.must(b.insert("a", ""))
}

func makesIndexes(b *bench) {
	b.open(Options{})
	indexed := ordersEntity()
	indexed.Indexes = [][]int{{fNote, fTotal}}
	plan := store.Plan{Entities: []*schema.Entity{indexed}, Indexes: map[*schema.Entity][][]int{indexed: {{fTotal}, {fNote}, {fID}}}}
	report, err := b.store.Migrate(b.Context(), plan)
	b.must(err)
	if len(report.Created) != 2 {
		b.Errorf("created %v, want (note, total) and (total): the others are served by those there are", report.Created)
	}
	report, err = b.store.Migrate(b.Context(), plan)
	b.must(err)
	if len(report.Created) != 0 {
		b.Errorf("created %v again", report.Created)
	}
}
