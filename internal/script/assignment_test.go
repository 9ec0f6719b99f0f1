package script

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

var writtenAt = time.Date(2026, 9, 17, 12, 0, 0, 123_456_789, time.FixedZone("", 2*60*60))

// assign compiles and runs an assignment to the field of order over a full row.
func assign(t *testing.T, field, text string) (string, error) {
	t.Helper()
	e := order()
	p, refused := compileInto(e, field, text)
	if len(refused) > 0 {
		t.Fatalf("refused: %v", refused)
	}
	v, err := p.RunAssignment(Operation{Row: full(), User: user(), Tenant: "t1", Now: writtenAt})
	return string(value.AppendJSON(nil, p.into.Type, v)), err
}

func user() User {
	return User{ID: "u1", Roles: []string{"staff", "eu"}, Tenant: "t1", Claims: map[string]any{
		"level": json.Number("3"), "share": json.Number("0.5"), "whole": json.Number("4.0"), "day": "2026-01-02", "list": []any{json.Number("1"), "x"},
		"big": json.Number("1e30"), "deep": map[string]any{"b": []any{}, "a": nil},
	}}
}

func compileInto(e *schema.Entity, field, text string) (*Program, document.Refusals) {
	e.Fields[2].Enum = &schema.Enum{Name: "order_status", Values: []string{"open", "paid"}}
	e.Fields[1].Required = true
	for i, f := range e.Fields {
		if f.Name == field {
			return CompileAssignment(e, i, src(text))
		}
	}
	return nil, document.Refusals{{Message: "no field " + field}}
}

func TestAnAssignmentYieldsAValueOfItsField(t *testing.T) {
	for _, c := range []struct{ field, text, want string }{
		{"paid_at", `now()`, `"2026-09-17T10:00:00.123456Z"`},
		{"paid_at", `now() + duration("1h")`, `"2026-09-17T11:00:00.123456Z"`},
		{"paid_at", `old.paid_at`, `"2026-05-01T12:00:00Z"`},
		{"paid_at", `payload.paid_at ?? now()`, `"2026-05-01T12:00:00Z"`},
		{"paid_at", `date("2026-05-01")`, `"2026-05-01T00:00:00Z"`},
		{"paid_at", `"2026-05-01T02:00:00+02:00"`, `"2026-05-01T00:00:00Z"`},
		{"paid_at", `user.claims.day`, `"2026-01-02T00:00:00Z"`},
		{"total", `old.total + 1`, `6`},
		{"total", `payload.total > 3 ? payload.total : nil`, `5`},
		{"total", `old.total > 9 ? old.total : nil`, `null`},
		{"total", `int(old.total / 2)`, `2`},
		{"total", `user.claims.level`, `3`},
		{"total", `user.claims.whole`, `4`},
		{"total", `len(user.roles)`, `2`},
		{"total", `max(old.total, 7)`, `7`},
		{"total", `-old.total`, `-5`},
		{"big", `old.big`, `9007199254740993`},
		{"rate", `old.total / 2`, `2.5`},
		{"rate", `old.total`, `5`},
		{"rate", `user.claims.share`, `0.5`},
		{"open", `not old.open`, `false`},
		{"open", `"staff" in user.roles`, `true`},
		{"title", `upper(old.title)`, `"CRÈME"`},
		{"title", `user.id + "@" + tenant`, `"u1@t1"`},
		{"status", `old.open ? "paid" : "open"`, `"paid"`},
		{"due", `old.due`, `"2026-05-01"`},
		{"due", `nil`, `null`},
		{"raw", `old.raw`, `"AQI="`},
		{"meta", `old.meta`, `{"a":{"n":7},"f":0.5}`},
		{"meta", `{"z": old.total, "a": [now(), nil, 1.5, "x"], "t": true}`, `{"a":["2026-09-17T10:00:00.123456Z",null,1.5,"x"],"t":true,"z":5}`},
		{"meta", `user.claims.deep`, `{"a":null,"b":[]}`},
		{"meta", `{}`, `{}`},
		{"tags", `user.roles`, `["staff","eu"]`},
		{"tags", `concat(old.tags, ["z"])`, `["x","y","z"]`},
		{"tags", `[]`, `[]`},
		{"tags", `user.claims.list`, `[1,"x"]`},
	} {
		t.Run(c.field+" = "+c.text, func(t *testing.T) {
			if got, err := assign(t, c.field, c.text); got != c.want || err != nil {
				t.Errorf("got %s, %v, want %s", got, err, c.want)
			}
		})
	}
}

