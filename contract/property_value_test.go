package contract

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

var kinds = []string{
	"string", "string", "string", "int", "bigint", "double", "boolean", "date", "datetime", "timestamp", "ulid", "uuid", "object", "array", "bytes", "colour",
}

// hard has values of each kind, as JSON, at which a renderer, a store or a
// stream may stumble.
var hard = map[string][]string{
	"int":       {"0", "-1", "2147483647", "-2147483648", "1e3", "5.0"},
	"bigint":    {"0", "9007199254740993", "-9223372036854775808", "9223372036854775807", "1e15"},
	"double":    {"0", "-0.0", "0.1", "1e21", "1e-7", "5e-324", "1.7976931348623157e308", "123456789.123456789", "9007199254740993"},
	"boolean":   {"true", "false"},
	"date":      {`"2024-02-29"`, `"1582-10-15"`, `"9999-12-31"`},
	"datetime":  {`"2024-02-29T23:59:59.123456+05:30"`, `"1969-12-31T23:59:59.9Z"`, `"2024-01-01T00:00:00Z"`},
	"timestamp": {`"2024-02-29T23:59:59.000001-11:45"`, `"1970-01-01T00:00:00Z"`, `"2038-01-19T03:14:08.100000Z"`},
	"ulid":      {`"01ARZ3NDEKTSV4RRFFQ69G5FAV"`, `"7ZZZZZZZZZZZZZZZZZZZZZZZZZ"`},
	"uuid":      {`"00000000-0000-0000-0000-000000000000"`, `"f81d4fae-7dec-11d0-a765-00a0c91e6bf6"`},
	"object": {`{}`, `{ "b" : [1, {"z":"\u2028\u0085", "a":1.50}], "a":9007199254740993, "":null, "é\n": "<&>" }`,
		`{"__proto__":{"x":true},"\ud83d\ude00":"\ud83d\ude00","data: x":"\r\n\r\nevent: y"}`},
	"array":  {`[]`, `[1,-0,1e300,"\u0001","\u2029",[[[[]]]],{"a":{}},null,true]`, "[\n 1 ,\t2 ]"},
	"bytes":  {`""`, `"AAH/"`, `"Cg0K"`, `"PDw/Pz8+Pg=="`},
	"colour": {`"red"`, `"dark blue"`, `"grün 🟢"`},
}

var hardTexts = []string{
	"", "null", "\u2028\u2029\u0085", "<a href='x'>&amp;</a>", "\t\n\r\b\f\u0001\u001f\u007f", "🜚🜛", "e\u0301", "ﬃ İ ß", `\u0000 \\ " /`, "data: x\n\nevent: y\r\rid: z",
	"\ufeff\u200b\u202e", "\U0010ffff\ufffd", strings.Repeat("x", 300), "  ", "'; --", "%00%0a",
}

// drawValue draws a value of a kind, as JSON. A longer text begins with the
// token, by which it is known again wherever it turns up.
func drawValue(t *rapid.T, kind, token string) string {
	if rapid.IntRange(0, 5).Draw(t, "null") == 0 {
		return "null"
	}
	if kind != "string" {
		return rapid.SampledFrom(hard[kind]).Draw(t, kind)
	}
	text := rapid.OneOf(rapid.SampledFrom(hardTexts), rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 }))).Draw(t, "text")
	if rapid.IntRange(0, 3).Draw(t, "short") == 0 { // about as long as what a mask keeps
		token, text = "", string([]rune(text)[:min(len([]rune(text)), 5)])
	}
	quoted, _ := json.Marshal(token + text)
	return string(quoted)
}

// drawState draws what rules name, and the values of these fields as JSON.
func drawState(t *rapid.T) (state, map[string]string) {
	s := state{
		"owner": rapid.SampledFrom([]any{"ann", "bob", "cy", "Ann", "ann ", "", nil}).Draw(t, "owner"),
		"team":  rapid.SampledFrom([]any{"blue", "red", "", nil}).Draw(t, "team"),
		"open":  rapid.SampledFrom([]any{true, false, nil}).Draw(t, "open"),
		"n":     rapid.SampledFrom([]any{-1, 1, 5, 6, 7, nil}).Draw(t, "n"),
	}
	raw := map[string]string{}
	for name, v := range s {
		text, _ := json.Marshal(v)
		raw[name] = string(text)
	}
	return s, raw
}

// member is one member of a JSON object, its value as it stands.
type member struct{ name, raw string }

// members takes an object apart without touching a byte of its values.
func members(text string) ([]member, error) {
	d := jsontext.NewDecoder(strings.NewReader(text))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, fmt.Errorf("no object: %s: %w", text, err)
	}
	var out []member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		m := member{name: name.String()}
		raw, err := d.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		m.raw = string(raw)
		out = append(out, m)
	}
	return out, nil
}

func object(ms []member) string {
	parts := make([]string, len(ms))
	for i, m := range ms {
		parts[i] = `"` + m.name + `":` + m.raw
	}
	return "{" + strings.Join(parts, ",") + "}"
}
