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

// keeps reports whether a column keeps every value of the field as it is, in
// its order.
func keeps(c sqltext.Column, f *schema.Field) bool {
	want := typeOf(f).name
	return c.Type == want && (want != "text" || c.Collation == "C" || c.Collation == "POSIX")
}

func declared(c sqltext.Column) string {
	if c.Type == "text" {
		return c.Type + " COLLATE " + sqltext.Quote(c.Collation)
	}
	return c.Type
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
func (n *Namespace) inspect(ctx context.Context, q querier, name string) (*sqltext.Found, error) {
	t := &sqltext.Found{Columns: map[string]sqltext.Column{}}
	err := each(ctx, q, func(r pgx.Rows) error { return r.Scan(&t.Kind) }, kindOf, n.Name, name)
	if err != nil || t.Kind == "" {
		return nil, err
	}
	err = each(ctx, q, func(r pgx.Rows) error {
		var c sqltext.Column
		err := r.Scan(&c.Name, &c.Type, &c.Collation, &c.NotNull, &c.HasDefault, &c.Unique)
		t.Order = append(t.Order, c)
		t.Columns[c.Name] = c
		return err
	}, columnsOf, n.Name, name)
	if err == nil && t.Kind == "r" {
		err = each(ctx, q, func(r pgx.Rows) error { return r.Scan(&t.Rows) }, "SELECT EXISTS (SELECT 1 FROM "+n.quoted()+sqltext.Quote(name)+")")
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
