package script

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

func order() *schema.Entity {
	e := &schema.Entity{Name: "order"}
	for _, f := range []schema.Field{
		{Name: "id", Type: value.ULID},
		{Name: "title", Type: value.String},
		{Name: "status", Type: value.Enum},
		{Name: "total", Type: value.Integer},
		{Name: "big", Type: value.BigInt},
		{Name: "rate", Type: value.Double},
		{Name: "open", Type: value.Boolean},
		{Name: "due", Type: value.Date},
		{Name: "paid_at", Type: value.Timestamp},
		{Name: "meta", Type: value.Object},
		{Name: "tags", Type: value.Array},
		{Name: "raw", Type: value.Bytes},
	} {
		f.Index = len(e.Fields)
		e.Fields = append(e.Fields, &f)
	}
	return e
}

// row returns a row of order with the named cells; the others are NULL.
func row(cells map[string]value.Value) []value.Value {
	e := order()
	out := make([]value.Value, len(e.Fields))
	for i, f := range e.Fields {
		out[i] = cells[f.Name]
	}
	return out
}

func full() []value.Value {
	return row(map[string]value.Value{
		"id": value.OfText("01M2P1R18HT8575N8GVM2H5WPN"), "title": value.OfText("Crème"), "status": value.OfText("paid"),
		"total": value.OfInt(5), "big": value.OfInt(9007199254740993), "rate": value.OfFloat(1.5), "open": value.OfBool(true),
		"due": value.OfText("2026-05-01"), "paid_at": value.OfTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)),
		"meta": value.OfText(`{"a":{"n":7},"f":0.5}`), "tags": value.OfText(`["x","y"]`), "raw": value.OfBlob([]byte{1, 2}),
	})
}

func src(text string) schema.Script {
	return schema.Script{Source: text, Pos: document.Pos{File: "shop.yaml", Line: 10, Col: 21}}
}

func mustCondition(t *testing.T, text string) *Program {
	t.Helper()
	p, refused := CompileCondition(order(), src(text))
	if len(refused) > 0 {
		t.Fatalf("%s: refused: %v", text, refused)
	}
	return p
}

func TestConditionsSeeTheDeclaredValues(t *testing.T) {
	staff := User{ID: "u1", Roles: []string{"staff", "eu"}, Tenant: "t1", Claims: map[string]any{
		"org": "acme", "level": json.Number("3"), "nested": map[string]any{"deep": []any{json.Number("1")}},
	}}
	cases := map[string]bool{
		`payload.status != "draft"`:                               true,
		`payload.total == 5 and payload.total > 4.5`:              true,
		`payload.big == 9007199254740993`:                         true,
		`payload.big == 9007199254740992`:                         false,
		`payload.rate * 2 == 3`:                                   true,
		`payload.open`:                                            true,
		`not payload.open`:                                        false,
		`payload.due < "2026-05-02"`:                              true,
		`payload.paid_at > date("2026-05-01")`:                    true,
		`payload.paid_at - date("2026-05-01") == duration("12h")`: true,
		`payload.meta.a.n == 7`:                                   true,
		`payload.meta.missing?.n == nil`:                          true,
		`payload["meta"]["f"] < 1`:                                true,
		`"x" in payload.tags and payload.tags[-1] == "y"`:         true,
		`payload.raw == "AQI="`:                                   true,
		`len(payload.title) == 5`:                                 true,
		`lower(payload.title) startsWith "cr"`:                    true,
		`payload.title matches "^C.+e$"`:                          true,
		`payload.title | upper() | hasPrefix("CR")`:               true,
		`payload.status in ["open", "paid"]`:                      true,
		`1 < payload.total < 9`:                                   true,
		`old == nil`:                                              true,
		`old.status == nil`:                                       true,
		`old?.status == nil`:                                      true,
		`old.meta.a == nil`:                                       false, // fails, see below
		`operation == "create"`:                                   true,
		`tenant == user.tenant`:                                   true,
		`"staff" in user.roles`:                                   true,
		`user.claims.org == "acme" and user.claims.level > 2`:     true,
		`user.claims.nested.deep[0] == 1`:                         true,
		`user.claims.absent == nil`:                               true,
		`"org" in user.claims`:                                    true,
		`user.id ?? "nobody"`:                                     true,
		`concat(["a"], ["b"])`:                                    true,
		// truthiness
		`nil`: false, `0`: false, `0.0`: false, `""`: false, `[]`: false, `{}`: false, `1`: true, `"0"`: true, `[nil]`: true, `now()`: true,
	}
	for text, want := range cases {
		t.Run(text, func(t *testing.T) {
			got, err := mustCondition(t, text).RunCondition(Change{Payload: full(), Operation: "create", User: staff, Tenant: "t1"})
			if wantErr := text == `old.meta.a == nil`; (err != nil) != wantErr {
				t.Fatalf("error: %v", err)
			}
			if got != want {
				t.Errorf("got %t, want %t", got, want)
			}
		})
	}
}

