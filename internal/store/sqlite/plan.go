package sqlite

import (
	"strings"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// plan is the SQL of one entity, built once.
type plan struct {
	entity  *schema.Entity
	table   string // quoted
	columns []string
	id      string
	drawn   bool // SQLite draws ids that are not given
	deleted int  // position of deletedon, or -1
	byName  map[string]int

	get, insert, remove string
}

// plan returns the SQL of an entity. Entities are immutable and few.
func (s *Store) plan(e *schema.Entity) *plan {
	if p, ok := s.plans.Load(e); ok {
		return p.(*plan)
	}
	p, _ := s.plans.LoadOrStore(e, newPlan(e))
	return p.(*plan)
}

func newPlan(e *schema.Entity) *plan {
	p := &plan{entity: e, table: quote(e.Table), deleted: -1, byName: make(map[string]int, len(e.Fields))}
	for i, f := range e.Fields {
		p.columns = append(p.columns, quote(f.Name))
		p.byName[f.Name] = i
		if e.SoftDelete && f.Name == "deletedon" {
			p.deleted = i
		}
	}
	p.id = p.columns[e.ID]
	p.drawn = e.Fields[e.ID].Type.Class() == value.Int
	list := strings.Join(p.columns, ", ")
	p.get = "SELECT " + list + " FROM " + p.table + " WHERE " + p.id + " = ?"
	p.insert = "INSERT INTO " + p.table + " (" + list + ") VALUES (" +
		strings.Repeat("?, ", len(p.columns)-1) + "?)"
	p.remove = "DELETE FROM " + p.table + " WHERE " + p.id + " = ?"
	return p
}

// live returns the condition for what of a soft-delete entity a query sees, or "".
func (p *plan) live(d store.Deleted) string {
	switch {
	case d == store.All, p.deleted < 0 && d == store.Live:
		return ""
	case p.deleted < 0:
		return "0" // nothing of an entity without soft delete is deleted
	case d == store.OnlyDeleted:
		return p.columns[p.deleted] + " IS NOT NULL"
	}
	return p.columns[p.deleted] + " IS NULL"
}

// quote is the one way a name gets into SQL.
func quote(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
