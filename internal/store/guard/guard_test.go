package guard

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

var guardEntity = &schema.Entity{Name: "g", Table: "g", Fields: []*schema.Field{
	{Name: "id", Type: value.ULID},
	{Name: `odd "name"\`, Type: value.String, Index: 1},
	{Name: "n", Type: value.BigInt, Index: 2},
}}

var guardFields = map[string]int{"id": 0, `odd "name"\`: 1, "n": 2}

func anyCell() *rapid.Generator[value.Value] {
	return rapid.OneOf(
		rapid.Just(value.Value{}), rapid.Just(value.NotAtHand()),
		rapid.Map(rapid.Int64(), value.OfInt),
		rapid.Map(rapid.Float64(), value.OfFloat), rapid.Just(value.OfFloat(math.Inf(-1))),
		rapid.Map(rapid.String(), value.OfText),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) value.Value { return value.OfText(string(b)) }), // not UTF-8
		rapid.Map(rapid.SliceOf(rapid.Byte()), value.OfBlob),
	)
}

func TestGuardReadsBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.OneOf(rapid.Just(store.Row(nil)), rapid.SliceOfN(anyCell(), 3, 3))
		want := store.Guard{Before: row.Draw(t, "before"), After: row.Draw(t, "after")}
		text := string(Append(nil, guardEntity, want))
		got, err := Decode(text, guardFields)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !slices.Equal(got.Before, want.Before) || !slices.Equal(got.After, want.After) ||
			(got.Before == nil) != (want.Before == nil) || (got.After == nil) != (want.After == nil) {
			t.Fatalf("%s:\ngot  %v\nwant %v", text, got, want)
		}
	})
}

func TestNamesReadBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.String()).Draw(t, "names")
		got, err := DecodeNames(string(AppendNames(nil, want)))
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}

func TestDamagedGuardIsAnError(t *testing.T) {
	whole := `{"b":{"n":1,"id":"x\u0001\"y"},"a":{"n":{"f":"3ff0000000000000"}}}`
	if _, err := Decode(whole, guardFields); err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		if _, err := Decode(whole[:i], guardFields); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
	}
	for _, text := range []string{whole + " ", `{"b":{"n":1.5},"a":null}`, `{"b":{"n":{"f":"x"}},"a":null}`, `{"b":{"n":{"x":"!"}},"a":null}`, `{"b":{"id":"\q"},"a":null}`} {
		if _, err := Decode(text, guardFields); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func FuzzDecodeGuard(f *testing.F) {
	f.Add(`{"b":null,"a":{"n":1,"id":"x","odd \"name\"\\":{"x":"AAE="}}}`)
	f.Add(`{"b":{"n":{"t":"/w=="}},"a":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		g, err := Decode(text, guardFields)
		if err != nil {
			return
		}
		again, err := Decode(string(Append(nil, guardEntity, g)), guardFields)
		if err != nil || !slices.Equal(g.Before, again.Before) || !slices.Equal(g.After, again.After) {
			t.Fatalf("%v, %v reads back as %v", g, err, again)
		}
	})
}