func TestNullIsNil(t *testing.T) {
	empty := Change{Payload: row(nil), Old: row(nil), User: User{Anonymous: true}}
	cases := []struct {
		text string
		want bool
		err  string // part of the error, "" for none
	}{
		{`payload.total == nil`, true, ""},
		{`payload.total != 5`, true, ""},
		{`payload.paid_at == nil and payload.meta == nil`, true, ""},
		{`(payload.total ?? 0) < 1`, true, ""},
		{`payload.status in ["", "paid"]`, false, ""},
		{`payload.total in [0, 1]`, false, ""},
		{`payload.title contains "a"`, false, ""},
		{`payload.title matches "a"`, false, ""},
		{`user.id == nil`, true, ""},
		{`old == nil`, false, ""},
		{`payload.total < 1`, false, "shop.yaml:10:35: invalid operation: <nil> < int"},
		{`payload.total + 1 == 1`, false, "invalid operation"},
		{`payload.open or true`, false, "shop.yaml:10:"},
		{`lower(payload.title) == ""`, false, "lower() cannot take this value"},
		{`payload.meta.a == 1`, false, "cannot fetch a from <nil>"},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			got, err := mustCondition(t, c.text).RunCondition(empty)
			if got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
			switch {
			case c.err == "" && err != nil:
				t.Errorf("error %v", err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error %v, want one with %q", err, c.err)
			}
		})
	}
}

func TestErrorsHoldNoValueOfTheRow(t *testing.T) {
	secret := Change{Payload: row(map[string]value.Value{"title": value.OfText("s3cr3t")})}
	for _, text := range []string{
		`int(payload.title) > 0`, `float(payload.title) > 0`, `date(payload.title) < now()`, `duration(payload.title) == nil`,
		`abs(payload.meta ?? payload.title)`, `min(payload.meta ?? payload.title, 1)`, `(payload.meta ?? payload.title) > 1`, `not (payload.meta ?? payload.title)`,
	} {
		_, err := mustCondition(t, text).RunCondition(secret)
		if err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: got error %v, want one without the value", text, err)
		}
	}
}

