package engine_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
)

func TestABodyIsExactlyOneObject(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	for _, c := range []struct{ name, body, mentions string }{
		{"an empty body", ``, "is empty"},
		{"white space alone", " \n", "is empty"},
		{"an array", `[]`, "is not a JSON object"},
		{"a number", `1`, "is not a JSON object"},
		{"null", `null`, "is not a JSON object"},
		{"a truncated object", `{"a":1`, "ends too early"},
		{"a truncated string", `{"a":"b`, "ends too early"},
		{"a key given twice", "{\n\"a\":1,\n\"a\":2}", "gives a key twice (line 3"},
		{"a key given twice in another spelling", `{"a":1,"\u0061":2}`, "gives a key twice"},
		{"a key given twice deep inside", `{"a":{"b":1,"b":2}}`, "gives a key twice"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "invalid UTF-8"},
		{"invalid UTF-8 in a key", "{\"\xff\":1}", "invalid UTF-8"},
		{"half a surrogate pair", `{"a":"\ud800"}`, "surrogate"},
		{"an escaped NUL", `{"a":"x\u0000"}`, "U+0000"},
		{"an escaped NUL in a key", `{"\u0000":1}`, "U+0000"},
		{"an escaped NUL deep inside", `{"a":[{"b":"\u0000"}]}`, "U+0000"},
		{"a raw NUL", "{\"a\":\"\x00\"}", "is not JSON"},
		{"65 levels", deep(65), "deeper than 64"},
		{"10,000 levels", deep(10_000), "deeper than 64"},
		{"a million open brackets", `{"a":` + strings.Repeat("[", 1_000_000), "deeper than 64"},
		{"something after it", `{} {}`, "after its end"},
		{"a comma after it", `{},`, "is not JSON"},
		{"a trailing comma", `{"a":1,}`, "is not JSON"},
		{"a comment", `{/**/}`, "is not JSON"},
		{"a byte order mark", "\ufeff{}", "is not JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			_, err := engine.DecodeBody([]byte(c.body))
			if !fault.Is(err, fault.MalformedBody) || !strings.Contains(err.Error(), c.mentions) {
				t.Fatalf("got %v, want malformed_body that mentions %q", err, c.mentions)
			}
			if !strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), "offset ") {
				t.Errorf("got %v, want the place", err)
			}
			if took := time.Since(start); took > time.Second {
				t.Errorf("took %v to refuse", took)
			}
		})
	}
}

func TestABodyKeepsItsKeysInOrderAndItsValuesAsSent(t *testing.T) {
	got, err := engine.DecodeBody([]byte(" {\"b\" : 9007199254740993 ,\n\"a\":\t{ \"x\": [1, 2] }, \"\\u0063\":\"\\\\u0000\",\"d\":null} \n"))
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ name, raw string }{{"b", "9007199254740993"}, {"a", `{ "x": [1, 2] }`}, {"c", `"\\u0000"`}, {"d", "null"}}
	if len(got) != len(want) {
		t.Fatalf("got %d members, want %d", len(got), len(want))
	}
	for i, w := range want {
		if got[i].Name != w.name || string(got[i].Raw) != w.raw {
			t.Errorf("member %d: got %s %s, want %s %s", i, got[i].Name, got[i].Raw, w.name, w.raw)
		}
	}
}

func TestABodyMayNest64Levels(t *testing.T) {
	if _, err := engine.DecodeBody([]byte(`{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`)); err != nil {
		t.Error(err)
	}
}

func TestBulkBodies(t *testing.T) {
	for _, c := range []struct {
		name, body string
		ndjson     bool
		want       int
		mentions   string
	}{
		{"an empty array", `[]`, false, 0, ""},
		{"an array", `[{"a":1}, {"a":2}]`, false, 2, ""},
		{"lines", "{\"a\":1}\r\n\n{\"a\":2}", true, 2, ""},
		{"no lines", "\n \n", true, 0, ""},
		{"an object instead of an array", `{}`, false, 0, "not a JSON array"},
		{"an element that is no object", `[{}, {}, 3]`, false, 0, "element 2"},
		{"an element with a key twice", `[{}, {"a":1,"a":2}]`, false, 0, "element 1"},
		{"something after the array", `[{}]{}`, false, 0, "after its end"},
		{"an array that ends early", `[{}`, false, 0, "ends too early"},
		{"a line that is no object", "{}\n[]", true, 0, "element 1: the body is not a JSON object (line 2"},
		{"two objects on a line", "{} {}", true, 0, "element 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := engine.DecodeBodies([]byte(c.body), c.ndjson)
			if c.mentions == "" {
				if err != nil || len(got) != c.want {
					t.Fatalf("got %d bodies, %v, want %d", len(got), err, c.want)
				}
				return
			}
			if !fault.Is(err, fault.MalformedBody) || !strings.Contains(err.Error(), c.mentions) {
				t.Fatalf("got %v, want malformed_body that mentions %q", err, c.mentions)
			}
		})
	}
}

// A decoded body says what encoding/json says, or is refused.
func FuzzDecodeBody(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"a":{"b":[1,"\u0000"]}}`, `{"a":1,"a":2}`, "{\"\xff\":0}", `{"a":` + strings.Repeat("[", 70)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := bytes.Clone(data)
		body, err := engine.DecodeBody(data)
		if !bytes.Equal(whole, data) {
			t.Fatal("the body was changed by reading it")
		}
		if err != nil {
			if !fault.Is(err, fault.MalformedBody) {
				t.Fatalf("got %v, want malformed_body", err)
			}
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("took what is no JSON object: %v", err)
		}
		if len(want) != len(body) {
			t.Fatalf("got %d members, want %d", len(body), len(want))
		}
		for _, m := range body {
			if string(want[m.Name]) != string(m.Raw) {
				t.Fatalf("%s: got %q, want %q", m.Name, m.Raw, want[m.Name])
			}
		}
	})
}

// Every element of a bulk reads as it would alone.
func FuzzDecodeBodies(f *testing.F) {
	f.Add([]byte(`[{"a":1},{}]`), false)
	f.Add([]byte("{\"a\":1}\n\n{}"), true)
	f.Add([]byte(`[{}`), false)
	f.Fuzz(func(t *testing.T, data []byte, ndjson bool) {
		bodies, err := engine.DecodeBodies(data, ndjson)
		if err != nil {
			if !fault.Is(err, fault.MalformedBody) {
				t.Fatalf("got %v, want malformed_body", err)
			}
			return
		}
		for _, b := range bodies {
			for _, m := range b {
				if !json.Valid(m.Raw) {
					t.Fatalf("member %q has the value %q", m.Name, m.Raw)
				}
			}
		}
	})
}
