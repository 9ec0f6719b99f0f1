package value_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rowcast/rowcast/internal/value"
	"pgregory.net/rapid"
)

func TestDecodeJSONTakesExactValues(t *testing.T) {
	for _, c := range []struct {
		name string
		typ  value.Type
		raw  string
		want string // JSON written back
	}{
		{"null of any type", value.Integer, `null`, `null`},
		{"null object", value.Object, ` null `, `null`},
		{"lowest int", value.Integer, `-2147483648`, `-2147483648`},
		{"highest int", value.Integer, `2147483647`, `2147483647`},
		{"whole number with decimals", value.Integer, `5.0`, `5`},
		{"whole number with an exponent", value.Integer, `1e3`, `1000`},
		{"whole number from a fraction", value.Integer, `0.00012e5`, `12`},
		{"negative zero", value.Integer, `-0`, `0`},
		{"zero with a huge exponent", value.Integer, `0e999999999999999999999`, `0`},
		{"beyond a double", value.BigInt, `9007199254740993`, `9007199254740993`},
		{"lowest bigint", value.BigInt, `-9223372036854775808`, `-9223372036854775808`},
		{"highest bigint", value.BigInt, `9223372036854775807`, `9223372036854775807`},
		{"bigint with a trailing zero shift", value.BigInt, `922337203685477580.7e1`, `9223372036854775807`},
		{"double", value.Double, `0.1`, `0.1`},
		{"whole double", value.Double, `1.0`, `1`},
		{"small double", value.Double, `0.0000001`, `1e-7`},
		{"large double", value.Double, `1e21`, `1e+21`},
		{"double below e21", value.Double, `1e20`, `100000000000000000000`},
		{"negative zero double", value.Double, `-0.0`, `0`},
		{"true", value.Boolean, `true`, `true`},
		{"false", value.Boolean, `false`, `false`},
		{"string", value.String, `"a\u0041<&>😀"`, `"aA<&>😀"`},
		{"surrogate pair", value.String, `"\ud83d\ude00"`, `"😀"`},
		{"control characters", value.String, `"\u0001\n\r\t\b\f\"\\\u001f\u007f"`, `"\u0001\n\r\t\b\f\"\\\u001f` + "\x7f" + `"`},
		{"line ends beyond ASCII", value.String, "\"\u0085\u2028\u2029\"", `"\u0085\u2028\u2029"`},
		{"neighbours of line ends", value.String, "\"\u0084\u2027\u202a\"", "\"\u0084\u2027\u202a\""},
		{"date", value.Date, `"2024-02-29"`, `"2024-02-29"`},
		{"first date", value.Date, `"0000-01-01"`, `"0000-01-01"`},
		{"timestamp", value.Timestamp, `"2026-01-01T00:00:00Z"`, `"2026-01-01T00:00:00Z"`},
		{"timestamp in another zone", value.Timestamp, `"2026-01-01T02:00:00+02:00"`, `"2026-01-01T00:00:00Z"`},
		{"timestamp with microseconds", value.Timestamp, `"2026-01-01T00:00:00.120000Z"`, `"2026-01-01T00:00:00.12Z"`},
		{"timestamp with zeros beyond the microsecond", value.DateTime, `"2026-01-01T00:00:00.123456000Z"`, `"2026-01-01T00:00:00.123456Z"`},
		{"plain date as timestamp", value.Timestamp, `"2026-01-01"`, `"2026-01-01T00:00:00Z"`},
		{"first instant", value.Timestamp, `"0000-01-01T00:00:00Z"`, `"0000-01-01T00:00:00Z"`},
		{"last instant", value.Timestamp, `"9999-12-31T23:59:59.999999Z"`, `"9999-12-31T23:59:59.999999Z"`},
		{"before 1970", value.Timestamp, `"1969-12-31T23:59:59.5Z"`, `"1969-12-31T23:59:59.5Z"`},
		{"ulid", value.ULID, `"7ZZZZZZZZZZZZZZZZZZZZZZZZZ"`, `"7ZZZZZZZZZZZZZZZZZZZZZZZZZ"`},
		{"uuid", value.UUID, `"0b9c2f14-6a51-4d0e-9a57-0d6a2c9f1e01"`, `"0b9c2f14-6a51-4d0e-9a57-0d6a2c9f1e01"`},
		{"bytes", value.Bytes, `"AP8="`, `"AP8="`},
		{"empty bytes", value.Bytes, `""`, `""`},
		{"object keeps key order and numbers", value.Object, " {\"b\" : 1e3 ,\n\"a\":[ 1.50, {} ,[ ]], \"c\":{\"d\":null}} ", `{"b":1e3,"a":[1.50,{},[]],"c":{"d":null}}`},
		{"object with line ends in key and value", value.Object, "{\"\u2028\":\"\u0085\\u2029\"}", `{"\u2028":"\u0085\u2029"}`},
		{"object with a number beyond a double", value.Object, `{"n":12345678901234567890123,"m":1e400}`, `{"n":12345678901234567890123,"m":1e400}`},
		{"array", value.Array, `[true,false,"x"]`, `[true,false,"x"]`},
		{"enum", value.Enum, `"draft"`, `"draft"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := value.DecodeJSON(c.typ, []byte(c.raw))
			if err != nil {
				t.Fatalf("DecodeJSON(%v, %s): %v", c.typ, c.raw, err)
			}
			if got := string(value.AppendJSON(nil, c.typ, v)); got != c.want {
				t.Errorf("DecodeJSON(%v, %s) writes %s, want %s", c.typ, c.raw, got, c.want)
			}
		})
	}
}

func TestDecodeJSONRefusesWhatIsNoValueOfTheType(t *testing.T) {
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	for _, c := range []struct {
		name string
		typ  value.Type
		raw  string
		want string // part of the detail
	}{
		{"int above 32 bits", value.Integer, `2147483648`, "must be a whole number from -2147483648 to 2147483647"},
		{"int below 32 bits", value.Integer, `-2147483649`, "whole number"},
		{"int with a fraction", value.Integer, `1.5`, "whole number"},
		{"int as text", value.Integer, `"1"`, "whole number"},
		{"int, then more", value.Integer, `1 1`, "whole number"},
		{"int with a plus", value.Integer, `+1`, "whole number"},
		{"int with a leading zero", value.Integer, `01`, "whole number"},
		{"bigint above 64 bits", value.BigInt, `9223372036854775808`, "to 9223372036854775807"},
		{"bigint with a huge exponent", value.BigInt, `1e999999999999`, "whole number"},
		{"bigint with a huge negative exponent", value.BigInt, `1e-999999999999`, "whole number"},
		{"double beyond range", value.Double, `1e309`, "finite"},
		{"double as NaN", value.Double, `NaN`, "finite"},
		{"double without digits after the dot", value.Double, `5.`, "finite"},
		{"boolean as number", value.Boolean, `1`, "true or false"},
		{"boolean as text", value.Boolean, `"true"`, "true or false"},
		{"string as number", value.String, `1`, "JSON string"},
		{"nothing", value.String, ``, "JSON string"},
		{"string with NUL", value.String, `"a\u0000"`, "U+0000"},
		{"string with half a surrogate", value.String, `"\ud800"`, "UTF-8"},
		{"string with the second half first", value.String, `"\udc00\ud800"`, "UTF-8"},
		{"string of invalid UTF-8", value.String, "\"\xff\"", "UTF-8"},
		{"string with a raw line feed", value.String, "\"a\nb\"", "JSON string"},
		{"unfinished string", value.String, `"a`, "JSON string"},
		{"string, then more", value.String, `"a" "b"`, "JSON string"},
		{"day that is none", value.Date, `"2026-02-30"`, "date of the calendar"},
		{"29 February of 1900", value.Date, `"1900-02-29"`, "date of the calendar"},
		{"date with time", value.Date, `"2026-01-01T00:00:00Z"`, "date of the calendar"},
		{"timestamp without zone", value.Timestamp, `"2026-01-01T00:00:00"`, "zone"},
		{"timestamp finer than a microsecond", value.Timestamp, `"2026-01-01T00:00:00.1234567Z"`, "six decimals"},
		{"timestamp in lower case", value.Timestamp, `"2026-01-01t00:00:00z"`, "zone"},
		{"timestamp with a comma", value.Timestamp, `"2026-01-01T00:00:00,5Z"`, "zone"},
		{"timestamp at hour 24", value.Timestamp, `"2026-01-01T24:00:00Z"`, "zone"},
		{"leap second", value.Timestamp, `"2016-12-31T23:59:60Z"`, "zone"},
		{"offset of a day", value.Timestamp, `"2026-01-01T00:00:00+24:00"`, "zone"},
		{"offset of letters", value.Timestamp, `"2026-01-01T00:00:00+aa:bb"`, "zone"},
		{"timestamp that falls before year 0 in UTC", value.Timestamp, `"0000-01-01T00:00:00+01:00"`, "years 0000 to 9999"},
		{"timestamp that falls after year 9999 in UTC", value.Timestamp, `"9999-12-31T23:59:59-01:00"`, "years 0000 to 9999"},
		{"ulid in lower case", value.ULID, `"01m2p1r18ht8575n8gvm2h5wpn"`, "ULID"},
		{"ulid out of range", value.ULID, `"8ZZZZZZZZZZZZZZZZZZZZZZZZZ"`, "ULID"},
		{"ulid with an I", value.ULID, `"01M2P1R18HT8575N8GVM2H5WPI"`, "ULID"},
		{"uuid in upper case", value.UUID, `"0B9C2F14-6A51-4D0E-9A57-0D6A2C9F1E01"`, "UUID"},
		{"uuid without dashes", value.UUID, `"0b9c2f146a514d0e9a570d6a2c9f1e01"`, "UUID"},
		{"bytes without padding", value.Bytes, `"AP8"`, "base64"},
		{"bytes with stray bits", value.Bytes, `"AP9="`, "base64"},
		{"bytes with a line feed", value.Bytes, `"AP8=\n"`, "base64"},
		{"object as array", value.Object, `[]`, "JSON object"},
		{"array as object", value.Array, `{}`, "JSON array"},
		{"key twice", value.Object, `{"a":1,"a":2}`, "no key given twice"},
		{"key twice in another spelling", value.Object, `{"a":1,"\u0061":2}`, "no key given twice"},
		{"NUL inside", value.Object, `{"a":["\u0000"]}`, "U+0000"},
		{"NUL in a key", value.Object, `{"\u0000":1}`, "U+0000"},
		{"half a surrogate inside", value.Array, `["\ud800"]`, "UTF-8"},
		{"65 levels", value.Array, deep, "64"},
		{"100,000 levels", value.Array, strings.Repeat("[", 100_000), "64"},
		{"unfinished", value.Object, `{"a":1`, "well-formed"},
		{"something after it", value.Object, `{} {}`, "nothing after"},
		{"trailing comma", value.Array, `[1,]`, "well-formed"},
		{"no type", value.Type(0), `"x"`, "no type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, err := value.DecodeJSON(c.typ, []byte(c.raw))
			var refused *value.ParseError
			if !errors.As(err, &refused) {
				t.Fatalf("DecodeJSON(%v, %.60s) = %v, %v; want a *ParseError", c.typ, c.raw, v, err)
			}
			if !strings.Contains(refused.Detail, c.want) {
				t.Errorf("detail %q lacks %q", refused.Detail, c.want)
			}
		})
	}
}

