package storetest

import (
	"fmt"
	"math"
	"net/url"
	"slices"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

// A row that a list shows and a stream hides, or the other way, is the fault
// this guards against: the driver's dialect must decide like the memory side.
var agreePromises = []promise{
	{"a filter selects in the store what it selects in memory", filtersAgree},
	{"a row rule selects in the store what it selects in memory", rulesAgree},
}

const hardSchema = `
entities:
  - name: hard
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
      - {name: other, type: string}
      - {name: count, type: bigint}
      - {name: ratio, type: double}
      - {name: done, type: boolean}
      - {name: at, type: timestamp}
`

var (
	hardTexts = []string{
		"", "a", "A", "ab", "aB", "b", "%", "_", "a%b", "a_b", `a\b`, `\`, "line\nbreak", "é", "É", "e\u0301", "ß", "SS",
		"İ", "i", "ı", "K", "\u212a", "\U0001F600", "\U0001F600x", "\uFFFD", "null", "0", "10", "9", " a", "a ", "Σ", "σ", "ς",
	}
	hardNumbers = []int64{0, 1, -1, 2, 9007199254740993, -9007199254740993, math.MaxInt64, math.MinInt64}
	hardFloats  = []float64{0, 1, -1, 0.1, 1e308, -1e308, 5e-324, 9007199254740992}
)

// hardRows writes one row for each hard text, with nulls in between.
func hardRows(b *bench) (*schema.Entity, []store.Row) {
	b.Helper()
	e := schematest.Entity(b, hardSchema)
	b.open(Options{}, e)
	var rows []store.Row
	for i, text := range hardTexts {
		row := store.Row{
			value.OfText(fmt.Sprintf("id%02d", i)), value.OfText(text), value.OfText(hardTexts[(i*7)%len(hardTexts)]),
			value.OfInt(hardNumbers[i%len(hardNumbers)]), value.OfFloat(hardFloats[i%len(hardFloats)]), value.OfBool(i%2 == 0),
			value.OfInt(int64(i-3) * 86400_000_000),
		}
		for f := 1; f < len(row); f++ {
			if (i+f)%5 == 0 {
				row[f] = value.Value{}
			}
		}
		rows = append(rows, row)
	}
	b.must(b.write(func(tx store.Tx) error {
		for _, row := range rows {
			if err := tx.Insert(e, row); err != nil {
				return err
			}
		}
		return nil
	}))
	return e, rows
}

// wantAgreement compares both sides for a tree, bound to a caller.
func wantAgreement(b *bench, e *schema.Entity, rows []store.Row, what string, p *predicate.Predicate) {
	b.Helper()
	var want, got []string
	for _, row := range rows {
		if p.Eval(row) == predicate.True {
			want = append(want, row[e.ID].Text())
		}
	}
	b.view(func(r store.Reader) error {
		found, err := r.Select(e, store.Query{Where: []*predicate.Predicate{p}})
		for _, row := range found {
			got = append(got, row[e.ID].Text())
		}
		return err
	})
	if !slices.Equal(got, want) {
		b.Errorf("%s:\nstore  %v\nmemory %v", what, got, want)
	}
}

func filtersAgree(b *bench) {
	e, rows := hardRows(b)
	all := func(int) bool { return true }
	ask := func(field, op, operand string) {
		for _, group := range []string{"filter[%s][%s]=%s", "filter[not][%s][%s]=%s"} {
			query := fmt.Sprintf(group, field, op, url.QueryEscape(operand))
			tree, err := predicate.ParseQuery(e, query, all)
			if err != nil {
				b.Fatalf("%s: %v", query, err)
			}
			wantAgreement(b, e, rows, query, tree.Bind(predicate.Caller{}))
		}
	}
	for _, text := range hardTexts {
		for _, op := range []string{"eq", "gt", "lte", "like", "ilike"} {
			if text == "null" && (op == "gt" || op == "lte") {
				continue // null has no order
			}
			ask("text", op, text)
		}
		for _, pattern := range []string{text + "%", "%" + text, "%" + text + "%", "_" + text} {
			ask("text", "like", pattern)
			ask("text", "ilike", pattern)
		}
	}
	for _, n := range hardNumbers {
		ask("count", "lt", fmt.Sprint(n))
		ask("count", "in", fmt.Sprintf("%d,5", n))
	}
	for _, f := range hardFloats {
		ask("ratio", "gte", fmt.Sprint(f))
	}
	for _, field := range []string{"text", "count", "at"} {
		ask(field, "isNull", "true")
	}
	ask("at", "between", "1969-12-31,1970-01-02T00:00:00+01:00")
	ask("done", "eq", "true")
}

func rulesAgree(b *bench) {
	e, rows := hardRows(b)
	for _, source := range []string{
		`row.text == user.id`, `row.text != user.id`, `row.text == row.other`, `row.text < row.other`,
		`row.text == nil`, `not (row.text == "a")`, `row.text in user.roles`, `row.text not in ["a", "b"]`,
		`row.count > 1 and row.done`, `row.count == user.claims.number`, `row.ratio <= 0.1 or row.other == nil`,
	} {
		wantRule(b, e, rows, source, predicate.Caller{ID: "a", Roles: []string{"b", "É"}})
		wantRule(b, e, rows, source, predicate.Caller{Anonymous: true})
	}
	for _, text := range hardTexts {
		for _, op := range []string{"startsWith", "endsWith", "contains"} {
			caller := predicate.Caller{ID: text}
			wantRule(b, e, rows, "row.text "+op+" user.id", caller)
			wantRule(b, e, rows, "not (row.text "+op+" user.id)", caller)
		}
	}
}

func wantRule(b *bench, e *schema.Entity, rows []store.Row, source string, caller predicate.Caller) {
	b.Helper()
	tree, refusals := predicate.ParseRule(e, schema.Script{Source: source})
	if len(refusals) > 0 {
		b.Fatal(refusals)
	}
	wantAgreement(b, e, rows, fmt.Sprintf("%s as %q", source, caller.ID), tree.Bind(caller))
}