func TestRefusalsNameThePlaceAndTheWayOut(t *testing.T) {
	cases := []struct{ text, at, mentions string }{
		{`payload.misspelt`, "10:29", `no field of order is named "misspelt"`},
		{`payload.totl > 1`, "10:29", `did you mean "total"?`},
		{`payload["totl"] > 1`, "10:29", `did you mean "total"?`},
		{"true and\nold.stauts == 1", "11:5", `did you mean "status"?`},
		{`pyload.total`, "10:21", `did you mean "payload"?`},
		{`event.id`, "10:21", `unknown name "event"`},
		{`user.role`, "10:26", `did you mean "roles"?`},
		{`payload == nil`, "10:21", `payload as a whole`},
		{`old`, "10:21", `old as a whole`},
		{`$env`, "10:21", `unknown name`},
		{`payload.title > 5`, "10:35", `mismatched types string and int`},
		{`payload.total contains "a"`, "10:35", `mismatched types`},
		{`payload.total and true`, "10:35", `mismatched types`},
		{`payload.title ? 1 : 2`, "10:29", `used as condition`},
		{`payload.title.x`, "10:35", `payload.title is a string and has no members`},
		{`payload.paid_at.Unix()`, "10:37", `is not served`},
		{`payload.paid_at.Unix`, "10:37", `has no members`},
		{`payload[user.id]`, "10:34", `must be written out`},
		{`payload.tags[payload.total]`, "10:42", `must be written out`},
		{`payload.title matches payload.status`, "10:51", `must be written out`},
		{`payload.title matches "("`, "10:43", `no RE2 regular expression`},
		{`payload.title matches "(a{90}b?){10}"`, "10:43", `too costly`},
		{strings.Repeat("1 < (", 40) + "1 < payload.total < 2" + strings.Repeat(" ? 1 : 0) < 2", 40), "", `too large`},
		{`all(payload.tags, # == 1)`, "10:21", `all() is not served`},
		{`any(payload.tags, {# == 1})`, "10:21", `any() is not served`},
		{`filter(payload.tags, true)`, "10:21", `filter() is not served`},
		{`map(payload.tags, 1)`, "10:21", `map() is not served`},
		{`reduce(payload.tags, #acc, 1)`, "10:21", `reduce() is not served`},
		{`payload.tags | map(1) | len()`, "10:36", `map() is not served`},
		{`repeat(payload.title, 1000)`, "10:21", `repeat() is not served`},
		{`join(payload.tags, payload.title)`, "10:21", `join() is not served`},
		{`replace(payload.title, "", payload.title)`, "10:21", `replace() is not served`},
		{`1..1000000000`, "10:22", `a range (..)`},
		{`1 in 1..3`, "10:27", `a range (..)`},
		{`let x = 1; x`, "10:25", `let is not served`},
		{`payload.title[1:2]`, "10:34", `a slice is not served`},
		{`1; 2`, "10:21", `is not served`},
		{`lowr("a")`, "10:21", `did you mean "lower"?`},
		{`lower()`, "10:21", `takes 1 argument, not 0`},
		{`now("UTC")`, "10:21", `takes no arguments, not 1`},
		{`date("2026-01-01", "a", "Europe/Berlin")`, "10:21", `1 to 2 arguments`},
		{`payload.total >`, "10:35", `unexpected token`},
		{``, "10:21", `unexpected token`},
		{`"a"` + strings.Repeat(` + "a"`, 33), "", `more than 32 +`},
		{strings.Repeat("not ", 2500) + "true", "", `nodes`},
		{strings.Repeat("(", 20000), "10:21", `longer than`},
		{"[" + strings.Repeat("1,", 1001) + "1]", "10:21", `at most 1000`},
	}
	for _, c := range cases {
		name := c.text
		if len(name) > 40 {
			name = name[:40]
		}
		t.Run(name, func(t *testing.T) {
			_, refused := CompileCondition(order(), src(c.text))
			if len(refused) == 0 {
				t.Fatal("was not refused")
			}
			r := refused[0]
			if want := "shop.yaml:" + c.at; c.at != "" && r.Pos.String() != want {
				t.Errorf("at %s, want %s: %s", r.Pos, want, r.Message)
			}
			if !strings.Contains(r.Message, c.mentions) {
				t.Errorf("message %q does not mention %q", r.Message, c.mentions)
			}
		})
	}
}

func TestAllRefusalsOfOneScriptAreReported(t *testing.T) {
	_, refused := CompileCondition(order(), src(`payload.a1 == old.b2 and c3 > 1 and 0 < payload.zz < 5`))
	var got []int
	for _, r := range refused {
		got = append(got, r.Pos.Col-21)
	}
	if d := cmp.Diff([]int{8, 18, 25, 48}, got); d != "" {
		t.Error(d)
	}
}

func TestFieldsAreThoseNamedUnderPayloadAndOld(t *testing.T) {
	got := mustCondition(t, `payload.total > 1 and old.status == payload["status"] and old?.id != nil`).Fields()
	if d := cmp.Diff([]int{0, 2, 3}, got); d != "" {
		t.Error(d)
	}
}

func TestAFilterSeesWhatThePublisherKeeps(t *testing.T) {
	keeps := func(i int) bool { return order().Fields[i].Name != "title" }
	if _, refused := CompileFilter(order(), src(`payload.title == "a"`), keeps); len(refused) != 1 {
		t.Errorf("a field that exclude removes: got %v, want one refusal", refused)
	}
	for _, text := range []string{`old.total == 1`, `operation == "create"`, `tenant == "t"`} {
		if _, refused := CompileFilter(order(), src(text), keeps); len(refused) == 0 {
			t.Errorf("%s: in scope of a filter", text)
		}
	}
	p, refused := CompileFilter(order(), src(`event.operation == "update" and payload.total > 3 and user.id != nil`), keeps)
	if len(refused) > 0 {
		t.Fatal(refused)
	}
	ok, err := p.RunFilter(Delivery{Payload: full(), Event: map[string]any{"operation": "update"}, User: User{ID: "u"}})
	if !ok || err != nil {
		t.Errorf("got %t, %v", ok, err)
	}
}