func TestDecodeJSONTakes64Levels(t *testing.T) {
	raw := strings.Repeat("[", 64) + strings.Repeat("]", 64)
	v, err := value.DecodeJSON(value.Array, []byte(raw))
	if err != nil || v.Text() != raw {
		t.Fatalf("got %q, %v; want it whole", v.Text(), err)
	}
}

func TestStoredJSONOfAnotherProgramStaysOnOneLine(t *testing.T) {
	for _, c := range []struct{ stored, want string }{
		{"{\n  \"a\": 1\n}", `{"a":1}`},
		{"[\"\u2028\"]", `["\u2028"]`},
		{"{\n", `null`},
	} {
		got := string(value.AppendJSON([]byte("x"), value.Object, value.OfText(c.stored)))
		if got != "x"+c.want {
			t.Errorf("AppendJSON of %q = %s, want x%s", c.stored, got, c.want)
		}
	}
}

func TestParseTextReadsOperands(t *testing.T) {
	for _, c := range []struct {
		typ  value.Type
		text string
		want value.Value
	}{
		{value.Boolean, "1", value.OfBool(true)},
		{value.Boolean, "0", value.OfBool(false)},
		{value.Boolean, "true", value.OfBool(true)},
		{value.Boolean, "false", value.OfBool(false)},
		{value.String, "", value.OfText("")},
		{value.String, " a ", value.OfText(" a ")},
		{value.String, "null", value.OfText("null")},
		{value.Integer, "-3", value.OfInt(-3)},
		{value.Double, "1E4", value.OfFloat(10000)},
		{value.Double, "1e-400", value.OfFloat(0)},
		{value.Timestamp, "1970-01-01", value.OfInt(0)},
		{value.Timestamp, "1969-12-31T23:59:59.999999Z", value.OfInt(-1)},
		{value.Date, "9999-12-31", value.OfText("9999-12-31")},
	} {
		got, err := value.ParseText(c.typ, c.text)
		if err != nil || got != c.want {
			t.Errorf("ParseText(%v, %q) = %v, %v; want %v", c.typ, c.text, got, err, c.want)
		}
	}
	for _, c := range []struct {
		typ  value.Type
		text string
	}{
		{value.Boolean, "True"}, {value.Boolean, "true "}, {value.Boolean, ""}, {value.Boolean, "2"},
		{value.Double, ""}, {value.Double, " 1"}, {value.Double, "Infinity"}, {value.Double, "0x10"},
		{value.Double, "1_000"}, {value.Double, ".5"}, {value.Double, "1e"}, {value.Double, "−5"}, {value.Double, "１"},
		{value.Integer, "1e-1"}, {value.String, "a\x00"}, {value.String, "\xff"},
		{value.Timestamp, "+002026-01-01"}, {value.Timestamp, "2026-01-01Z"}, {value.Timestamp, "2026-01-01T10:00:00+0200"},
		{value.Timestamp, "2026-01-01T10:00:00."}, {value.Timestamp, "2026-01-01T1:00:00Z"}, {value.Timestamp, ""},
		{value.Date, "2026-1-1"}, {value.Date, "2026-01"},
		{value.Object, "{}"}, {value.Array, "[]"}, {value.Bytes, "AP8="},
	} {
		if got, err := value.ParseText(c.typ, c.text); err == nil {
			t.Errorf("ParseText(%v, %q) = %v; want a refusal", c.typ, c.text, got)
		}
	}
}

