package predicate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

// fixture is an entity with its rows, from testdata/cases/filter.jsonl.
type fixture struct {
	entity *schema.Entity
	rows   [][]value.Value
}

// filterCase is one case of testdata/cases/filter.jsonl.
type filterCase struct {
	ID, Group, Fixture, Query string
	Expect                    struct {
		Match  []string
		Status int
		Errors []struct{ Field, Code string }
	}
}

func loadCases(t testing.TB) (map[string]fixture, []filterCase) {
	t.Helper()
	file, err := os.Open("../../testdata/cases/filter.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it is only read
	fixtures, cases := map[string]fixture{}, []filterCase{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var line struct {
			filterCase
			Enums  []json.RawMessage
			Entity map[string]json.RawMessage
			Rows   []map[string]json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Entity == nil {
			cases = append(cases, line.filterCase)
			continue
		}
		fx := fixture{entity: build(t, line.Enums, line.Entity)}
		for _, row := range line.Rows {
			fx.rows = append(fx.rows, readRow(t, fx.entity, row))
		}
		fixtures[fx.entity.Name] = fx
	}
	if lines.Err() != nil || len(cases) == 0 {
		t.Fatalf("no cases read: %v", lines.Err())
	}
	return fixtures, cases
}

// build reads a fixture's entity as the schema does. The realtime key is left
// out: a later version serves it.
func build(t testing.TB, enums []json.RawMessage, entity map[string]json.RawMessage) *schema.Entity {
	t.Helper()
	delete(entity, "realtime")
	text, err := json.Marshal(map[string]any{"enums": append([]json.RawMessage{}, enums...), "entities": []any{entity}})
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Entity(t, string(text))
}

func readRow(t testing.TB, e *schema.Entity, row map[string]json.RawMessage) []value.Value {
	t.Helper()
	cells := make([]value.Value, len(e.Fields))
	for name, raw := range row {
		i, ok := e.Field(name)
		if !ok {
			t.Fatalf("row names %q", name)
		}
		v, err := value.DecodeJSON(e.Fields[i].Type, raw)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cells[i] = v
	}
	return cells
}

const hardSchema = `
enums:
  - name: hard_state
    values: [{value: draft}, {value: live}, {value: gone}]
entities:
  - name: hard
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
      - {name: other, type: string}
      - {name: n, type: int}
      - {name: m, type: int}
      - {name: big, type: bigint}
      - {name: real, type: double}
      - {name: ratio, type: double}
      - {name: on, type: boolean}
      - {name: off, type: boolean}
      - {name: day, type: date}
      - {name: at, type: timestamp}
      - {name: until, type: timestamp}
      - {name: state, type: hard_state}
      - {name: ref, type: uuid}
      - {name: meta, type: object}
      - {name: blob, type: bytes}
      - {name: key, type: ulid}
    filter: {fields: [id, text, other, n, m, big, real, ratio, on, off, day, at, until, state, ref, meta, blob, key]}
`

// hardEntity has a field, or two, of each type.
func hardEntity(t testing.TB) *schema.Entity {
	t.Helper()
	return schematest.Entity(t, hardSchema)
}

// hardValues are the values of each type that two engines are most likely to
// judge differently.
func hardValues(t value.Type) []value.Value {
	var texts []string
	switch t {
	case value.String:
		texts = []string{"", "a", "A", "ab", "a b", "ä", "Ä", "a\u0308", "e\u0301", "é", "\U0001F600", "\uFF5E", "\uE000", "a\nb", "a\r\n", "\u2028", "ß", "ẞ", "İ", "ı", "K", "k", "ſ", "Σ", "ς", "σ", "%", "_", "a%b", "a_b", "\\", "a\\", "null", "NULL", "1", "01", "1.0", " a ", "'", "\"", "?1", "$1", "\U00010400", "\U00010428"}
	case value.Integer:
		texts = []string{"0", "1", "-1", "2", "2147483647", "-2147483648"}
	case value.BigInt:
		texts = []string{"0", "1", "-1", "9007199254740992", "9007199254740993", "-9007199254740993", "9223372036854775807", "-9223372036854775808"}
	case value.Double:
		texts = []string{"0", "-0", "1", "-1", "0.1", "0.30000000000000004", "0.3", "1e300", "-1e300", "5e-324", "9007199254740992", "9007199254740994", "1e18", "9223372036854775807"}
	case value.Boolean:
		texts = []string{"true", "false"}
	case value.Date:
		texts = []string{"1969-12-31", "1970-01-01", "2024-02-29", "2026-01-01", "9999-12-31", "0001-01-01"}
	case value.Timestamp, value.DateTime:
		texts = []string{"1969-12-31T23:59:59.999999Z", "1970-01-01", "2026-01-01T02:00:00+02:00", "2026-01-01T00:00:00Z", "2025-12-31T20:00:00-05:30", "2026-01-01T00:00:00.000001Z", "9999-12-31T23:59:59.999999Z"}
	case value.Enum:
		texts = []string{"draft", "live", "gone"}
	case value.UUID:
		texts = []string{"0b9c2f14-6a51-4d0e-9a57-0d6a2c9f1e01", "ffffffff-ffff-4fff-bfff-ffffffffffff", "00000000-0000-0000-0000-000000000000"}
	case value.ULID:
		texts = []string{"01M2P1R18V26CMVBZ1DC0AS1Z1", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}
	case value.Object, value.Array, value.Bytes: // no query writes them
	}
	values := []value.Value{{}}
	for _, text := range texts {
		v, err := value.ParseText(t, text)
		if err != nil {
			panic(fmt.Sprintf("%s %q: %v", t, text, err))
		}
		values = append(values, v)
	}
	if t == value.Object {
		values = append(values, value.OfText("{}"))
	}
	if t == value.Bytes {
		values = append(values, value.OfBlob([]byte{0, 255}))
	}
	return values
}
