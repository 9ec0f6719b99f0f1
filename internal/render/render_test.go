package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/render"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema/schematest"
)

const shop = `
entities:
  - name: order
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
      - {name: total, type: bigint}
      - {name: rate, type: double, mask: {}}
      - {name: open, type: boolean}
      - {name: paid_at, type: timestamp}
      - {name: meta, type: object}
      - {name: raw, type: bytes}
      - {name: card, type: string, mask: {keeplast: 2}}
    access:
      actions: {language: expr, expression: '"staff" in user.roles ? true : ["read"]'}
      read: {language: expr, expression: '"partial" in user.roles ? ["title", "card"] : true'}
`

func order() []value.Value {
	return []value.Value{
		value.OfText("1"), value.OfText("<a>&\u2028\"\n"), value.OfInt(9007199254740993), value.OfFloat(0.5), value.OfBool(true),
		value.OfTime(time.Date(2026, 9, 17, 2, 25, 12, 500_000_000, time.UTC)), value.OfText(`{"k":[1]}`), value.OfBlob([]byte{0, 255}),
		value.OfText("4242\"é"),
	}
}

func grant(t testing.TB, roles ...string) *access.Grant {
	t.Helper()
	p, refused := access.Compile(schematest.Entity(t, shop))
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	g, err := p.Grant(&access.Principal{ID: "u", Roles: roles})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRowIsCompactOrderedAndOneLine(t *testing.T) {
	cases := []struct {
		name  string
		roles []string
		keep  func(int) bool
		want  string
	}{
		{"staff see it all", []string{"staff"}, nil,
			`{"id":"1","title":"<a>&\u2028\"\n","total":9007199254740993,"rate":0.5,"open":true,` +
				`"paid_at":"2026-09-17T02:25:12.5Z","meta":{"k":[1]},"raw":"AP8=","card":"4242\"é"}`},
		{"masks hide", nil, nil,
			`{"id":"1","title":"<a>&\u2028\"\n","total":9007199254740993,"rate":null,"open":true,` +
				`"paid_at":"2026-09-17T02:25:12.5Z","meta":{"k":[1]},"raw":"AP8=","card":"****\"é"}`},
		{"what is not readable is absent", []string{"partial"}, nil, `{"id":"1","title":"<a>&\u2028\"\n","card":"****\"é"}`},
		{"what is not kept is absent", []string{"partial"}, func(i int) bool { return i == 2 || i == 8 }, `{"card":"****\"é"}`},
		{"nothing kept is an empty object", nil, func(int) bool { return false }, `{}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := render.Row([]byte("data: "), grant(t, c.roles...), c.keep, order())
			if want := "data: " + c.want; string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestETagFollowsWhatTheCallerSees(t *testing.T) {
	staff, other, partial := grant(t, "staff"), grant(t), grant(t, "partial")
	row := order()
	tag := render.ETag(staff, row)
	if len(tag) != 24 || tag[0] != '"' || tag[23] != '"' || strings.ContainsAny(tag[1:23], "\"+/=") {
		t.Errorf("tag %s is not 128 bits in base64url, in quotes", tag)
	}
	if tag != render.ETag(staff, order()) {
		t.Error("the same row has two tags")
	}
	if tag == render.ETag(other, row) {
		t.Error("masked and unmasked views share a tag")
	}
	hidden := order()
	hidden[2] = value.OfInt(1) // partial does not read total
	if render.ETag(partial, hidden) != render.ETag(partial, row) {
		t.Error("a change in a field that the caller cannot read changes the tag")
	}
	if render.ETag(staff, hidden) == tag {
		t.Error("a change in a field that the caller reads leaves the tag")
	}
	masked := order()
	masked[8] = value.OfText("9999\"é") // the same under the mask
	if render.ETag(other, masked) != render.ETag(other, row) || render.ETag(staff, masked) == tag {
		t.Error("a change under the mask must show to who is unmasked, and to nobody else")
	}
}

func TestRowAllocatesNothingBeyondItsBuffer(t *testing.T) {
	for _, role := range []string{"staff", "masked"} {
		g, row := grant(t, role), order()
		buf := make([]byte, 0, 1024)
		if n := testing.AllocsPerRun(100, func() { buf = render.Row(buf[:0], g, nil, row) }); n != 0 {
			t.Errorf("%s: %v allocations", role, n)
		}
	}
}

var texts = rapid.OneOf(
	rapid.String(),
	rapid.SampledFrom([]string{"", "a", "4242", "日本語", "😀😀😀", "\u2028\u2029\u0085", "</script>", "a\r\n\tb", `"\`, "\x00", "e\u0301e\u0301"}),
)

// cells draws a cell of each type, NULL now and then.
func drawCell(t *rapid.T, typ value.Type) value.Value {
	if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
		return value.Value{}
	}
	switch typ {
	case value.BigInt:
		return value.OfInt(rapid.Int64().Draw(t, "int"))
	case value.Integer:
		return value.OfInt(int64(rapid.Int32().Draw(t, "int")))
	case value.Double:
		return value.OfFloat(rapid.Float64().Draw(t, "float"))
	case value.Boolean:
		return value.OfBool(rapid.Bool().Draw(t, "bool"))
	case value.Timestamp:
		return value.OfInt(rapid.Int64Range(-62135596800000000, 253402300799999999).Draw(t, "instant"))
	case value.Object:
		raw, _ := json.Marshal(map[string]string{texts.Draw(t, "key"): texts.Draw(t, "member")})
		return value.OfText(string(raw))
	case value.Bytes:
		return value.OfBlob(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	default:
		return value.OfText(texts.Draw(t, "text"))
	}
}

var types = []string{"string", "int", "bigint", "double", "boolean", "timestamp", "object", "bytes"}

// drawSchema draws an entity with masks, and scripts that let the role "all"
// read everything, "some" a random list, and "clear" unmask.
func drawSchema(t *rapid.T) string {
	var b, list strings.Builder
	b.WriteString("entities:\n  - name: thing\n    fields:\n      - {name: id, type: string}\n")
	for i := range rapid.IntRange(1, 8).Draw(t, "fields") {
		typ, mask := rapid.SampledFrom(types).Draw(t, "type"), ""
		switch {
		case !rapid.Bool().Draw(t, "masked"):
		case typ == "string":
			mask = fmt.Sprintf(", mask: {keeplast: %d}", rapid.IntRange(0, 4).Draw(t, "keeplast"))
		default:
			mask = ", mask: {}"
		}
		fmt.Fprintf(&b, "      - {name: f%d, type: %s%s}\n", i, typ, mask)
		if rapid.Bool().Draw(t, "readable") {
			fmt.Fprintf(&list, `, "f%d"`, i)
		}
	}
	fmt.Fprintf(&b, `    access:
      actions: {language: expr, expression: '"clear" in user.roles ? ["read", "unmask"] : ["read"]'}
      read: {language: expr, expression: '"all" in user.roles ? true : ["id"%s]'}
`, list.String())
	return b.String()
}

// members parses one JSON object and returns its names in order and its raw values.
func members(t *rapid.T, data []byte) (names []string, values map[string]json.RawMessage) {
	if err := json.Unmarshal(data, &values); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for depth := 0; ; {
		tok, err := d.Token()
		if err != nil {
			return names, values
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		default:
			if s, ok := tok.(string); ok && depth == 1 && !slices.Contains(names, s) {
				names = append(names, s)
				var skip json.RawMessage
				if err := d.Decode(&skip); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func TestRowsShowWhatTheGrantShows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, refused := access.Compile(schematest.Entity(t, drawSchema(rt)))
		if len(refused) > 0 {
			rt.Fatal(refused)
		}
		fields := p.Entity.Fields
		row := make([]value.Value, len(fields))
		for i, f := range fields {
			row[i] = drawCell(rt, f.Type)
		}
		row[0] = value.OfText("1")
		keep := make([]bool, len(fields))
		for i := range keep {
			keep[i] = rapid.Bool().Draw(rt, "keep")
		}
		byView := map[string][]byte{}
		for _, roles := range [][]string{{}, {"all"}, {"clear"}, {"all", "clear"}, {"other"}} {
			g, err := p.Grant(&access.Principal{ID: "u", Roles: roles})
			if err != nil {
				rt.Fatal(err)
			}
			kept := func(i int) bool { return keep[i] }
			got := render.Row(nil, g, kept, row)
			checkRow(rt, g, kept, row, got)
			if before, ok := byView[g.ViewKey()]; ok && !bytes.Equal(before, got) {
				rt.Fatalf("one view key, two renderings:\n%s\n%s", before, got)
			}
			byView[g.ViewKey()] = got
		}
	})
}

// checkRow holds the rendering to the grant, member by member.
func checkRow(t *rapid.T, g *access.Grant, keep func(int) bool, row []value.Value, got []byte) {
	if !utf8.Valid(got) || bytes.ContainsAny(got, "\n\r\u0085\u2028\u2029") {
		t.Fatalf("%q is not one line of UTF-8", got)
	}
	names, values := members(t, got)
	var want []string
	for i, f := range g.Policy.Entity.Fields {
		if !g.Reads(i) || !keep(i) {
			continue
		}
		want = append(want, f.Name)
		shown, ok := g.Show(i, row[i])
		if !ok {
			t.Fatalf("%s is readable, and Show does not show it", f.Name)
		}
		if raw := string(value.AppendJSON(nil, f.Type, shown)); raw != string(values[f.Name]) {
			t.Fatalf("%s: got %s, Show makes %s", f.Name, values[f.Name], raw)
		}
		if !g.ReadsPlain(i) {
			checkMasked(t, f.Mask.KeepLast, row[i], values[f.Name])
		}
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Fatal("members: ", d)
	}
}

// checkMasked proves from the bytes alone that nothing hidden is in them.
func checkMasked(t *rapid.T, keepLast int, cell value.Value, raw json.RawMessage) {
	var shown *string
	if err := json.Unmarshal(raw, &shown); err != nil {
		t.Fatalf("a masked cell is %s, want text or null", raw)
	}
	if shown == nil {
		return
	}
	secret, seen := []rune(cell.Text()), []rune(*shown)
	if len(seen) != len(secret) {
		t.Fatalf("%q has %d code points, the cell %d", *shown, len(seen), len(secret))
	}
	hidden := len(secret) - keepLast
	if hidden <= 0 {
		hidden = len(secret)
	}
	for i := range hidden {
		if seen[i] != '*' {
			t.Fatalf("%q shows code point %d of %q", *shown, i, cell.Text())
		}
	}
}

func BenchmarkRow(b *testing.B) {
	row := order()
	for _, role := range []string{"staff", "masked"} {
		g := grant(b, shop, role)
		b.Run(role, func(b *testing.B) {
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = render.Row(buf[:0], g, nil, row)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
	b.Run("encoding/json on a map", func(b *testing.B) {
		m := map[string]any{
			"id": "1", "title": row[1].Text(), "total": row[2].Int(), "rate": 0.5, "open": true,
			"paid_at": row[5].Time(), "meta": json.RawMessage(row[6].Text()), "raw": []byte(row[7].Text()), "card": row[8].Text(),
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(m); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkETag(b *testing.B) {
	g, row := grant(b, shop, "staff"), order()
	b.ReportAllocs()
	for b.Loop() {
		render.ETag(g, row)
	}
}
