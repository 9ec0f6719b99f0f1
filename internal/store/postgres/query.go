package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Select implements store.Reader. A transaction locks what it selects, in the
// order of the query: without sort keys, that of the ids.
func (r *reader) Select(e *schema.Entity, q store.Query) (rows []store.Row, err error) {
	s, err := r.store.plan(e).Select(nil, q)
	if err != nil {
		return nil, err
	}
	return r.rows(e, "select from", string(s.SQL)+r.lock, cells(s.Args)...)
}

// rows runs a selection of whole rows.
func (r *reader) rows(e *schema.Entity, verb, sql string, args ...any) (rows []store.Row, err error) {
	_, err = r.query(verb+" "+e.Table, sql, args, func(found pgx.Rows) error {
		row, err := readRow(found, e)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// Count implements store.Reader.
func (r *reader) Count(e *schema.Entity, q store.Query) (n int64, err error) {
	s := r.store.plan(e).Count(nil, q)
	_, err = r.query("count "+e.Table, string(s.SQL), cells(s.Args), func(rows pgx.Rows) error { return rows.Scan(&n) })
	return n, err
}

// Get implements store.Reader. A transaction locks the row.
func (r *reader) Get(e *schema.Entity, id value.Value) (store.Row, error) {
	if id.Class() == value.Text && !keepable(id.Text()) {
		return nil, store.ErrNotFound
	}
	rows, err := r.rows(e, "get from", r.store.plan(e).Get+r.lock, cell{id})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, store.ErrNotFound
	}
	return rows[0], nil
}

// GetMany implements store.Reader.
func (r *reader) GetMany(e *schema.Entity, ids []value.Value) ([]store.Row, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return r.rows(e, "get from", r.store.plan(e).getMany, list(e, ids))
}

// list makes one argument of the ids that can be the entity's, each once and in
// their order: neighbours are in one page of the index.
func list(e *schema.Entity, ids []value.Value) any {
	if e.Fields[e.ID].Type.Class() == value.Int {
		numbers := make([]int64, 0, len(ids))
		for _, id := range ids {
			if id.Class() == value.Int {
				numbers = append(numbers, id.Int())
			}
		}
		slices.Sort(numbers)
		return slices.Compact(numbers)
	}
	texts := make([]string, 0, len(ids))
	for _, id := range ids {
		if id.Class() == value.Text && keepable(id.Text()) {
			texts = append(texts, id.Text())
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}
