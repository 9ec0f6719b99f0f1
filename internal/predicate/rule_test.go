package predicate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/document"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

func script(source string) schema.Script {
	return schema.Script{Source: source, Pos: document.Pos{File: "shop.yaml", Line: 10, Col: 20}}
}

func mustRule(t testing.TB, e *schema.Entity, source string) *Tree {
	t.Helper()
	tree, refusals := ParseRule(e, script(source))
	if len(refusals) > 0 {
		t.Fatalf("%s\nrefused: %v", source, refusals)
	}
	return tree
}

var alice = Caller{
	ID: "alice", Roles: []string{"staff", "eu"}, Tenant: "t1",
	Claims: map[string]any{
		"teams": []any{"red", "blue", json.Number("7")}, "level": json.Number("5"), "big": json.Number("9007199254740993"),
		"admin": true, "until": "2026-01-01T00:00:00Z", "none": nil, "empty": []any{}, "half": json.Number("1.5"), "map": map[string]any{},
	},
}

var anonymous = Caller{Anonymous: true, Roles: []string{"public"}}

// A rule decides one row for one caller, in memory and in SQLite alike.
func TestRules(t *testing.T) {
	e := hardEntity(t)
	row := readRow(t, e, map[string]json.RawMessage{
		"id": []byte(`"r1"`), "text": []byte(`"alice"`), "n": []byte("5"), "m": []byte("7"), "big": []byte("9007199254740993"),
		"real": []byte("1.5"), "ratio": []byte("1.5"), "on": []byte("true"), "at": []byte(`"2026-01-01T02:00:00+02:00"`), "day": []byte(`"2026-01-01"`),
		"state": []byte(`"live"`), "meta": []byte("{}"),
	})
	db := openDatabase(t, e, [][]value.Value{row})
	tests := []struct {
		source string
		caller Caller
		want   Truth
	}{
		{`row.text == user.id`, alice, True},
		{`user.id == row.text`, alice, True},
		{`row.text == user.id`, anonymous, Maybe},
		{`row.text != user.id`, anonymous, Maybe},
		{`not (row.text == user.id)`, anonymous, Maybe},
		{`row.text == user.id`, Caller{}, Maybe},
		{`user.id == nil`, anonymous, True},
		{`user.id != nil`, alice, True},
		{`row.other == user.id`, alice, Maybe},
		{`row.other == nil`, alice, True},
		{`row.other != nil`, alice, False},
		{`nil == row.meta`, alice, False},
		{`row.other != "x"`, alice, Maybe},
		{`"staff" in user.roles`, alice, True},
		{`"staff" not in user.roles`, alice, False},
		{`not ("staff" in user.roles)`, anonymous, True},
		{`"staff" in user.roles || row.text == user.id`, anonymous, Maybe},
		{`"staff" in user.roles and row.n == 5`, alice, True},
		{`user.tenant == "t1" && row.n >= 5`, alice, True},
		{`row.state in ["draft", "live"]`, alice, True},
		{`row.state not in ["draft", "gone"]`, alice, True},
		{`row.n in [1, 2, 5]`, alice, True},
		{`row.n not in [1, 2]`, alice, True},
		{`row.other not in ["a", "b"]`, alice, Maybe},
		{`row.text in [user.id, user.claims.boss]`, alice, True},
		{`row.text in ["bob", user.claims.boss]`, alice, Maybe},
		{`5 in [row.n, row.m]`, alice, True},
		{`row.text in user.roles`, alice, False},
		{`row.text in user.claims.teams`, alice, Maybe},
		{`row.n in user.claims.teams`, alice, Maybe},
		{`row.m in user.claims.teams`, alice, True},
		{`row.text in user.claims.empty`, alice, False},
		{`row.text not in user.claims.empty`, alice, True},
		{`row.text in user.claims.nowhere`, alice, Maybe},
		{`row.text not in user.claims.level`, alice, Maybe},
		{`"red" in user.claims.teams`, alice, True},
		{`user.claims.level in user.claims.teams`, alice, Maybe},
		{`user.claims.level >= 5`, alice, True},
		{`user.claims.level == "5"`, alice, Maybe},
		{`user.claims.nowhere == nil`, alice, True},
		{`user.claims.none == nil`, alice, True},
		{`user.claims.map == user.claims.map`, alice, Maybe},
		{`user.claims.admin`, alice, True},
		{`!user.claims.admin`, alice, False},
		{`user.claims.level`, alice, Maybe},
		{`user.claims.admin == row.on`, alice, True},
		{`row.n == user.claims.level`, alice, True},
		{`row.n == user.claims.half`, alice, Maybe},
		{`row.n != user.claims.until`, alice, Maybe},
		{`row.real == user.claims.half`, alice, True},
		{`row.big == user.claims.big`, alice, True},
		{`row.big == 9007199254740993`, alice, True},
		{`row.big > 9007199254740992`, alice, True},
		{`row.at == user.claims.until`, alice, True},
		{`row.at == "2026-01-01T00:00:00Z"`, alice, True},
		{`row.at < "2026-01-01T00:00:01Z" and row.day == "2026-01-01"`, alice, True},
		{`row.on`, alice, True},
		{`not row.on`, alice, False},
		{`row.off`, alice, Maybe},
		{`not row.off`, alice, Maybe},
		{`row.on == true and row.on != false`, alice, True},
		{`row.real == row.ratio`, alice, True},
		{`row.n < row.m`, alice, True},
		{`row.n < row.big`, alice, True},
		{`row.text != row.other`, alice, Maybe},
		{`1 < row.n < 6`, alice, True},
		{`row.n == -5 or row.real > -1.5`, alice, True},
		{`row.n == 5.0`, alice, True},
		{`row.text startsWith "al"`, alice, True},
		{`row.text endsWith "ice"`, alice, True},
		{`row.text contains "lic"`, alice, True},
		{`row.text not contains "x"`, alice, True},
		{`row.text startsWith user.id`, alice, True},
		{`row.text startsWith user.id`, anonymous, Maybe},
		{`user.id startsWith "al"`, alice, True},
		{`row.text contains ""`, alice, True},
		{`"staff" in user.roles ? row.n == 5 : false`, alice, True},
		{`"staff" in user.roles ? row.n == 5 : row.n == 6`, anonymous, False},
		{`not (user.claims.nowhere == 1 ? row.n == 5 : row.n == 6)`, alice, Maybe},
		{`true`, anonymous, True},
		{`row["text"] == "alice"`, alice, True},
		{"row.n == 5\n  and (row.m == 7\n  or row.m == 8)", alice, True},
	}
	for _, test := range tests {
		t.Run(test.source, func(t *testing.T) {
			p := mustRule(t, e, test.source).Bind(test.caller)
			if got := p.Eval(row); got != test.want && (got == True || test.want == True) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			sameTruths(t, db, [][]value.Value{row}, p)
		})
	}
}

