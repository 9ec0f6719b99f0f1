package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// What one database takes and another does not is taken by none.
var roomPromises = []promise{
	{"a text too long for an index is refused and the field named", indexRoom},
	{"texts of one index share its room alike", sharedRoom},
	{"a row with a long text keeps what no index holds", longTexts},
	{"a text that no row can hold finds nothing", unkeepableFindsNothing},
	{"a claim that no field can hold denies, and is no error", hostileClaims},
}

// random returns a text of n bytes that cannot be compressed.
func random(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		sum := sha256.Sum256(fmt.Append(nil, i))
		b.WriteString(hex.EncodeToString(sum[:]))
	}
	return b.String()[:n]
}

func wantTooLong(b *bench, err error, field string) {
	b.Helper()
	f, ok := fault.Of(err)
	if !ok || f.Code != fault.Invalid || len(f.Errors) != 1 || f.Errors[0].Field != field || f.Errors[0].Code != "maxlength" {
		b.Errorf("error = %v, want %s refused as too long", err, field)
	}
}

func indexRoom(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", random(2600)))
	wantTooLong(b, b.insert("b", random(2601)), "title")
	wantTooLong(b, b.insert("b", strings.Repeat("x", 9000)), "title") // compressible or not
	wantTooLong(b, b.insert(random(9000), "t"), "id")
	wantTooLong(b, b.write(func(tx store.Tx) error {
		return tx.Update(orders, order("a", random(9000)), []int{fTotal, fTitle})
	}), "title")
	wantTooLong(b, b.write(func(tx store.Tx) error { // also among many, at its call
		for n := range 5 {
			title := fmt.Sprint(n)
			if n == 3 {
				title = random(3000)
			}
			if err := tx.Insert(orders, order(fmt.Sprint("c", n), title)); err != nil {
				return err
			}
		}
		return nil
	}), "title")
	wantOnly(b, "a")
}

func sharedRoom(b *bench) {
	e := newEntity("page", "pages", false,
		&schema.Field{Name: "id", Type: value.String}, &schema.Field{Name: "a", Type: value.String},
		&schema.Field{Name: "b", Type: value.String}, &schema.Field{Name: "ruled", Type: value.String}, &schema.Field{Name: "n", Type: value.BigInt})
	e.Indexes = [][]int{{1, 4, 2}}
	b.open(Options{}, e)
	_, err := b.store.Migrate(b.Context(), store.Plan{Entities: []*schema.Entity{e}, Indexes: map[*schema.Entity][][]int{e: {{3}}}})
	b.must(err)
	insert := func(sizes ...int) error {
		row := store.Row{value.OfText(fmt.Sprint(sizes)), {}, {}, {}, value.OfInt(math.MaxInt64)}
		for i, n := range sizes {
			row[i+1] = value.OfText(random(n))
		}
		return b.write(func(tx store.Tx) error { return tx.Insert(e, row) })
	}
	b.must(insert(1300, 1300, 2600))
	wantTooLong(b, insert(1301, 0, 0), "a")
	wantTooLong(b, insert(0, 1301, 0), "b")
	wantTooLong(b, insert(0, 0, 2601), "ruled")
}

func longTexts(b *bench) {
	b.open(Options{})
	want := random(100_000)
	b.must(b.insert("a", "", with(fNote, value.OfText(want))))
	b.view(func(r store.Reader) error {
		row, err := r.Get(orders, value.OfText("a"))
		if err == nil && row[fNote].Text() != want {
			b.Error("the text came back as another")
		}
		return err
	})
}

func unkeepableFindsNothing(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", "first"))
	b.view(func(r store.Reader) error {
		for _, text := range []string{"\x00", "a\x00", "\xff", random(9000)} {
			if _, err := r.Get(orders, value.OfText(text)); err != store.ErrNotFound { //nolint:errorlint // exactly
				b.Errorf("Get of %.10q: %v, want ErrNotFound", text, err)
			}
			if _, found, err := r.Find(text); found || err != nil {
				b.Errorf("Find of %.10q: %v, %v, want nothing", text, found, err)
			}
			rows, err := r.GetMany(orders, []value.Value{value.OfText(text), value.OfText("a")})
			if err != nil || len(rows) != 1 {
				b.Errorf("GetMany with %.10q: %d rows, %v, want the one there is", text, len(rows), err)
			}
		}
		return nil
	})
}

func hostileClaims(b *bench) {
	e, rows := hardRows(b)
	for _, claim := range []any{
		"a\x00", "\x00", "\xff", "", random(9000), math.Inf(1), math.NaN(), 1e300, -1e300, 1.5, int64(math.MinInt64), true, nil,
		[]any{"a\x00", "b", nil, 1e300, "\xff"}, []any{}, []string{"\x00"}, map[string]any{"a": 1},
		"0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "10000-01-01T00:00:00Z", "-0001-01-01T00:00:00Z",
	} {
		caller := predicate.Caller{ID: "a", Roles: []string{"a\x00", "\xff", "b"}, Claims: map[string]any{"x": claim}}
		if text, ok := claim.(string); ok {
			caller.ID = text
		}
		for _, source := range []string{
			`row.text == user.claims.x`, `row.text != user.claims.x`, `not (row.text < user.claims.x)`, `row.text in user.claims.x`,
			`row.text not in user.claims.x`, `row.text startsWith user.claims.x`, `row.text contains user.claims.x`, `row.text == user.id`,
			`row.text in user.roles`, `row.count < user.claims.x`, `row.count in user.claims.x`, `row.ratio >= user.claims.x`,
			`row.done == user.claims.x`, `row.at > user.claims.x`, `row.text == nil or row.at <= user.claims.x`,
		} {
			wantRule(b, e, rows, source, caller)
		}
	}
}