func TestACellNotAtHandFailsOnlyWhereItIsUsed(t *testing.T) {
	d := Delivery{
		Payload: row(map[string]value.Value{"total": value.NotAtHand(), "title": value.OfText("a")}),
		Event:   map[string]any{"operation": "delete"},
	}
	cases := []struct {
		text string
		want bool
		err  bool
	}{
		{`event.operation == "delete" or payload.total > 1`, true, false},
		{`event.operation == "update" or payload.total > 1`, false, true},
		{`payload.total == nil`, false, true},
		{`payload.total`, false, true},
		{`payload.total in [1]`, false, true},
		{`payload.title == "a"`, true, false},
		{`payload.total ?? 1`, false, true},
	}
	for _, c := range cases {
		p, refused := CompileFilter(order(), src(c.text), nil)
		if len(refused) > 0 {
			t.Fatal(refused)
		}
		got, err := p.RunFilter(d)
		if got != c.want || (err != nil) != c.err {
			t.Errorf("%s: got %t, %v", c.text, got, err)
		}
	}
}

func TestAccessScriptsYieldNames(t *testing.T) {
	known := []string{"create", "read", "update"}
	cases := []struct {
		text  string
		names []string
		all   bool
		err   bool
	}{
		{`"staff" in user.roles ? true : ["read"]`, nil, true, false},
		{`"boss" in user.roles ? true : ["read", "update"]`, []string{"read", "update"}, false, false},
		{`false`, nil, false, false},
		{`nil`, nil, false, false},
		{`user.roles`, []string{"staff"}, false, false},
		{`user.claims.may`, []string{"read"}, false, false},
		{`concat(["read"], "staff" in user.roles ? ["update"] : [])`, []string{"read", "update"}, false, false},
		{`user.claims.absent ?? ["read"]`, []string{"read"}, false, false},
		{`user.claims.level`, nil, false, true},
		{`user.claims.mixed`, nil, false, true},
		{`user.claims.absent.deeper`, nil, false, true},
		{`user.tenant + ""`, nil, false, true},
	}
	u := User{ID: "u", Roles: []string{"staff"}, Tenant: "t", Claims: map[string]any{
		"may": []any{"read"}, "level": json.Number("1"), "mixed": []any{"read", json.Number("1")},
	}}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			p, refused := CompileAccess(src(c.text), "action", known)
			if len(refused) > 0 {
				t.Fatal(refused)
			}
			names, all, err := p.RunAccess(u)
			if d := cmp.Diff(c.names, names); d != "" || all != c.all || (err != nil) != c.err {
				t.Errorf("got %v, %t, %v", names, all, err)
			}
		})
	}
}

func TestAccessScriptsAreRefusedForNamesThatAreNone(t *testing.T) {
	cases := []struct{ text, at, mentions string }{
		{`["raed"]`, "10:22", `no action is named "raed"; did you mean "read"?`},
		{`user.id == nil ? [] : ["read", "updat"]`, "10:52", `did you mean "update"?`},
		{`concat(["read"], ["x"])`, "10:39", `no action is named "x"`},
		{`user.claims.a ?? ["x"]`, "10:39", `no action is named "x"`},
		{`["read", 1]`, "10:30", `must be a name`},
		{`"read"`, "10:21", `must be a list of names`},
		{`1`, "10:21", `must be a list of names`},
		{`payload.total == 1 ? true : false`, "10:21", `unknown name "payload"`},
	}
	for _, c := range cases {
		t.Run(c.text, func(t *testing.T) {
			_, refused := CompileAccess(src(c.text), "action", []string{"create", "read", "update"})
			if len(refused) != 1 || refused[0].Pos.String() != "shop.yaml:"+c.at || !strings.Contains(refused[0].Message, c.mentions) {
				t.Errorf("got %v, want one at %s that mentions %q", refused, c.at, c.mentions)
			}
		})
	}
}
