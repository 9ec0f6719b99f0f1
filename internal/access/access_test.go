package access_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

// policy compiles an entity order with the given lines beside its fields.
func policy(t *testing.T, lines string) *access.Policy {
	t.Helper()
	p, refused := access.Compile(entity(t, lines))
	if len(refused) > 0 {
		t.Fatalf("refused: %v", refused)
	}
	return p
}

const fields = `
entities:
  - name: order
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
      - {name: owner_id, type: string}
      - {name: total, type: int, mask: {}}
      - {name: card, type: string, mask: {keeplast: 2}}
`

func entity(t *testing.T, lines string) *schema.Entity {
	t.Helper()
	return schematest.Entity(t, fields+lines)
}

func user(id string, roles ...string) *access.Principal {
	return &access.Principal{ID: id, Roles: roles, Tenant: "t1"}
}

var nobody = &access.Principal{Anonymous: true, Roles: []string{"public"}, Tenant: "t1"}

func grant(t *testing.T, p *access.Policy, pr *access.Principal) *access.Grant {
	t.Helper()
	g, err := p.Grant(pr)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func allowed(g *access.Grant) string {
	var names []string
	for _, n := range access.ActionNames() {
		if a, _ := access.ParseAction(n); g.Can(a) {
			names = append(names, n)
		}
	}
	return strings.Join(names, " ")
}

func readable(g *access.Grant) string {
	var names []string
	for i, f := range g.Policy.Entity.Fields {
		switch {
		case g.ReadsPlain(i):
			names = append(names, f.Name)
		case g.Reads(i):
			names = append(names, f.Name+"*")
		}
	}
	return strings.Join(names, " ")
}

func TestWhoMayDoWhatAndReadWhat(t *testing.T) {
	const every = "create read update delete restore purge unmask"
	cases := []struct {
		name, lines string
		caller      *access.Principal
		actions     string
		reads       string
		warns       string
	}{
		{"absent: an authenticated caller may all but purge and unmask", ``, user("u"),
			"create read update delete restore", "id title owner_id total* card*", ""},
		{"absent: an anonymous caller may nothing", ``, nobody, "", "", ""},
		{"true is every action, unmask among them", actions(`true`), user("u"), every, "id title owner_id total card", ""},
		{"a list is what it says", actions(`["read", "purge"]`), user("u"), "read purge", "id title owner_id total* card*", ""},
		{"a list may include an anonymous caller", actions(`["read"]`), nobody, "read", "id title owner_id total* card*", ""},
		{"nil grants nothing", actions(`nil`), user("u"), "", "", ""},
		{"roles decide", actions(`"staff" in user.roles ? true : ["read"]`), user("u", "staff"), every, "id title owner_id total card", ""},
		{"who may not read sees no field", section(`["create", "unmask"]`, `true`), user("u"), "create unmask", "", ""},
		{"a failing script grants nothing and warns", actions(`user.claims.a.b`), user("u"), "", "", "cannot fetch b"},
		{"a computed name that is none grants nothing", actions(`concat(["read"], user.roles)`), user("u", "raed"),
			"read", "id title owner_id total* card*", `no action is named "raed"`},
		{"read true is all fields", read(`true`), user("u"), "create read update delete restore", "id title owner_id total* card*", ""},
		{"read lists fields, and the id is always one", read(`["title", "card"]`), user("u"),
			"create read update delete restore", "id title card*", ""},
		{"read of nothing leaves the id", read(`false`), user("u"), "create read update delete restore", "id", ""},
		{"a failing read leaves the id and warns", read(`user.claims.a.b`), user("u"),
			"create read update delete restore", "id", "cannot fetch b"},
		{"a computed field that is none is not read", read(`concat(["title"], user.roles)`), user("u", "nope"),
			"create read update delete restore", "id title", `no field is named "nope"`},
		{"read does not let an anonymous caller in", read(`true`), nobody, "", "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g, err := policy(t, c.lines).Grant(c.caller)
			if got := allowed(g); got != c.actions {
				t.Errorf("actions: got %q, want %q", got, c.actions)
			}
			if got := readable(g); got != c.reads {
				t.Errorf("fields: got %q, want %q", got, c.reads)
			}
			if c.warns == "" && err != nil || c.warns != "" && (err == nil || !strings.Contains(err.Error(), c.warns)) {
				t.Errorf("warning: got %v, want one with %q", err, c.warns)
			}
		})
	}
}

func actions(expression string) string { return section(expression, "") }

func read(expression string) string { return section("", expression) }

// section writes access: with the scripts that are given.
func section(actions, read string) string {
	lines := "    access:\n"
	for _, s := range [][2]string{{"actions", actions}, {"read", read}} {
		if s[1] != "" {
			lines += "      " + s[0] + ": {language: expr, expression: '" + s[1] + "'}\n"
		}
	}
	return lines
}