// What has no exact meaning both in memory and in SQL is refused where it
// stands, with the way out.
func TestRulesAreRefused(t *testing.T) {
	e := hardEntity(t)
	tests := []struct{ source, at, mentions string }{
		{`row.txt == user.id`, "10:24", `did you mean "text"?`},
		{`row.text == user.idd`, "10:37", `user.claims.idd`},
		{`row.n == "5"`, "10:29", "is a text"},
		{`row.text == 5`, "10:32", "is a number"},
		{`row.n == 1.5`, "10:29", "whole number"},
		{`row.n == 3000000000`, "10:29", "whole number"},
		{`row.state == "vip"`, "10:33", "draft, live, gone"},
		{`row.at == "yesterday"`, "10:30", "row.at must"},
		{`row.on == 1`, "10:30", "is a number"},
		{`row.on < true`, "10:27", "no order"},
		{`row.meta == "x"`, "10:24", "== nil"},
		{`row.blob == row.blob`, "10:24", "== nil"},
		{`row.n < nil`, "10:26", "nil has no order"},
		{`row.n in [1, nil]`, "10:33", "nil in a list"},
		{`row.n in []`, "10:26", "empty list"},
		{`row.n in row.m`, "10:33", "no list"},
		{`row.n in user.id`, "10:34", "no list"},
		{`row.n in user.roles`, "10:24", "user.roles holds texts"},
		{`user.roles == "staff"`, "10:25", "is a list"},
		{`user.roles contains "staff"`, "10:25", "x in the list"},
		{`"a" contains row.text`, "10:37", "not from the row"},
		{`row.n contains "1"`, "10:24", "takes texts"},
		{`row.n == user.id`, "10:34", "never equal"},
		{`row.n == row.text`, "10:26", "different types"},
		{`row.text matches "^a"`, "10:29", "regular expressions"},
		{`len(row.text) > 3`, "10:20", "the function len"},
		{`row.n + 1 == 2`, "10:26", "computed value (+)"},
		{`row.text`, "10:24", "not a boolean"},
		{`user.id`, "10:25", "not a boolean"},
		{`"x"`, "10:20", "a literal"},
		{`owner == 1`, "10:20", "row.FIELD"},
		{`payload.x == 1`, "10:28", "row and user"},
		{`row.meta.x == 1`, "10:29", "look inside"},
		{`user.claims == nil`, "10:25", "name one claim"},
		{`user.claims.a.b == 1`, "10:34", "name one claim"},
		{`user?.id == row.text`, "10:26", "?."},
		{`row.on ? row.n == 1 : row.n == 2`, "10:24", "ask the user alone"},
		{`let x = 1; row.n == x`, "10:24", "let"},
		{`1 == "a"`, "10:22", "never equal"},
		{`row.n ==`, "10:27", "cannot be read"},
		{``, "10:20", "cannot be read"},
		{`row.n == 99999999999999999999`, "10:48", "cannot be read"},
		{strings.Repeat("not ", 100) + "row.on", "10:", "nests more than"},
		{strings.Repeat("(", 70000) + "true" + strings.Repeat(")", 70000), "10:20", "bytes long"},
	}
	for _, test := range tests {
		t.Run(test.source[:min(len(test.source), 60)], func(t *testing.T) {
			tree, refusals := ParseRule(e, script(test.source))
			if tree != nil || len(refusals) == 0 {
				t.Fatal("accepted, want a refusal")
			}
			got := refusals[0]
			if !strings.HasPrefix(got.Pos.String(), "shop.yaml:"+test.at) || !strings.Contains(got.Message, test.mentions) {
				t.Errorf("got %s: %s\nwant shop.yaml:%s: … %s …", got.Pos, got.Message, test.at, test.mentions)
			}
		})
	}
}

