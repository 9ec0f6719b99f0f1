package sqltext

import (
	"fmt"
	"slices"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// Found is what the database already holds under an entity's table name.
type Found struct {
	Kind    string // as the database calls it
	Columns map[string]Column
	Order   []Column
	Rows    bool // there are some
}

// Column is one column as it was declared.
type Column struct {
	Name, Type, Collation string
	NotNull, HasDefault   bool
	Unique                bool // alone and whole
}

// Changes is what a migration made, noticed, and would not do. The zero value is
// one that has done nothing. It belongs to one goroutine.
type Changes struct {
	Report   store.Report
	problems []string
}

// Refuse notes what stands against the plan, and ends with the way out.
func (c *Changes) Refuse(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// Each makes the table of each entity and then its indexes, unless the table was
// refused and columns may be missing. The error is that of either function, or a
// *store.RefusedError with all that was refused.
func (c *Changes) Each(entities []*schema.Entity, table, indexes func(*schema.Entity) error) error {
	for _, e := range entities {
		before := len(c.problems)
		err := table(e)
		if err == nil && len(c.problems) == before {
			err = indexes(e)
		}
		if err != nil {
			return err
		}
	}
	return c.Err()
}

// Err returns a *store.RefusedError with all that was refused, or nil.
func (c *Changes) Err() error {
	if len(c.problems) == 0 {
		return nil
	}
	return &store.RefusedError{Problems: c.problems}
}

// Warn notes what the operator should know.
func (c *Changes) Warn(format string, args ...any) {
	c.Report.Warnings = append(c.Report.Warnings, fmt.Sprintf(format, args...))
}

// Made notes what was made, such as "table orders".
func (c *Changes) Made(what string) { c.Report.Created = append(c.Report.Created, what) }

// Duplicates refuses to make a field unique, given the query that finds why.
func (c *Changes) Duplicates(t *Table, ix Index) {
	c.Refuse("table %s, field %s is unique in the schema and has duplicates; find them with: %s;",
		t.Entity.Table, t.Entity.Fields[ix.Fields[0]].Name, t.Twice(ix))
}

// Twice is the query for the values of a unique index that stand in several rows.
func (t *Table) Twice(ix Index) string {
	column := t.Keys(ix)
	return "SELECT " + column + ", count(*) FROM " + t.Name + " WHERE " + column + " IS NOT NULL GROUP BY 1 HAVING count(*) > 1"
}

// AddColumn returns the statement that adds a field's column to a table, or
// refuses where rows would lack a value that the schema requires. literal writes
// the field's default.
func (c *Changes) AddColumn(t *Table, f *schema.Field, typ string, literal func() string, rows bool) (ddl string, ok bool) {
	filled := f.Default != nil && f.Default.Kind == schema.DefaultLiteral && !f.Default.Value.IsNull()
	ddl = "ALTER TABLE " + t.Name + " ADD COLUMN " + t.Columns[f.Index] + " " + typ
	if f.Required && !filled && rows {
		c.Refuse("table %s has rows, and the new field %s is required without a literal defaultvalue to give them; run: %s; UPDATE %s SET %s = <a value>; or give the field a defaultvalue",
			t.Entity.Table, f.Name, ddl, t.Name, t.Columns[f.Index])
		return "", false
	}
	if filled {
		ddl += " DEFAULT " + literal()
	}
	return ddl, true
}

// Strangers warns of columns that are no field of the schema. same says whether
// two names are one to the database.
func (c *Changes) Strangers(t *Table, found *Found, same func(a, b string) bool) {
	for _, have := range found.Order {
		known := slices.ContainsFunc(t.Entity.Fields, func(f *schema.Field) bool { return same(f.Name, have.Name) })
		what := "no field of the schema: left alone; to remove it run"
		switch {
		case known:
			continue
		case have.NotNull && !have.HasDefault:
			what = "NOT NULL and no field of the schema: no row can be created; run"
		}
		c.Warn("table %s, column %s is %s: ALTER TABLE %s DROP COLUMN %s;", t.Entity.Table, have.Name, what, t.Name, Quote(have.Name))
	}
}
