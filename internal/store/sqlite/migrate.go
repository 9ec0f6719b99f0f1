package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/schema"
)

// Migrate implements store.Store: all of the plan in one transaction, or
// nothing and a *store.RefusedError with everything that stands against it.
//
// An index that makes a field unique is dropped when the schema no longer asks
// for it, because it would go on refusing rows; every other index that rowcast
// or the operator made is left alone.
func (s *Store) Migrate(ctx context.Context, plan store.Plan) (store.Report, error) {
	var m *migration
	err := s.administer(ctx, func(c *conn) error {
		m = &migration{store: s, conn: c, plan: plan}
		return m.run()
	})
	if err != nil {
		return store.Report{}, err
	}
	s.learn(plan)
	return m.report, nil
}

// migration is one run of Migrate.
type migration struct {
	store    *Store
	conn     *conn
	plan     store.Plan
	report   store.Report
	problems []string
}

func (m *migration) run() error {
	if err := m.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return fail("begin a migration", err)
	}
	err := m.entities()
	if err == nil && len(m.problems) > 0 {
		err = &store.RefusedError{Problems: m.problems}
	}
	if err == nil {
		if err = m.conn.exec("COMMIT"); err == nil {
			return nil
		}
		err = fail("commit a migration", err)
	}
	if !m.conn.db.GetAutocommit() {
		err = errors.Join(err, m.conn.exec("ROLLBACK"))
	}
	return err
}