func TestAllRefusalsOfARuleAreReportedTogether(t *testing.T) {
	_, refusals := ParseRule(hardEntity(t), script(`row.nn == 1 or row.n == "x" or len(row.text) == 1`))
	if len(refusals) != 3 {
		t.Errorf("got %d refusals, want 3: %v", len(refusals), refusals)
	}
}

// The place of a refusal is its place in the file, on whatever line it stands.
func TestARefusalPointsIntoTheFile(t *testing.T) {
	e := schematest.Entity(t, `
entities:
  - name: order
    fields: [{name: id, type: string}, {name: total, type: int}]
    rowrules:
      - name: own
        actions: [read]
        language: expr
        expression: |
          row.total > 5
            and row.totl < 7
`)
	_, refusals := ParseRule(e, e.RowRules[0].Script)
	if len(refusals) != 1 || refusals[0].Pos.String() != "shop.yaml:11:21" || !strings.Contains(refusals[0].Snippet, "and row.totl < 7") {
		t.Errorf("got %v\n%s", refusals, refusals[0].Snippet)
	}
}

func TestAMaximalRuleIsOneStatement(t *testing.T) {
	e := hardEntity(t)
	row := make([]value.Value, len(e.Fields))
	db := openDatabase(t, e, [][]value.Value{row})
	chain := strings.TrimSuffix(strings.Repeat("row.n == 1 and row.m != 2 and ", 400), " and ")
	deep := strings.Repeat("(row.n == 1 or (row.m == 2 and ", maxRuleDepth/2-1) + "row.on" + strings.Repeat("))", maxRuleDepth/2-1)
	for _, source := range []string{chain, strings.ReplaceAll(chain, "and", "or"), deep} {
		sameTruths(t, db, [][]value.Value{row}, mustRule(t, e, source).Bind(alice))
	}
}

func TestColumnsOfARule(t *testing.T) {
	e := hardEntity(t)
	tree := mustRule(t, e, `row.text == user.id or row.n in [1, 2] or row.m != 3 or row.real == row.ratio or not (row.state == "live") or row.id in user.claims.ids or ("staff" in user.roles ? row.on : row.key == "01M2P1R18V26CMVBZ1DC0AS1Z1")`)
	if got, want := names(e, tree.Columns()), "id text n m real ratio on state key"; got != want {
		t.Errorf("Columns: got %s, want %s", got, want)
	}
	if got, want := names(e, tree.EqualityColumns()), "id text n key"; got != want {
		t.Errorf("EqualityColumns: got %s, want %s", got, want)
	}
}