func TestCompareOrdersAsSQLite(t *testing.T) {
	ascending := []value.Value{
		{},
		value.OfFloat(math.Inf(-1)), value.OfFloat(-1e19), value.OfInt(math.MinInt64),
		value.OfFloat(-1.5), value.OfInt(-1), value.OfFloat(-0.5), value.OfInt(0), value.OfFloat(0.5), value.OfInt(1),
		value.OfFloat(9007199254740992), value.OfInt(9007199254740993), value.OfFloat(9007199254740994),
		value.OfInt(math.MaxInt64), value.OfFloat(9223372036854775808), value.OfFloat(math.Inf(1)),
		value.OfText(""), value.OfText("A"), value.OfText("a"), value.OfText("é"), value.OfText("\uffff"), value.OfText("😀"),
		value.OfBlob(nil), value.OfBlob([]byte{0}), value.OfBlob([]byte("a")),
	}
	for i, a := range ascending {
		for j, b := range ascending {
			want := 0
			if i != j {
				want = map[bool]int{true: -1, false: 1}[i < j]
			}
			if got := value.Compare(a, b); got != want {
				t.Errorf("Compare(%v, %v) = %d, want %d", a, b, got, want)
			}
		}
	}
	if !value.Equal(value.OfInt(5), value.OfFloat(5)) {
		t.Error("5 and 5.0 differ; want them equal")
	}
	if value.OfFloat(math.Copysign(0, -1)) != value.OfFloat(0) {
		t.Error("negative zero is kept; want zero")
	}
}

