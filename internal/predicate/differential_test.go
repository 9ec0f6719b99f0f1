package predicate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// condition is a random condition in the simplest terms there are, with its
// meaning written a second time, without any of the code under test.
type condition struct {
	kind         string // and, or, not, choice, compare, pair, member, null, like, has, asked
	parts        []condition
	field, other *schema.Field
	op           relation
	values       []value.Value
	text         string
	fold         bool
	truth        Truth
}

func (c condition) term() term {
	var parts []term
	for _, p := range c.parts {
		parts = append(parts, p.term())
	}
	switch c.kind {
	case "and", "or":
		return joined(c.kind == "and", parts)
	case "not":
		return parts[0].not()
	case "choice":
		return &choice{condition: ready(constant(c.truth)), yes: parts[0], no: parts[1]}
	case "compare":
		return ready(newCompare(c.field, c.op, c.values[0]), c.field)
	case "pair":
		return ready(&pair{left: c.field, right: c.other, op: c.op}, c.field, c.other)
	case "member":
		return ready(newMember(c.field, c.values), c.field)
	case "null":
		return ready(&null{field: c.field}, c.field)
	case "like":
		return ready(&match{field: c.field, pattern: CompileLike(c.text, c.fold)}, c.field)
	case "has":
		return ready(&has{field: c.field, kind: []string{"prefix", "suffix", "infix"}[c.op%3], text: c.text}, c.field)
	default:
		return ready(constant(c.truth))
	}
}

// meaning is the truth of the condition by the definitions of SQL.
func (c condition) meaning(row []value.Value) Truth {
	switch c.kind {
	case "and", "or":
		truths := map[Truth]bool{}
		for _, p := range c.parts {
			truths[p.meaning(row)] = true
		}
		decisive := map[string]Truth{"and": False, "or": True}[c.kind]
		switch {
		case truths[decisive]:
			return decisive
		case truths[Maybe]:
			return Maybe
		}
		return -decisive
	case "not":
		return map[Truth]Truth{True: False, False: True, Maybe: Maybe}[c.parts[0].meaning(row)]
	case "choice":
		switch c.truth {
		case True:
			return c.parts[0].meaning(row)
		case False:
			return c.parts[1].meaning(row)
		default:
			return Maybe
		}
	case "asked":
		return c.truth
	}
	return c.leafMeaning(row)
}

func (c condition) leafMeaning(row []value.Value) Truth {
	cell := row[c.field.Index]
	if c.kind == "null" {
		return map[bool]Truth{true: True, false: False}[cell.IsNull()]
	}
	compared := func(v value.Value) Truth {
		if cell.IsNull() || v.IsNull() {
			return Maybe
		}
		n := value.Compare(cell, v)
		holds := map[relation]bool{equal: n == 0, unequal: n != 0, less: n < 0, lessOrEqual: n <= 0, greater: n > 0, greaterOrEqual: n >= 0}[c.op]
		return map[bool]Truth{true: True, false: False}[holds]
	}
	switch {
	case c.kind == "compare":
		return compared(c.values[0])
	case c.kind == "pair":
		return compared(row[c.other.Index])
	case c.kind == "member":
		or := condition{kind: "or"}
		for _, v := range c.values {
			or.parts = append(or.parts, condition{kind: "compare", field: c.field, op: equal, values: []value.Value{v}})
		}
		return or.meaning(row)
	case cell.IsNull():
		return Maybe
	case c.kind == "like":
		return map[bool]Truth{true: True, false: False}[referenceLike([]rune(c.text), []rune(cell.Text()), c.fold)]
	}
	found := []bool{strings.HasPrefix(cell.Text(), c.text), strings.HasSuffix(cell.Text(), c.text), strings.Contains(cell.Text(), c.text)}[c.op%3]
	return map[bool]Truth{true: True, false: False}[found]
}

// chooser makes the choices of a random condition: from rapid or from a seed.
type chooser func(n int) int