func (m *migration) entities() error {
	for _, e := range m.plan.Entities {
		before := len(m.problems)
		t, err := inspect(m.conn, e.Table)
		if err != nil {
			return err
		}
		if t == nil {
			err = m.create(e)
		} else {
			err = m.adapt(e, t)
		}
		if err == nil && len(m.problems) == before { // else columns may be missing
			err = m.indexes(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *migration) create(e *schema.Entity) error {
	if err := m.conn.db.Exec(createTable(m.store.table(e))); err != nil {
		return fail("create table "+e.Table, err)
	}
	m.report.Created = append(m.report.Created, "table "+e.Table)
	return nil
}

// adapt adds what an existing table lacks, whoever made it.
func (m *migration) adapt(e *schema.Entity, t *table) error {
	if t.kind != "table" {
		m.refuse("%s is a %s: rowcast writes to tables alone; rename it, or name another table in the schema", e.Table, t.kind)
		return nil
	}
	id, ok := t.columns[strings.ToLower(e.Fields[e.ID].Name)]
	if !ok {
		m.refuse("table %s has no column id: it was not made for this entity; rename it, or name another table in the schema", e.Table)
		return nil
	}
	if !id.unique {
		m.refuse("table %s: its column id is not unique; run: CREATE UNIQUE INDEX %s ON %s (%s)",
			e.Table, sqltext.Quote(e.Table+":id:key"), sqltext.Quote(e.Table), sqltext.Quote(id.name))
	}
	for _, f := range e.Fields {
		var err error
		if have, ok := t.columns[strings.ToLower(f.Name)]; ok {
			m.compare(e, f, have)
		} else {
			err = m.addColumn(e, f, t)
		}
		if err != nil {
			return err
		}
	}
	m.warnOfStrangers(e, t)
	return nil
}

// compare refuses a column that would not keep the field's values exactly.
func (m *migration) compare(e *schema.Entity, f *schema.Field, have column) {
	want := sqlType(f)
	table, name := sqltext.Quote(e.Table), sqltext.Quote(have.name)
	switch {
	case !have.keeps(f) && f.Index == e.ID:
		m.refuse("table %s: its column id is %s and the schema says %s, which is %s: the type of a key cannot be changed in place; copy the rows into a new table and name that in the schema",
			e.Table, have.declared(), f.Type, want)
	case !have.keeps(f):
		old := sqltext.Quote(have.name + "_was_" + strings.ToLower(have.declared()))
		m.refuse("table %s, column %s is %s and the schema says %s, which is %s; to convert it run: ALTER TABLE %s RENAME COLUMN %s TO %s; ALTER TABLE %s ADD COLUMN %s %s; UPDATE %s SET %s = CAST(%s AS %s);",
			e.Table, have.name, have.declared(), f.Type, want, table, name, old, table, name, want, table, name, old, want)
	case want == "TEXT" && !strings.EqualFold(have.collation, "BINARY"):
		m.refuse("table %s, column %s compares text with collation %s, rowcast by bytes; to change that run: ALTER TABLE %s RENAME COLUMN %s TO %s; ALTER TABLE %s ADD COLUMN %s TEXT; UPDATE %s SET %s = %s;",
			e.Table, have.name, have.collation, table, name, sqltext.Quote(have.name+"_old"), table, name, table, name, sqltext.Quote(have.name+"_old"))
	}
}

func (m *migration) addColumn(e *schema.Entity, f *schema.Field, t *table) error {
	filled := f.Default != nil && f.Default.Kind == schema.DefaultLiteral && !f.Default.Value.IsNull()
	ddl := "ALTER TABLE " + sqltext.Quote(e.Table) + " ADD COLUMN " + sqltext.Quote(f.Name) + " " + sqlType(f)
	if f.Required && !filled && t.rows {
		m.refuse("table %s has rows, and the new field %s is required without a literal defaultvalue to give them; run: %s; UPDATE %s SET %s = <a value>; or give the field a defaultvalue",
			e.Table, f.Name, ddl, sqltext.Quote(e.Table), sqltext.Quote(f.Name))
		return nil
	}
	if filled {
		ddl += " DEFAULT " + literal(f.Default.Value)
	}
	if err := m.conn.db.Exec(ddl); err != nil {
		return fail("add column "+f.Name+" to "+e.Table, err)
	}
	m.report.Created = append(m.report.Created, "column "+e.Table+"."+f.Name)
	return nil
}

func (m *migration) warnOfStrangers(e *schema.Entity, t *table) {
	for _, have := range t.order {
		known := slices.ContainsFunc(e.Fields, func(f *schema.Field) bool { return strings.EqualFold(f.Name, have.name) })
		switch {
		case known:
		case have.notNull && !have.hasDefault:
			m.warn("table %s, column %s is NOT NULL and no field of the schema: no row can be created; run: ALTER TABLE %s DROP COLUMN %s",
				e.Table, have.name, sqltext.Quote(e.Table), sqltext.Quote(have.name))
		default:
			m.warn("table %s, column %s is no field of the schema: left alone; to remove it run: ALTER TABLE %s DROP COLUMN %s",
				e.Table, have.name, sqltext.Quote(e.Table), sqltext.Quote(have.name))
		}
	}
}

// indexes makes the declared ones. Their names say what they hold, so one that
// exists need not be compared.
func (m *migration) indexes(e *schema.Entity) error {
	have, err := indexNames(m.conn, e.Table)
	if err != nil {
		return err
	}
	t := m.store.table(e)
	asked := map[string]bool{}
	for _, ix := range sqltext.Indexes(e, m.plan.Indexes[e]) {
		name, ddl := createIndex(t, ix)
		if asked[name] || slices.Contains(have, name) {
			asked[name] = true
			continue
		}
		asked[name] = true
		err := m.conn.db.Exec(ddl)
		if errors.Is(err, sqlite3.CONSTRAINT) {
			m.refuse("table %s, field %s is unique in the schema and has duplicates; find them with: SELECT %s, count(*) FROM %s GROUP BY 1 HAVING count(*) > 1;",
				e.Table, e.Fields[ix.Fields[0]].Name, t.Keys(ix), t.Name)
			continue
		}
		if err != nil {
			return fail("create index "+name, err)
		}
		m.report.Created = append(m.report.Created, "index "+name)
	}
	return m.dropUnasked(e, have, asked)
}

func (m *migration) dropUnasked(e *schema.Entity, have []string, asked map[string]bool) error {
	for _, name := range have {
		if asked[name] || !isUniqueName(e.Table, name) {
			continue
		}
		if err := m.conn.db.Exec("DROP INDEX " + sqltext.Quote(name)); err != nil {
			return fail("drop index "+name, err)
		}
		m.warn("table %s: dropped index %s, because the schema no longer calls that field unique", e.Table, name)
	}
	return nil
}

func (m *migration) refuse(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

func (m *migration) warn(format string, args ...any) {
	m.report.Warnings = append(m.report.Warnings, fmt.Sprintf(format, args...))
}
