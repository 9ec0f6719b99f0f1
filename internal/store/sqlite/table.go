package sqlite

import (
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/schema"
)

// table returns the SQL of an entity, built once. Entities are immutable and few.
func (s *Store) table(e *schema.Entity) *sqltext.Table {
	if t, ok := s.tables.Load(e); ok {
		return t.(*sqltext.Table)
	}
	t, _ := s.tables.LoadOrStore(e, sqltext.NewTable(dialect{}, "", e))
	return t.(*sqltext.Table)
}