func rules(rs ...[2]string) string {
	var b strings.Builder
	b.WriteString("    rowrules:\n")
	for i, r := range rs {
		b.WriteString("      - {name: r" + string(rune('a'+i)) + ", actions: [" + r[0] + "], language: expr, expression: '" + r[1] + "'}\n")
	}
	return b.String()
}

const (
	own    = `row.owner_id == user.id`
	staff  = `"staff" in user.roles`
	public = `row.title == "public"`
)

func row(title, owner string) []value.Value {
	cells := []value.Value{value.OfText("1"), value.OfText(title), value.OfText(owner), value.OfInt(1), value.OfText("4242")}
	if owner == "" {
		cells[2] = value.Value{}
	}
	return cells
}

func TestWhichRowRulesJudgeWhat(t *testing.T) {
	mine, other, open := row("x", "u"), row("x", "v"), row("public", "v")
	type judged map[string]string // action: which of mine, other, open pass
	cases := []struct {
		name   string
		rules  [][2]string
		caller *access.Principal
		want   judged
	}{
		{"no rules restrict nothing", nil, user("u"), judged{
			"create": "mine other open", "read": "mine other open", "update": "mine other open",
			"delete": "mine other open", "restore": "mine other open", "purge": "mine other open"}},
		{"read rules judge all that has none of its own", [][2]string{{"read", own}}, user("u"), judged{
			"create": "mine", "read": "mine", "update": "mine", "delete": "mine", "restore": "mine", "purge": "mine"}},
		{"rules for one action OR together", [][2]string{{"read", own}, {"read", public}, {"update", own}}, user("u"), judged{
			"create": "mine open", "read": "mine open", "update": "mine", "delete": "mine open", "restore": "mine", "purge": "mine open"}},
		{"restore is judged by update, purge by delete", [][2]string{{"update", own}, {"delete", public}}, user("u"), judged{
			"create": "mine other open", "read": "mine other open", "update": "mine", "delete": "open", "restore": "mine", "purge": "open"}},
		{"restore and purge have rules of their own", [][2]string{{"update, delete", own}, {"restore, purge", public}}, user("u"), judged{
			"create": "mine other open", "read": "mine other open", "update": "mine", "delete": "mine", "restore": "open", "purge": "open"}},
		{"create has rules of its own", [][2]string{{"read", public}, {"create", own}}, user("u"), judged{
			"create": "mine", "read": "open", "update": "open", "delete": "open", "restore": "open", "purge": "open"}},
		{"the design's example, its owner", [][2]string{{"read, update", own}, {"read, update, delete", staff}}, user("u"), judged{
			"create": "mine", "read": "mine", "update": "mine", "delete": "", "restore": "mine", "purge": ""}},
		{"the design's example, staff", [][2]string{{"read, update", own}, {"read, update, delete", staff}}, user("s", "staff"), judged{
			"create": "mine other open", "read": "mine other open", "update": "mine other open",
			"delete": "mine other open", "restore": "mine other open", "purge": "mine other open"}},
		{"an anonymous caller owns nothing", [][2]string{{"read", own}}, nobody, judged{
			"create": "", "read": "", "update": "", "delete": "", "restore": "", "purge": ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			lines := ""
			if c.rules != nil {
				lines = rules(c.rules...)
			}
			g := grant(t, policy(t, lines), c.caller)
			got := judged{}
			for action := range c.want {
				a, _ := access.ParseAction(action)
				var pass []string
				for _, r := range []struct {
					name string
					row  []value.Value
				}{{"mine", mine}, {"other", other}, {"open", open}} {
					if g.Rows(a).Eval(r.row) == predicate.True {
						pass = append(pass, r.name)
					}
				}
				got[action] = strings.Join(pass, " ")
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestActionsUnderTheSameRulesShareOnePredicate(t *testing.T) {
	g := grant(t, policy(t, rules([2]string{"read, update", own}, [2]string{"delete", staff})), user("u"))
	if g.Rows(access.Update) != g.Rows(access.Read) || g.Rows(access.Create) != g.Rows(access.Read) {
		t.Error("update and create are judged by read's rules, but with another predicate")
	}
	if g.Rows(access.Delete) == g.Rows(access.Read) {
		t.Error("delete has rules of its own, but read's predicate")
	}
	if !g.Restricted(access.Purge) || !g.Restricted(access.Create) {
		t.Error("an action judged by other rules counts as unrestricted")
	}
	if g := grant(t, policy(t, rules([2]string{"delete", staff})), user("u")); g.Restricted(access.Read) {
		t.Error("read counts as restricted by delete's rules")
	}
}

func TestGuardsAndIndexesKnowTheColumnsOfAllRules(t *testing.T) {
	p := policy(t, rules([2]string{"read", own}, [2]string{"update", `row.total > 3 and row.owner_id == user.id`}))
	if d := cmp.Diff([]int{2, 3}, p.RuleColumns()); d != "" {
		t.Error("columns", d)
	}
	if d := cmp.Diff([]int{2}, p.EqualityColumns()); d != "" {
		t.Error("equality", d)
	}
	if !p.HasRowRules() || policy(t, "").HasRowRules() {
		t.Error("HasRowRules")
	}
}

func TestCompileReportsEveryRefusal(t *testing.T) {
	_, refused := access.Compile(entity(t, section(`["raed"]`, `["titel"]`)+
		rules([2]string{"read", `row.ownr == user.id`}, [2]string{"update", `row.titl == "a"`})))
	if len(refused) != 4 {
		t.Fatalf("got %d refusals, want 4: %v", len(refused), refused)
	}
	for i, want := range []string{`did you mean "read"?`, `did you mean "title"?`, "owner_id", "title"} {
		if !strings.Contains(refused[i].Message, want) || refused[i].Pos.Line == 0 {
			t.Errorf("refusal %d is %v, want one with a place that mentions %q", i, refused[i], want)
		}
	}
}

func TestARuleForWhatIsNoActionOfRowsIsRefused(t *testing.T) {
	e := entity(t, rules([2]string{"read", own}))
	e.RowRules[0].Actions = []string{"unmask"} // the schema lets none through; were it ignored, the entity would stand open
	if _, refused := access.Compile(e); len(refused) != 1 {
		t.Errorf("got %v, want one refusal", refused)
	}
}

func TestMasks(t *testing.T) {
	p := policy(t, "")
	g := grant(t, p, user("u"))
	card := 4
	cases := []struct{ text, want string }{
		{"4242424242", "********42"},
		{"abc", "*bc"},
		{"ab", "**"}, // no longer than what is kept: nothing is shown
		{"a", "*"},
		{"", ""},
		{"日本語", "*本語"},
		{"a😀b😀", "**b😀"},
		{"e\u0301e\u0301", "**e\u0301"},
	}
	for _, c := range cases {
		got, ok := g.Show(card, value.OfText(c.text))
		if !ok || got.Text() != c.want {
			t.Errorf("%q shows %q, want %q", c.text, got.Text(), c.want)
		}
	}
	if got, ok := g.Show(3, value.OfInt(77)); !ok || !got.IsNull() {
		t.Errorf("a masked number shows %v, want NULL", got)
	}
	if got, ok := g.Show(card, value.Value{}); !ok || !got.IsNull() {
		t.Errorf("a masked NULL shows %v, want NULL", got)
	}
	if got, ok := grant(t, policy(t, read(`["title"]`)), user("u")).Show(card, value.OfText("4242")); ok || !got.IsNull() {
		t.Errorf("an unreadable cell shows %v, want nothing", got)
	}
	if got, ok := grant(t, policy(t, actions(`true`)), user("u")).Show(card, value.OfText("4242")); !ok || got.Text() != "4242" {
		t.Errorf("with unmask it shows %v, want the value", got)
	}
}

func TestViewKeyTellsViewsApartAndNotCallers(t *testing.T) {
	p := policy(t, actions(`"staff" in user.roles ? true : ["read"]`))
	a, b, s := grant(t, p, user("a")), grant(t, p, user("b")), grant(t, p, user("s", "staff"))
	if a.ViewKey() != b.ViewKey() {
		t.Error("two callers who see the same have different keys")
	}
	if a.ViewKey() == s.ViewKey() {
		t.Error("a masked and an unmasked view have the same key")
	}
}

func TestPrincipalReachesScriptsAndRules(t *testing.T) {
	pr := &access.Principal{ID: "u", Roles: []string{"a"}, Tenant: "t", Claims: map[string]any{"k": "v"}}
	if !pr.HasRole("a") || pr.HasRole("b") {
		t.Error("HasRole")
	}
	g := grant(t, policy(t, ""), pr)
	if u, c := g.User(), g.Caller(); u.ID != "u" || u.Claims["k"] != "v" || c.ID != "u" || c.Tenant != "t" || c.Claims["k"] != "v" {
		t.Errorf("got %+v and %+v", u, c)
	}
}

// Code that is trusted like the schema is bound by nothing of it, and still acts
// for somebody.
func TestAWholeGrantSeesAndMayEverything(t *testing.T) {
	p := policy(t, `
    access: {actions: {language: expr, expression: "[]"}, read: {language: expr, expression: "[]"}}
    rowrules: [{name: none, actions: [read, create, update, delete], language: expr, expression: row.owner_id == "x"}]
`)
	g := p.Whole(user("ann"))
	row := []value.Value{value.OfText("o1"), value.OfText("lamp"), value.OfText("bob"), value.OfInt(7), value.OfText("4242")}
	for _, name := range access.ActionNames() {
		a, _ := access.ParseAction(name)
		if !g.Can(a) || g.Rows(a).Eval(row) != predicate.True {
			t.Errorf("%s is not allowed", name)
		}
	}
	for i, cell := range row {
		if shown, ok := g.Show(i, cell); !ok || shown != cell || !g.ReadsPlain(i) {
			t.Errorf("%s shows %v", p.Entity.Fields[i].Name, shown)
		}
	}
	if g.User().ID != "ann" || g.Principal.Tenant != "t1" {
		t.Errorf("it acts for %+v", g.Principal)
	}
}