func TestEveryTypeHasItsNameAndClass(t *testing.T) {
	if _, ok := value.ParseType("enum"); ok {
		t.Error(`ParseType("enum") is a type; want none: an enum is written by its own name`)
	}
	for _, name := range value.TypeNames() {
		typ, ok := value.ParseType(name)
		if !ok || typ.String() != name {
			t.Errorf("ParseType(%q) = %v, %v", name, typ, ok)
		}
		if typ.Class() == value.Null {
			t.Errorf("%v has no storage class", typ)
		}
	}
}

// cell draws a type and a value of it.
func cell(t *rapid.T) (value.Type, value.Value) {
	text := rapid.StringMatching(`[^\x00]{0,12}`)
	typ := rapid.SampledFrom([]value.Type{
		value.String, value.Integer, value.BigInt, value.Double, value.Boolean,
		value.Date, value.Timestamp, value.Object, value.Array, value.Bytes, value.Enum,
	}).Draw(t, "type")
	const first, last = -62167219200000000, 253402300799999999 // years 0000 to 9999
	switch typ {
	case value.Integer:
		return typ, value.OfInt(int64(rapid.Int32().Draw(t, "int")))
	case value.BigInt:
		return typ, value.OfInt(rapid.Int64().Draw(t, "bigint"))
	case value.Double:
		return typ, value.OfFloat(rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64).Draw(t, "double"))
	case value.Boolean:
		return typ, value.OfBool(rapid.Bool().Draw(t, "boolean"))
	case value.Timestamp:
		return typ, value.OfInt(rapid.Int64Range(first, last).Draw(t, "micros"))
	case value.Date:
		day := value.OfInt(rapid.Int64Range(first, last).Draw(t, "micros")).Time()
		return typ, value.OfText(day.Format("2006-01-02"))
	case value.Bytes:
		return typ, value.OfBlob(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	case value.Object:
		member := value.AppendString([]byte(`{"k":`), text.Draw(t, "text"))
		return typ, value.OfText(string(append(member, '}')))
	case value.Array:
		member := value.AppendString([]byte(`[`), text.Draw(t, "text"))
		return typ, value.OfText(string(append(member, ']')))
	default:
		return typ, value.OfText(text.Draw(t, "text"))
	}
}

func TestJSONReadsBackAsTheSameValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ, v := cell(t)
		raw := value.AppendJSON(nil, typ, v)
		if got, err := value.DecodeJSON(typ, raw); err != nil || got != v {
			t.Fatalf("%v %v is written %s and read as %v, %v", typ, v, raw, got, err)
		}
	})
}

func TestTextReadsBackAsTheSameValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ, v := cell(t)
		if !typ.Scalar() {
			return
		}
		text := string(value.AppendText(nil, typ, v))
		if got, err := value.ParseText(typ, text); err != nil || got != v {
			t.Fatalf("%v %v is written %q and read as %v, %v", typ, v, text, got, err)
		}
	})
}

func oneLine(b []byte) bool {
	return utf8.Valid(b) && !strings.ContainsAny(string(b), "\n\r\u0085\u2028\u2029")
}

func FuzzDecodeJSON(f *testing.F) {
	for _, raw := range []string{`1e3`, `"\ud800"`, `{"a":[1,{"b":"\u2028"}]}`, `"2026-01-01T00:00:00.5+01:00"`, `-0.1e-2`, `"AP8="`, `[[[[`} {
		for typ := value.String; typ <= value.Enum; typ++ {
			f.Add(byte(typ), []byte(raw))
		}
	}
	f.Fuzz(func(t *testing.T, typ byte, raw []byte) {
		v, err := value.DecodeJSON(value.Type(typ), raw)
		if err != nil {
			var refused *value.ParseError
			if !errors.As(err, &refused) || refused.Detail == "" {
				t.Fatalf("error %v is no *ParseError with a detail", err)
			}
			return
		}
		written := value.AppendJSON(nil, value.Type(typ), v)
		if !oneLine(written) {
			t.Fatalf("%q is written %q, not one line of UTF-8", raw, written)
		}
		if again, err := value.DecodeJSON(value.Type(typ), written); err != nil || again != v {
			t.Fatalf("%q is written %s and read as %v, %v; want %v", raw, written, again, err, v)
		}
	})
}

func FuzzParseText(f *testing.F) {
	for _, text := range []string{"1e3", "true", "2026-01-01", "2026-01-01T00:00:00.000001-23:59", "01M2P1R18HT8575N8GVM2H5WPN", "0.1"} {
		for typ := value.String; typ <= value.Enum; typ++ {
			f.Add(byte(typ), text)
		}
	}
	f.Fuzz(func(t *testing.T, typ byte, text string) {
		v, err := value.ParseText(value.Type(typ), text)
		if err != nil {
			return
		}
		if v.Class() != value.Type(typ).Class() {
			t.Fatalf("%q is stored as class %d, want %d", text, v.Class(), value.Type(typ).Class())
		}
		written := string(value.AppendText(nil, value.Type(typ), v))
		if again, err := value.ParseText(value.Type(typ), written); err != nil || again != v {
			t.Fatalf("%q is written %q and read as %v, %v; want %v", text, written, again, err, v)
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	for _, c := range []struct {
		name string
		typ  value.Type
		v    value.Value
	}{
		{"text", value.String, value.OfText("an ordinary title of some length, with a \"quote\"")},
		{"bigint", value.BigInt, value.OfInt(9007199254740993)},
		{"double", value.Double, value.OfFloat(0.30000000000000004)},
		{"timestamp", value.Timestamp, value.OfInt(1789245912123456)},
		{"object", value.Object, value.OfText(`{"k":[1,2,3],"name":"something","nested":{"a":null}}`)},
	} {
		b.Run(c.name, func(b *testing.B) {
			dst := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				dst = value.AppendJSON(dst[:0], c.typ, c.v)
			}
		})
	}
}
