package tables

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store/postgres/sqlstate"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/schema"
)

// querier is a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// table is what the database already holds under an entity's table name.
type table struct {
	kind    string // relkind
	columns map[string]column
	order   []column
	rows    bool // there are some
}

// column is one column as it was declared.
type column struct {
	name, typ, collation string
	notNull, hasDefault  bool
	unique               bool // alone and whole
}

// keeps reports whether the column keeps every value of the field as it is, in
// its order.
func (c column) keeps(f *schema.Field) bool {
	want := typeOf(f).name
	return c.typ == want && (want != "text" || c.collation == "C" || c.collation == "POSIX")
}

func (c column) declared() string {
	if c.typ == "text" {
		return c.typ + " COLLATE " + sqltext.Quote(c.collation)
	}
	return c.typ
}

const (
	kindOf = `SELECT c.relkind::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2`
	columnsOf = `SELECT a.attname, format_type(a.atttypid, a.atttypmod), coalesce(l.collname, ''), a.attnotnull,
		a.atthasdef OR a.attidentity <> '',
		EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid
			AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
		LEFT JOIN pg_collation l ON l.oid = a.attcollation
		WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`
	indexesOf = `SELECT i.relname, x.indisvalid FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
		JOIN pg_class c ON c.oid = x.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relname = $2`
)

// inspect reads a table, or returns nil where there is none of that name.
func (n *Namespace) inspect(ctx context.Context, q querier, name string) (*table, error) {
	t := &table{columns: map[string]column{}}
	err := each(ctx, q, func(r pgx.Rows) error { return r.Scan(&t.kind) }, kindOf, n.Name, name)
	if err != nil || t.kind == "" {
		return nil, err
	}
	err = each(ctx, q, func(r pgx.Rows) error {
		var c column
		err := r.Scan(&c.name, &c.typ, &c.collation, &c.notNull, &c.hasDefault, &c.unique)
		t.order = append(t.order, c)
		t.columns[c.name] = c
		return err
	}, columnsOf, n.Name, name)
	if err == nil && t.kind == "r" {
		err = each(ctx, q, func(r pgx.Rows) error { return r.Scan(&t.rows) }, "SELECT EXISTS (SELECT 1 FROM "+n.quoted()+sqltext.Quote(name)+")")
	}
	return t, err
}

// indexNames returns the indexes of a table, and whether each is fit for use:
// one whose making was interrupted is not.
func (n *Namespace) indexNames(ctx context.Context, q querier, name string) (map[string]bool, error) {
	names := map[string]bool{}
	err := each(ctx, q, func(r pgx.Rows) error {
		var index string
		var valid bool
		err := r.Scan(&index, &valid)
		names[index] = valid
		return err
	}, indexesOf, n.Name, name)
	return names, err
}

// each runs a query and calls fn for its rows.
func each(ctx context.Context, q querier, fn func(pgx.Rows) error, sql string, args ...any) error {
	rows, err := q.Query(ctx, sql, args...)
	if err == nil {
		defer rows.Close()
		for err == nil && rows.Next() {
			err = fn(rows)
		}
		err = errors.Join(err, rows.Err())
	}
	if err != nil {
		return sqlstate.Wrap("inspect", err)
	}
	return nil
}
