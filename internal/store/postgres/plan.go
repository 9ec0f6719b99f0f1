package postgres

import (
	"strings"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// plan is the SQL of one entity, built once.
type plan struct {
	entity  *schema.Entity
	table   string // quoted, with its namespace
	columns []string
	list    string
	id      string
	drawn   bool // the database draws ids that are not given
	deleted int  // position of deletedon, or -1
	unique  []int
	byName  map[string]int

	get, getMany, insert, insertDrawn, advance, remove string
}

// plan returns the SQL of an entity. Entities are immutable and few.
func (s *Store) plan(e *schema.Entity) *plan {
	if p, ok := s.plans.Load(e); ok {
		return p.(*plan)
	}
	p, _ := s.plans.LoadOrStore(e, newPlan(s.ns, e))
	return p.(*plan)
}

func newPlan(ns string, e *schema.Entity) *plan {
	p := &plan{entity: e, table: ns + quote(e.Table), deleted: -1, byName: make(map[string]int, len(e.Fields))}
	for i, f := range e.Fields {
		p.columns = append(p.columns, quote(f.Name))
		p.byName[f.Name] = i
		if e.SoftDelete && f.Name == "deletedon" {
			p.deleted = i
		}
		if f.Unique && i != e.ID {
			p.unique = append(p.unique, i)
		}
	}
	p.id = p.columns[e.ID]
	p.drawn = e.Fields[e.ID].Type.Class() == value.Int
	p.list = strings.Join(p.columns, ", ")
	p.get = "SELECT " + p.list + " FROM " + p.table + " WHERE " + p.id + " = $1"
	p.getMany = "SELECT " + p.list + " FROM " + p.table + " WHERE " + p.id + " = ANY($1)"
	p.remove = "DELETE FROM " + p.table + " WHERE " + p.id + " = $1"
	p.insert = p.inserting(-1) + " ON CONFLICT DO NOTHING"
	if p.drawn {
		p.insertDrawn = p.inserting(e.ID) + " ON CONFLICT DO NOTHING RETURNING " + p.id
		// A given id moves the sequence on, so that it is never drawn later.
		sequence := "pg_get_serial_sequence(" + literalText(p.table) + ", " + literalText(e.Fields[e.ID].Name) + ")"
		p.advance = "SELECT setval(" + sequence + "::regclass, $1) WHERE $1 > coalesce(pg_sequence_last_value(" + sequence + "::regclass), 0)"
	}
	return p
}

// inserting writes an INSERT of every column but one; the parameters keep the
// numbers of the fields.
func (p *plan) inserting(but int) string {
	var names, marks []string
	for i, column := range p.columns {
		if i != but {
			names = append(names, column)
			marks = append(marks, dialect{}.Placeholder(len(marks)+1))
		}
	}
	if len(names) == 0 {
		return "INSERT INTO " + p.table + " DEFAULT VALUES"
	}
	return "INSERT INTO " + p.table + " (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(marks, ", ") + ")"
}

func literalText(s string) string {
	return "E'" + strings.NewReplacer("'", "''", `\`, `\\`).Replace(s) + "'"
}

// live returns the condition for what of a soft-delete entity a query sees, or "".
func (p *plan) live(d store.Deleted) string {
	switch {
	case d == store.All, p.deleted < 0 && d == store.Live:
		return ""
	case p.deleted < 0:
		return "(1 = 0)" // nothing of an entity without soft delete is deleted
	case d == store.OnlyDeleted:
		return p.columns[p.deleted] + " IS NOT NULL"
	}
	return p.columns[p.deleted] + " IS NULL"
}