func (pick chooser) condition(e *schema.Entity, depth int) condition {
	kinds := []string{"compare", "compare", "compare", "pair", "member", "null", "like", "has", "asked", "and", "or", "not", "choice"}
	if depth == 0 {
		kinds = kinds[:9]
	}
	c := condition{kind: kinds[pick(len(kinds))], truth: Truth(pick(3) - 1), op: relation(pick(6)), fold: pick(2) == 1}
	switch c.kind {
	case "and", "or":
		for range 1 + pick(4) {
			c.parts = append(c.parts, pick.condition(e, depth-1))
		}
	case "not":
		c.parts = []condition{pick.condition(e, depth-1)}
	case "choice":
		c.parts = []condition{pick.condition(e, depth-1), pick.condition(e, depth-1)}
	case "pair":
		c.field = pick.field(e, true)
		c.other = pick.field(e, true)
		for family(c.other) != family(c.field) {
			c.other = pick.field(e, true)
		}
	case "like", "has":
		c.field = e.Fields[pick(3)]
		for range pick(4) {
			c.text += []string{"%", "_", "a", "A", "ä", "\n", `\`, "k", "\U0001F600", "σ"}[pick(10)]
		}
	case "null":
		c.field = pick.field(e, false)
	case "compare", "member":
		c.field = pick.field(e, true)
		for range 1 + pick(15) {
			c.values = append(c.values, pick.cell(c.field.Type))
		}
	}
	return c
}

func (pick chooser) field(e *schema.Entity, scalar bool) *schema.Field {
	for {
		if f := e.Fields[pick(len(e.Fields))]; f.Type.Scalar() || !scalar {
			return f
		}
	}
}

func (pick chooser) cell(t value.Type) value.Value {
	values := allHardValues()[t]
	return values[pick(len(values))]
}

var allHardValues = sync.OnceValue(func() map[value.Type][]value.Value {
	all := map[value.Type][]value.Value{}
	for t := value.String; t <= value.Enum; t++ {
		all[t] = hardValues(t)
	}
	return all
})

func (pick chooser) rows(e *schema.Entity, n int) [][]value.Value {
	rows := make([][]value.Value, n)
	for i := range rows {
		for _, f := range e.Fields {
			rows[i] = append(rows[i], pick.cell(f.Type))
		}
	}
	return rows
}

// agree holds the condition to its meaning, in memory and in both databases.
func agree(t testing.TB, db *database, rows [][]value.Value, c condition) {
	t.Helper()
	tree := &Tree{root: c.term()}
	p := tree.Bind(Caller{})
	for _, row := range rows {
		if got, want := p.Eval(row) == True, c.meaning(row) == True; got != want {
			t.Fatalf("%s\nrow %v\npasses %v, want %v", p.Key(), row, got, want)
		}
	}
	sameTruths(t, db, rows, p)
}

// Each operator on each pair of hard values of each type.
func TestMemoryAndDatabasesAgreeOnHardValues(t *testing.T) {
	e := hardEntity(t)
	for _, f := range e.Fields {
		values := hardValues(f.Type)
		rows := make([][]value.Value, len(values))
		for i, v := range values {
			rows[i] = make([]value.Value, len(e.Fields))
			rows[i][f.Index] = v
		}
		db := openDatabase(t, e, rows)
		agree(t, db, rows, condition{kind: "null", field: f})
		if !f.Type.Scalar() {
			continue
		}
		for i, v := range values {
			list := append([]value.Value{v}, values[i/2:i]...)
			for _, c := range []condition{{kind: "member", field: f, values: list}, {kind: "pair", field: f, other: f}} {
				agree(t, db, rows, c)
				agree(t, db, rows, condition{kind: "not", parts: []condition{c}})
			}
			for op := equal; op <= greaterOrEqual; op++ {
				c := condition{kind: "compare", field: f, op: op, values: []value.Value{v}}
				agree(t, db, rows, c)
				agree(t, db, rows, condition{kind: "not", parts: []condition{c}})
			}
			if f.Type != value.String || v.IsNull() {
				continue
			}
			for op := range relation(3) {
				agree(t, db, rows, condition{kind: "has", field: f, op: op, text: v.Text()})
			}
			for _, pattern := range []string{v.Text(), v.Text() + "%", "%" + v.Text() + "%", "_" + v.Text()} {
				agree(t, db, rows, condition{kind: "like", field: f, text: pattern})
				agree(t, db, rows, condition{kind: "like", field: f, text: pattern, fold: true})
			}
		}
	}
}

func TestMemoryAndDatabasesAgreeOnRandomConditions(t *testing.T) {
	e := hardEntity(t)
	rows := seeded(1).rows(e, 60)
	db := openDatabase(t, e, rows)
	rapid.Check(t, func(rt *rapid.T) {
		pick := chooser(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") })
		c := pick.condition(e, 4)
		agree(failer{t, rt}, db, rows, c)
	})
}

// failer lets rapid shrink what a helper of testing.TB finds.
type failer struct {
	testing.TB
	rapid *rapid.T
}

func (f failer) Fatalf(format string, args ...any) { f.rapid.Fatalf(format, args...) }
func (f failer) Fatal(args ...any)                 { f.rapid.Fatalf("%s", fmt.Sprint(args...)) }
func (f failer) Helper()                           {}

func seeded(seed uint64) chooser {
	source := rand.New(rand.NewPCG(seed, 7))
	return source.IntN
}

func FuzzDifferential(f *testing.F) {
	e := hardEntity(f)
	db := openDatabase(f, e, nil)
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, conditions, cells uint64) {
		db.empty(t)
		rows := seeded(cells).rows(e, 10)
		db.insert(t, rows)
		pick := seeded(conditions)
		for range 5 {
			agree(t, db, rows, pick.condition(e, 4))
		}
	})
}

// A cell that is not at hand makes what needs it unknown, null checks included.
func TestACellNotAtHandIsUnknown(t *testing.T) {
	e := hardEntity(t)
	row := make([]value.Value, len(e.Fields))
	for i := range row {
		row[i] = value.NotAtHand()
	}
	for _, f := range e.Fields {
		conditions := []condition{{kind: "null", field: f}}
		if f.Type.Scalar() {
			v := hardValues(f.Type)[1]
			conditions = append(conditions,
				condition{kind: "compare", field: f, values: []value.Value{v}},
				condition{kind: "compare", field: f, op: less, values: []value.Value{v}},
				condition{kind: "member", field: f, values: append([]value.Value{{}}, hardValues(f.Type)...)},
				condition{kind: "pair", field: f, other: f})
		}
		if f.Type == value.String {
			conditions = append(conditions, condition{kind: "like", field: f, text: "%"}, condition{kind: "has", field: f})
		}
		for _, c := range conditions {
			for _, c := range []condition{c, {kind: "not", parts: []condition{c}}} {
				tree := &Tree{root: c.term()}
				if got := tree.Bind(Caller{}).Eval(row); got != Maybe {
					t.Errorf("%s of %s: got %s, want unknown", c.kind, f.Name, got)
				}
			}
		}
	}
}
