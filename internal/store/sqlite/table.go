package sqlite

import (
	"maps"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/schema"
)

// table returns the SQL of an entity, built once. Entities are immutable and few.
func (s *Store) table(e *schema.Entity) *sqltext.Table {
	if t, ok := s.tables.Load(e); ok {
		return t.(*sqltext.Table)
	}
	t, _ := s.tables.LoadOrStore(e, sqltext.NewTable(dialect{}, "", e, nil))
	return t.(*sqltext.Table)
}

// learn makes the entities of a plan known to the log, and their indexes to
// whoever writes.
func (s *Store) learn(plan store.Plan) {
	names := maps.Clone(*s.names.Load())
	for _, e := range plan.Entities {
		t := sqltext.NewTable(dialect{}, "", e, plan.Indexes[e])
		s.tables.Store(e, t)
		names[e.Name] = t
	}
	s.names.Store(&names)
}
