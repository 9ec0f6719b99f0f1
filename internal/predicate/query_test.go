package predicate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/schema"
)

// Every case of testdata/cases/filter.jsonl gives its rows, in memory and in
// SQLite, or its faults.
func TestParseQueryFollowsTheCases(t *testing.T) {
	fixtures, cases := loadCases(t)
	databases := map[string]*database{}
	for name, fx := range fixtures {
		databases[name] = openDatabase(t, fx.entity, fx.rows)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			fx := fixtures[c.Fixture]
			begin := time.Now()
			tree, err := ParseQuery(fx.entity, c.Query, nil)
			if c.Expect.Status != 0 {
				sameFaults(t, c, err)
				return
			}
			if err != nil {
				t.Fatalf("%s: %s: %v %+v", c.Group, c.Query, err, faultsOf(t, err))
			}
			p := Always()
			if tree != nil {
				p = tree.Bind(Caller{})
			}
			var got []string
			for _, row := range fx.rows {
				if p.Eval(row) == True {
					got = append(got, row[fx.entity.ID].Text())
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, c.Expect.Match) {
				t.Errorf("%s: %s\ngot  %v\nwant %v", c.Group, c.Query, got, c.Expect.Match)
			}
			sameTruths(t, databases[c.Fixture], fx.rows, p)
			if took := time.Since(begin); took > time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func sameFaults(t *testing.T, c filterCase, err error) {
	t.Helper()
	var got, want []string
	for _, e := range faultsOf(t, err) {
		got = append(got, e.Field+": "+e.Code)
		if e.Detail == "" {
			t.Errorf("%s has no detail", e.Field)
		}
	}
	for _, e := range c.Expect.Errors {
		want = append(want, e.Field+": "+e.Code)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: %s\ngot  %q\nwant %q", c.Group, c.Query, got, want)
	}
}

func faultsOf(t *testing.T, err error) []fault.FieldError {
	t.Helper()
	f, ok := fault.Of(err)
	if !ok || f.Code != fault.InvalidQuery {
		t.Fatalf("got %v, want the fault %s", err, fault.InvalidQuery)
	}
	return f.Errors
}

func TestParseQuery(t *testing.T) {
	e := hardEntity(t)
	refused := func(field string, code fault.Code) string { return field + ": " + string(code) }
	tests := map[string]struct{ query, want string }{
		"a query without filter has none":              {"limit=3&sort=-n", ""},
		"an empty query has none":                      {"", ""},
		"undecodable parameters of others are theirs":  {"limit=%zz", ""},
		"a name that does not decode may be a filter":  {"%zz=1", refused("filter", fault.InvalidValue)},
		"a semicolon may hide a filter":                {"limit=1;filter[n][eq]=1", refused("filter", fault.InvalidValue)},
		"an encoded name is a filter":                  {"%66ilter=x", refused("filter", fault.InvalidValue)},
		"depth is told before 10,000 levels are read":  {"filter=" + strings.Repeat(`{"not":`, 20000), refused("filter", fault.LimitExceeded)},
		"depth in arrays is told too":                  {"filter=" + strings.Repeat(`[`, 1000000), refused("filter", fault.LimitExceeded)},
		"depth of brackets is bounded":                 {"filter" + strings.Repeat("[not]", 20000) + "[n][eq]=1", refused("filter", fault.LimitExceeded)},
		"half a surrogate pair is no JSON text":        {`filter={"text":{"eq":"\ud800"}}`, refused("filter", fault.InvalidValue)},
		"a comma list beside members is given twice":   {"filter[n][in]=1&filter[n][in][]=2", refused("n", fault.InvalidValue)},
		"bytes are no operand":                         {"filter[blob][eq]=AAA=", refused("blob", fault.InvalidValue)},
		"a field of no operator in JSON":               {`filter={"n":{}}`, refused("n", fault.InvalidOperator)},
		"an object in a list":                          {`filter={"n":{"in":[{}]}}`, refused("n", fault.InvalidValue)},
		"a list with an object as operand of notIn":    {`filter={"n":{"notIn":{}}}`, refused("n", fault.InvalidValue)},
		"too many conditions":                          {"filter[n][eq]=1" + manyBranches(maxConditions), refused("filter", fault.LimitExceeded)},
		"too many parameters":                          {"filter[n][in][]=1" + strings.Repeat("&filter[n][in][]=1", maxParameters), refused("filter", fault.LimitExceeded)},
		"a name of the id column's kind is no synonym": {"filter[ID][eq]=1", refused("ID", fault.InvalidField)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tree, err := ParseQuery(e, test.query, nil)
			if test.want == "" {
				if tree != nil || err != nil {
					t.Fatalf("got %v, %v, want no filter", tree, err)
				}
				return
			}
			var got []string
			for _, f := range faultsOf(t, err) {
				got = append(got, refused(f.Field, fault.Code(f.Code)))
			}
			if !slices.Contains(got, test.want) {
				t.Errorf("got %v, want %s", got, test.want)
			}
		})
	}
}

func manyBranches(n int) string {
	var s strings.Builder
	for i := range n {
		s.WriteString("&filter[or][" + strings.Repeat("x", i%40) + string(rune('a'+i%26)) + "][n][eq]=1")
		s.WriteString("&filter[and][" + strings.Repeat("y", i) + "][n][eq]=1")
	}
	return s.String()
}

func TestParseQueryAsksWhatIsAllowed(t *testing.T) {
	e := hardEntity(t)
	_, err := ParseQuery(e, "filter[text][eq]=a&filter[n][eq]=1", func(i int) bool { return e.Fields[i].Name == "n" })
	if got := faultsOf(t, err); len(got) != 1 || got[0].Field != "text" || got[0].Code != string(fault.InvalidField) {
		t.Errorf("got %v, want text refused as invalid_field", got)
	}
}

func TestColumnsOfAFilter(t *testing.T) {
	e := hardEntity(t)
	tree, err := ParseQuery(e, "filter[on][eq]=null&filter[not][n][in]=1,2&filter[or][0][text][eq]=a&filter[or][1][n][in]=3&filter[meta][isNull]=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(e, tree.Columns()), "text n on meta"; got != want {
		t.Errorf("Columns: got %s, want %s", got, want)
	}
	if got, want := names(e, tree.EqualityColumns()), "text n on"; got != want {
		t.Errorf("EqualityColumns: got %s, want %s", got, want)
	}
}

func names(e *schema.Entity, columns []int) string {
	var out []string
	for _, i := range columns {
		out = append(out, e.Fields[i].Name)
	}
	return strings.Join(out, " ")
}

// The deepest and the largest filter there may be is still one statement.
func TestAMaximalFilterIsOneStatement(t *testing.T) {
	e := hardEntity(t)
	e.Filter.MaxDepth, e.Filter.MaxInValues = 1000, maxOperands
	rows := seeded(5).rows(e, 3)
	db := openDatabase(t, e, rows)
	deep := strings.Repeat(`{"n":{"eq":1},"or":[{"m":{"eq":2}},`, highest/2-1) + `{"on":{"eq":true}}` + strings.Repeat("]}", highest/2-1)
	list := "filter[big][notIn]=1" + strings.Repeat(",1,2,3", 1000)
	many := "filter[n][eq]=1"
	for i := range maxConditions - 1 {
		many += "&filter[or][" + strings.Repeat("x", i) + "][n][eq]=" + string(rune('0'+i%10))
	}
	for name, query := range map[string]string{"deep": "filter=" + deep, "list": list, "many": many} {
		t.Run(name, func(t *testing.T) {
			tree, err := ParseQuery(e, query, nil)
			if err != nil {
				t.Fatal(err, faultsOf(t, err))
			}
			sameTruths(t, db, rows, tree.Bind(Caller{}))
		})
	}
	higher := strings.Repeat(`{"n":{"eq":1},"or":[{"m":{"eq":2}},`, highest-1) + `{"on":{"eq":true}}` + strings.Repeat("]}", highest-1)
	_, err := ParseQuery(e, "filter="+higher, nil)
	if got := faultsOf(t, err); len(got) != 1 || got[0].Field != "filter" || got[0].Code != string(fault.LimitExceeded) {
		t.Errorf("a filter too high for a statement: got %v, want limit_exceeded", got)
	}
}
