package sqlite

import (
	"context"
	"errors"
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
	return m.Report, nil
}

// migration is one run of Migrate.
type migration struct {
	sqltext.Changes
	store *Store
	conn  *conn
	plan  store.Plan
}

func (m *migration) run() error {
	if err := m.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return fail("begin a migration", err)
	}
	err := m.Each(m.plan.Entities, m.table, m.indexes)
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

func (m *migration) table(e *schema.Entity) error {
	t, err := inspect(m.conn, e.Table)
	switch {
	case err != nil:
		return err
	case t == nil:
		return m.create(e)
	}
	return m.adapt(e, t)
}

func (m *migration) create(e *schema.Entity) error {
	if err := m.conn.db.Exec(createTable(m.store.table(e))); err != nil {
		return fail("create table "+e.Table, err)
	}
	m.Made("table " + e.Table)
	return nil
}

// adapt adds what an existing table lacks, whoever made it.
func (m *migration) adapt(e *schema.Entity, t *sqltext.Found) error {
	if t.Kind != "table" {
		m.Refuse("%s is a %s: rowcast writes to tables alone; rename it, or name another table in the schema", e.Table, t.Kind)
		return nil
	}
	id, ok := t.Columns[strings.ToLower(e.Fields[e.ID].Name)]
	if !ok {
		m.Refuse("table %s has no column id: it was not made for this entity; rename it, or name another table in the schema", e.Table)
		return nil
	}
	if !id.Unique {
		m.Refuse("table %s: its column id is not unique; run: CREATE UNIQUE INDEX %s ON %s (%s)",
			e.Table, sqltext.Quote(e.Table+":id:key"), sqltext.Quote(e.Table), sqltext.Quote(id.Name))
	}
	for _, f := range e.Fields {
		var err error
		if have, ok := t.Columns[strings.ToLower(f.Name)]; ok {
			m.compare(e, f, have)
		} else {
			err = m.addColumn(e, f, t)
		}
		if err != nil {
			return err
		}
	}
	m.Strangers(m.store.table(e), t, strings.EqualFold)
	return nil
}

// compare refuses a column that would not keep the field's values exactly.
func (m *migration) compare(e *schema.Entity, f *schema.Field, have sqltext.Column) {
	want := sqlType(f)
	table, name := sqltext.Quote(e.Table), sqltext.Quote(have.Name)
	switch {
	case !keeps(have, f) && f.Index == e.ID:
		m.Refuse("table %s: its column id is %s and the schema says %s, which is %s: the type of a key cannot be changed in place; copy the rows into a new table and name that in the schema",
			e.Table, declared(have), f.Type, want)
	case !keeps(have, f):
		old := sqltext.Quote(have.Name + "_was_" + strings.ToLower(declared(have)))
		m.Refuse("table %s, column %s is %s and the schema says %s, which is %s; to convert it run: ALTER TABLE %s RENAME COLUMN %s TO %s; ALTER TABLE %s ADD COLUMN %s %s; UPDATE %s SET %s = CAST(%s AS %s);",
			e.Table, have.Name, declared(have), f.Type, want, table, name, old, table, name, want, table, name, old, want)
	case want == "TEXT" && !strings.EqualFold(have.Collation, "BINARY"):
		m.Refuse("table %s, column %s compares text with collation %s, rowcast by bytes; to change that run: ALTER TABLE %s RENAME COLUMN %s TO %s; ALTER TABLE %s ADD COLUMN %s TEXT; UPDATE %s SET %s = %s;",
			e.Table, have.Name, have.Collation, table, name, sqltext.Quote(have.Name+"_old"), table, name, table, name, sqltext.Quote(have.Name+"_old"))
	}
}

func (m *migration) addColumn(e *schema.Entity, f *schema.Field, t *sqltext.Found) error {
	ddl, ok := m.AddColumn(m.store.table(e), f, sqlType(f), func() string { return literal(f.Default.Value) }, t.Rows)
	if !ok {
		return nil
	}
	if err := m.conn.db.Exec(ddl); err != nil {
		return fail("add column "+f.Name+" to "+e.Table, err)
	}
	m.Made("column " + e.Table + "." + f.Name)
	return nil
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
			m.Duplicates(t, ix)
			continue
		}
		if err != nil {
			return fail("create index "+name, err)
		}
		m.Made("index " + name)
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
		m.Warn("table %s: dropped index %s, because the schema no longer calls that field unique", e.Table, name)
	}
	return nil
}
