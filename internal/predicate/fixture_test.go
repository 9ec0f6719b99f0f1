package predicate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"
	"unsafe"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
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
	defer file.Close()
	fixtures, cases := map[string]fixture{}, []filterCase{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var line struct {
			filterCase
			Enums  []enumSpec
			Entity *entitySpec
			Rows   []map[string]json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line.Entity == nil {
			cases = append(cases, line.filterCase)
			continue
		}
		fx := fixture{entity: line.Entity.build(line.Enums)}
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

type enumSpec struct {
	Name   string
	Values []struct{ Value string }
}

type entitySpec struct {
	Name   string
	Fields []struct {
		Name, Type  string
		Validations []struct{ Type string }
	}
	Filter *struct {
		Fields []string
		Limits struct{ MaxDepth, MaxInValues, MaxLikePatternLength int }
	}
}

func (s *entitySpec) build(enums []enumSpec) *schema.Entity {
	e := &schema.Entity{Name: s.Name, Table: s.Name}
	positions := map[string]int{}
	for i, spec := range s.Fields {
		f := &schema.Field{Name: spec.Name, Index: i}
		if t, ok := value.ParseType(spec.Type); ok {
			f.Type = t
		} else {
			f.Type = value.Enum
			for _, enum := range enums {
				if enum.Name == spec.Type {
					f.Enum = &schema.Enum{Name: enum.Name}
					for _, v := range enum.Values {
						f.Enum.Values = append(f.Enum.Values, v.Value)
					}
				}
			}
		}
		for _, v := range spec.Validations {
			f.Required = f.Required || v.Type == "required"
		}
		positions[f.Name] = i
		e.Fields = append(e.Fields, f)
	}
	e.ID = positions["id"]
	e.Filter = schema.Filter{MaxDepth: 3, MaxInValues: 100, MaxLikePattern: 200}
	if s.Filter != nil {
		for _, name := range s.Filter.Fields {
			e.Filter.Fields = append(e.Filter.Fields, positions[name])
		}
		limits := s.Filter.Limits
		if limits.MaxDepth > 0 {
			e.Filter.MaxDepth, e.Filter.MaxInValues, e.Filter.MaxLikePattern = limits.MaxDepth, limits.MaxInValues, limits.MaxLikePatternLength
		}
	}
	byName := reflect.ValueOf(e).Elem().FieldByName("byName")
	reflect.NewAt(byName.Type(), unsafe.Pointer(byName.UnsafeAddr())).Elem().Set(reflect.ValueOf(positions))
	return e
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

// hardEntity has a field, or two, of each type, all of them nullable.
func hardEntity() *schema.Entity {
	spec := entitySpec{Name: "hard"}
	fields := []string{"id string", "text string", "other string", "n int", "m int", "big bigint", "real double", "ratio double",
		"on boolean", "off boolean", "day date", "at timestamp", "until timestamp", "state hard_state", "ref uuid", "meta object", "blob bytes", "key ulid"}
	for _, f := range fields {
		var name, typ string
		fmt.Sscanf(f, "%s %s", &name, &typ)
		spec.Fields = append(spec.Fields, struct {
			Name, Type  string
			Validations []struct{ Type string }
		}{Name: name, Type: typ})
	}
	e := spec.build([]enumSpec{{Name: "hard_state", Values: []struct{ Value string }{{"draft"}, {"live"}, {"gone"}}}})
	for i := range e.Fields {
		e.Filter.Fields = append(e.Filter.Fields, i)
	}
	return e
}

// hardValues are the values of each type that two engines are most likely to
// judge differently.
func hardValues(t value.Type) []value.Value {
	var texts []string
	switch t {
	case value.String:
		for _, s := range []string{"", "a", "A", "ab", "a b", "ä", "Ä", "a\u0308", "e\u0301", "é", "\U0001F600", "\uFF5E", "\uE000", "a\nb", "a\r\n", "\u2028", "ß", "ẞ", "İ", "ı", "K", "k", "ſ", "Σ", "ς", "σ", "%", "_", "a%b", "a_b", "\\", "a\\", "null", "NULL", "1", "01", "1.0", " a ", "'", "\"", "?1", "$1", "\U00010400", "\U00010428"} {
			texts = append(texts, s)
		}
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
	}
	values := []value.Value{{}}
	for _, text := range texts {
		v, err := value.ParseText(t, text)
		if err != nil {
			panic(fmt.Sprintf("%s %q: %v", t, text, err))
		}
		values = append(values, v)
	}
	switch t {
	case value.Object:
		values = append(values, value.OfText("{}"))
	case value.Bytes:
		values = append(values, value.OfBlob([]byte{0, 255}))
	}
	return values
}
