package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/guard"
	"github.com/rowcast/rowcast/schema"
)

// Append implements store.Tx. The rows are sent with COMMIT, or before the
// transaction reads the log: a number that is drawn early holds up everybody
// who reads. Until then their Seq is 0.
func (t *tx) Append(rows ...*store.LogRow) error {
	if t.conn == nil {
		return errReaderEnded
	}
	for _, row := range rows {
		if t.store.namesOf(row.Entity) == nil {
			return fmt.Errorf("append event %s to the log: entity %q was not migrated", row.EventID, row.Entity)
		}
	}
	t.pending = append(t.pending, rows...)
	return t.lost
}

// flush sends the rows that are appended, for a transaction that reads them.
func (t *tx) flush() error {
	if len(t.pending) == 0 {
		return nil
	}
	insert, err := t.store.logStatement(t.pending)
	if err != nil {
		return err
	}
	i := 0
	if _, err := t.query("append to the log", insert.sql, insert.args, func(r pgx.Rows) error {
		defer func() { i++ }()
		return r.Scan(&t.pending[i].Seq)
	}); err != nil {
		return err
	}
	t.logged, t.pending = append(t.logged, t.pending...), nil
	return nil
}

// Log implements store.Reader for a transaction: it sees what it wrote, settled
// or not.
func (t *tx) Log(after int64, limit int) ([]*store.LogRow, error) {
	if err := t.flush(); err != nil {
		return nil, err
	}
	return t.reader.Log(after, limit)
}

// Head implements store.Reader.
func (t *tx) Head() (store.Position, error) {
	if err := t.flush(); err != nil {
		return store.Position{}, err
	}
	return t.position(t.store.sql.head)
}

// logStatement is one INSERT of any number of rows, numbered in their order.
func (s *Store) logStatement(rows []*store.LogRow) (statement, error) {
	var ids, entities, fine, topics, subjects, actors, sent, differs, origins, guards []string
	var operations []int64
	var times []time.Time
	for _, row := range rows {
		p := s.namesOf(row.Entity)
		if p == nil {
			return statement{}, fmt.Errorf("append event %s to the log: entity %q was not migrated", row.EventID, row.Entity)
		}
		ids, entities, fine = append(ids, row.EventID), append(entities, row.Entity), append(fine, row.Fine)
		topics, subjects, actors = append(topics, row.Topic), append(subjects, row.Subject), append(actors, row.Actor)
		operations, times = append(operations, int64(row.Operation)), append(times, row.Time)
		sent = append(sent, string(guard.AppendNames(nil, row.Sent)))
		differs = append(differs, string(guard.AppendNames(nil, row.Differs)))
		origins = append(origins, row.Origin)
		guards = append(guards, string(guard.Append(nil, p.Entity, row.Guard)))
	}
	return statement{sql: s.sql.logInsert, args: []any{ids, entities, operations, fine, topics, subjects, actors, times, sent, differs, origins, guards}}, nil
}

// namesOf returns the plan of a migrated entity, or nil.
func (s *Store) namesOf(entity string) *plan { return (*s.names.Load())[entity] }

// Log implements store.Reader: it ends before the first number that may still
// come to be there. When that is decided, Config.Look is called.
func (r *reader) Log(after int64, limit int) (rows []*store.LogRow, err error) {
	_, err = r.query("read the log", r.store.sql.logSelect, []any{after, limit}, func(found pgx.Rows) error {
		row, err := r.logRow(found)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.frontier >= 0 {
		rows = rows[:r.store.settle(after, r.frontier, rows)]
	}
	return rows, nil
}

func (r *reader) logRow(found pgx.Rows) (*store.LogRow, error) {
	row := &store.LogRow{}
	var operation int64
	var sent, differs, guards string
	err := found.Scan(&row.Seq, &row.EventID, &row.Entity, &operation, &row.Fine, &row.Topic, &row.Subject, &row.Actor,
		&row.Time, &sent, &differs, &row.Origin, &guards)
	if err != nil {
		return nil, err
	}
	row.Operation, row.Time = schema.Op(operation), row.Time.UTC()
	if row.Sent, err = guard.DecodeNames(sent); err != nil {
		return nil, fmt.Errorf("log row %d, sent: %w", row.Seq, err)
	}
	if row.Differs, err = guard.DecodeNames(differs); err != nil {
		return nil, fmt.Errorf("log row %d, differs: %w", row.Seq, err)
	}
	if p := r.store.namesOf(row.Entity); p != nil {
		if row.Guard, err = guard.Decode(guards, p.ByName); err != nil {
			return nil, fmt.Errorf("log row %d, guard: %w", row.Seq, err)
		}
	}
	return row, nil
}