// What cannot be the field's value, whatever the row, is refused at boot, where
// it stands.
func TestAssignmentsThatCannotFitAreRefused(t *testing.T) {
	for _, c := range []struct{ field, text, want string }{
		{"total", `"5"`, `10:21: a value of field "total" must be a whole number`},
		{"total", `old.total / 2`, `10:21: the result is a number with a fraction; field "total" of type int takes a whole number, as of int()`},
		{"total", `round(old.rate)`, `the result is a number with a fraction`},
		{"total", `old.open`, `the result is true or false`},
		{"total", `true`, `10:21: a value of field "total" must be a whole number`},
		{"total", `2147483648`, `10:21: a value of field "total" must be a whole number from -2147483648 to 2147483647`},
		{"total", `1.5`, `10:21: a value of field "total" must be a whole number`},
		{"total", `now() - old.paid_at`, `the result is a duration`},
		{"total", `[1]`, `the result is a list`},
		{"rate", `old.title`, `the result is a text; field "rate" of type double takes a number`},
		{"open", `old.total`, `the result is a whole number; field "open" of type boolean takes true or false`},
		{"title", `old.total`, `the result is a whole number; field "title" of type string takes a text`},
		{"title", `old.open ? nil : "x"`, `10:32: field "title" is required and cannot be nil`},
		{"title", `old.title ?? nil`, `10:34: field "title" is required and cannot be nil`},
		{"title", `now()`, `the result is a time`},
		{"status", `"lost"`, `10:21: a value of field "status" must be one of open, paid`},
		{"status", `old.open ? "paid" : (old.total > 1 ? "lost" : "open")`, `10:58: a value of field "status" must be one of open, paid`},
		{"due", `now()`, `the result is a time; field "due" of type date takes a text`},
		{"due", `"2026-02-30"`, `10:21: a value of field "due" must be a date of the calendar`},
		{"paid_at", `"soon"`, `10:21: a value of field "paid_at" must be a time with its zone`},
		{"paid_at", `old.total`, `takes a time, as of now() or date()`},
		{"raw", `"???"`, `10:21: a value of field "raw" must be base64`},
		{"meta", `old.title`, `field "meta" of type object takes a map`},
		{"meta", `[]`, `the result is a list`},
		{"tags", `{}`, `the result is a map`},
		{"total", `old.tottal`, `10:25: old.tottal: no field of order is named "tottal" here; did you mean "total"?`},
		{"total", `row.total`, `10:21: unknown name "row"`},
		{"total", `operation`, `10:21: unknown name "operation"`},
		{"total", `event.id`, `10:21: unknown name "event"`},
		{"total", `old`, `old as a whole is not served`},
		{"total", `nowww()`, `10:21: nowww() is not served in a script; did you mean "now"?`},
		{"paid_at", `now("UTC")`, `10:21: now() takes no arguments, not 1`},
		{"total", `now`, `10:21: unknown name "now"`},
		{"total", `sum(1..1000)`, `10:21: sum() is not served`},
		{"total", `let x = 1; x`, `let is not served`},
		{"total", `len(map(old.tags, {#}))`, `map() is not served`},
		{"total", `old.total +`, `10:`},
	} {
		t.Run(c.field+" = "+c.text, func(t *testing.T) {
			p, refused := compileInto(order(), c.field, c.text)
			if p != nil || len(refused) == 0 {
				t.Fatal("accepted")
			}
			if got := refused.Error(); !strings.Contains(got, c.want) || len(refused) > 1 {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What shows when it runs is an error that says where and why, and repeats no
// value of the row.
func TestAnAssignmentFailsWithItsPlace(t *testing.T) {
	for _, c := range []struct{ field, text, want string }{
		{"total", `user.claims.share`, `shop.yaml:10:21: the value of field total must be a whole number, as of int()`},
		{"total", `user.claims.big`, `the value of field total must be a whole number`},
		{"total", `old.total + 2147483647`, `the value of field total must be a whole number from -2147483648 to 2147483647`},
		{"total", `user.claims.absent + 1`, `shop.yaml:10:40: invalid operation`},
		{"total", `user.claims.day`, `the value of field total must be a whole number`},
		{"title", `user.claims.level`, `the value of field title must be a text`},
		{"title", `old.title + "\u0000"`, `the value of field title must not contain the character U+0000`},
		{"status", `old.title`, `the value of field status must be one of open, paid`},
		{"due", `old.title`, `the value of field due must be a date of the calendar`},
		{"id", `old.title`, `the value of field id must be a ULID`},
		{"paid_at", `old.title`, `the value of field paid_at must be a time with its zone`},
		{"paid_at", `date("9999-12-31") + duration("48h")`, `must be a time in the years 0000 to 9999`},
		{"rate", `old.rate / 0`, `the value of field rate must be a finite number`},
		{"open", `user.claims.level`, `the value of field open must be true or false`},
		{"raw", `old.title`, `the value of field raw must be base64 with padding`},
		{"meta", `user.claims.list`, `the value of field meta must be a JSON object`},
		{"meta", `{"a": duration("1h")}`, `the value of field meta must hold texts, finite numbers`},
		{"meta", `{"a": 1 / 0}`, `the value of field meta must hold texts, finite numbers`},
		{"tags", `user.claims.deep`, `the value of field tags must be a JSON array`},
	} {
		t.Run(c.field+" = "+c.text, func(t *testing.T) {
			got, err := assign(t, c.field, c.text)
			if err == nil {
				t.Fatalf("got %s", got)
			}
			if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "Crème") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// A cell that is NULL is nil, and a field that is not at hand fails the script.
func TestAnAssignmentOverAnEmptyRow(t *testing.T) {
	for text, want := range map[string]string{
		`old.total`:            "null",
		`(old.total ?? 0) + 1`: "1",
		`old.total + 1`:        "invalid operation",
	} {
		p, refused := compileInto(order(), "total", text)
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		v, err := p.RunAssignment(Operation{Row: row(nil), Now: writtenAt})
		got := string(value.AppendJSON(nil, value.Integer, v))
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestConvertTakesNothingUnmeasured(t *testing.T) {
	meta := &schema.Field{Name: "meta", Type: value.Object}
	deep := any("x")
	for range 100 {
		deep = map[string]any{"a": deep}
	}
	for name, x := range map[string]any{
		"nested too deep": deep, "not a number": map[string]any{"a": math.NaN()}, "not at hand": unknown, "a far time": map[string]any{"a": time.Unix(1<<40, 0)},
	} {
		if v, err := convert(meta, x); err == nil {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// Whatever text stands in a schema, an assignment is refused, or it yields a
// value that a body could have brought, or an error.
func FuzzAssignment(f *testing.F) {
	for _, text := range []string{
		`now()`, `old.total + 1`, `{"a": [now(), nil, 1.5, "x"]}`, `old.open ? "paid" : nil`, `user.claims.deep`, `concat(old.tags, ["z"])`,
		`payload.meta.a.n ?? 1 / 0`, `user.claims.big`, `"\xff"`, `old.title[0]`, `duration("1h")`, `int(old.rate)`, `-9223372036854775808`,
	} {
		for field := range order().Fields {
			f.Add(uint8(field), text)
		}
	}
	f.Fuzz(func(t *testing.T, field uint8, text string) {
		e := order()
		name := e.Fields[int(field)%len(e.Fields)].Name
		p, refused := compileInto(e, name, text)
		if (p == nil) == (len(refused) == 0) {
			t.Fatalf("%q: program %v beside refusals %v", text, p, refused)
		}
		if p == nil {
			return
		}
		for _, cells := range [][]value.Value{full(), row(nil)} {
			v, err := p.RunAssignment(Operation{Row: cells, User: user(), Now: writtenAt})
			if err != nil || v.IsNull() {
				continue
			}
			raw := value.AppendJSON(nil, p.into.Type, v)
			if again, err := p.into.DecodeJSON(raw); err != nil || again != v {
				t.Errorf("%s = %q: %s, which a body could not have brought: %v", name, text, raw, err)
			}
		}
	})
}

func BenchmarkAssignment(b *testing.B) {
	p, refused := compileInto(order(), "paid_at", `old.paid_at ?? now()`)
	if len(refused) > 0 {
		b.Fatal(refused)
	}
	o := Operation{Row: full(), Now: writtenAt}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.RunAssignment(o); err != nil {
			b.Fatal(err)
		}
	}
}
