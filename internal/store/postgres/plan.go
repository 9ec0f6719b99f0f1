package postgres

import (
	"maps"
	"strings"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// plan is the SQL of one entity, built once.
type plan struct {
	*sqltext.Table
	unique []int // the fields, other than the key

	getMany, insert string
	// Of a key that the database draws: a row without one, the numbers to come,
	// and the sequence moved on past a number that was given.
	insertDrawn, draw, advance string
}

// plan returns the SQL of an entity. Entities are immutable and few.
func (s *Store) plan(e *schema.Entity) *plan {
	if p, ok := s.plans.Load(e); ok {
		return p.(*plan)
	}
	p, _ := s.plans.LoadOrStore(e, newPlan(s.ns, e, nil))
	return p.(*plan)
}

// learn makes the entities of a plan known to the log, and their indexes to
// whoever writes.
func (s *Store) learn(plan store.Plan) {
	names := maps.Clone(*s.names.Load())
	for _, e := range plan.Entities {
		p := newPlan(s.ns, e, plan.Indexes[e])
		s.plans.Store(e, p)
		names[e.Name] = p
	}
	s.names.Store(&names)
}

func newPlan(ns string, e *schema.Entity, further [][]int) *plan {
	p := &plan{Table: sqltext.NewTable(dialect{}, ns, e, further)}
	for i, f := range e.Fields {
		if f.Unique && i != e.ID {
			p.unique = append(p.unique, i)
		}
	}
	p.getMany = p.many()
	p.insert = p.Insert + " ON CONFLICT DO NOTHING"
	if p.Draws {
		p.insertDrawn = p.InsertBut(e.ID) + " ON CONFLICT DO NOTHING RETURNING " + p.ID
		// A given id moves the sequence on, so that it is never drawn later.
		sequence := "pg_get_serial_sequence(" + literalText(p.Name) + ", " + literalText(e.Fields[e.ID].Name) + ")::regclass"
		p.draw = "SELECT nextval(" + sequence + ") FROM generate_series(1, $1)"
		p.advance = "SELECT setval(" + sequence + ", $1) WHERE $1 > coalesce(pg_sequence_last_value(" + sequence + "), 0)"
	}
	return p
}

// many looks each key up in the index, by itself: OFFSET 0 keeps the planner from
// seeing more in it than one row. For "= ANY" it makes a plan for ten keys, which
// on a table that was small then compares every row with each of hundreds.
func (p *plan) many() string {
	keys := "text[]"
	if p.Entity.Fields[p.Entity.ID].Type.Class() == value.Int {
		keys = "bigint[]"
	}
	return "SELECT one.* FROM unnest($1::" + keys + ") AS wanted(key), LATERAL (SELECT " + p.List + " FROM " + p.Name +
		" AS found WHERE found." + p.ID + " = wanted.key OFFSET 0) AS one"
}

func literalText(s string) string {
	return "E'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(s) + "'"
}
