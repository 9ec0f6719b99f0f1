package sqlite

import (
	"fmt"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/guard"
	"github.com/rowcast/rowcast/internal/store/sqltext"
	"github.com/rowcast/rowcast/schema"
)

const (
	logTable  = "_rowcast_log"
	logInsert = `INSERT INTO _rowcast_log (event_id, entity, operation, fine, topic, subject, actor, time, sent, differs, origin, guard)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	logSelect = `SELECT seq, event_id, entity, operation, fine, topic, subject, actor, time, sent, differs, origin, guard
		FROM _rowcast_log WHERE seq > ? ORDER BY seq LIMIT ?`
)

// Append implements store.Tx. The rows are handed on to Config.Committed as
// they are, their Row included, if the work stands.
func (t *tx) Append(rows ...*store.LogRow) error {
	c, err := t.use()
	if err != nil {
		return err
	}
	st, err := c.stmtOf(logInsert)
	if err != nil {
		return t.failed("append to", logTable, err)
	}
	for _, row := range rows {
		if err := c.bindLogRow(st, row, t.store.namesOf(row.Entity)); err != nil {
			return fmt.Errorf("append event %s to the log: %w", row.EventID, err)
		}
		if err := st.Exec(); err != nil {
			return t.failed("append to", logTable, err)
		}
		row.Seq = c.db.LastInsertRowID()
		t.logged = append(t.logged, row)
	}
	return nil
}

func (c *conn) bindLogRow(st *sqlite3.Stmt, row *store.LogRow, p *sqltext.Table) error {
	if p == nil {
		return fmt.Errorf("entity %q was not migrated", row.Entity)
	}
	for i, text := range [...]string{row.EventID, row.Entity, "", row.Fine, row.Topic, row.Subject, row.Actor} {
		if err := st.BindText(i+1, text); err != nil {
			return err
		}
	}
	if row.Topic == "" {
		if err := st.BindNull(5); err != nil {
			return err
		}
	}
	if err := st.BindInt64(3, int64(row.Operation)); err != nil {
		return err
	}
	if err := st.BindInt64(8, row.Time.UnixMicro()); err != nil {
		return err
	}
	for i, names := range [...][]string{row.Sent, row.Differs} {
		c.scratch = guard.AppendNames(c.scratch[:0], names)
		if err := st.BindRawText(9+i, c.scratch); err != nil {
			return err
		}
	}
	if err := st.BindText(11, row.Origin); err != nil {
		return err
	}
	c.scratch = guard.Append(c.scratch[:0], p.Entity, row.Guard)
	return st.BindRawText(12, c.scratch)
}

// namesOf returns the table of a migrated entity, or nil.
func (s *Store) namesOf(entity string) *sqltext.Table { return (*s.names.Load())[entity] }

// Log implements store.Reader.
func (r *reader) Log(after int64, limit int) (rows []*store.LogRow, err error) {
	c, err := r.use()
	if err != nil {
		return nil, err
	}
	st, err := c.stmtOf(logSelect)
	if err != nil {
		return nil, r.failed("read", logTable, err)
	}
	defer func() { err = r.settle("read", logTable, st, err) }()
	if err := bindInts(st, after, int64(limit)); err != nil {
		return nil, err
	}
	for st.Step() {
		row, err := r.logRow(st)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (r *reader) logRow(st *sqlite3.Stmt) (row *store.LogRow, err error) {
	words := &r.conn.words
	row = &store.LogRow{
		Seq:       st.ColumnInt64(0),
		EventID:   st.ColumnText(1),
		Entity:    words.text(st.ColumnRawText(2)),
		Operation: schema.Op(st.ColumnInt64(3)),
		Fine:      words.text(st.ColumnRawText(4)),
		Topic:     words.text(st.ColumnRawText(5)),
		Subject:   st.ColumnText(6),
		Actor:     words.text(st.ColumnRawText(7)),
		Time:      time.UnixMicro(st.ColumnInt64(8)).UTC(),
		Origin:    words.text(st.ColumnRawText(11)),
	}
	if row.Sent, err = words.names(st.ColumnRawText(9)); err != nil {
		return nil, fmt.Errorf("log row %d, sent: %w", row.Seq, err)
	}
	if row.Differs, err = words.names(st.ColumnRawText(10)); err != nil {
		return nil, fmt.Errorf("log row %d, differs: %w", row.Seq, err)
	}
	if p := r.store.namesOf(row.Entity); p != nil {
		if row.Guard, err = guard.Decode(st.ColumnText(12), p.ByName); err != nil {
			return nil, fmt.Errorf("log row %d, guard: %w", row.Seq, err)
		}
	}
	return row, nil
}

// words keeps the few texts that every log row repeats, so that reading a
// thousand rows makes them once. Lists of names are shared: nobody writes to
// a LogRow that was read.
type words struct {
	texts map[string]string
	lists map[string][]string
}

const wordLimit = 4096

func (w *words) text(b []byte) string {
	if s, ok := w.texts[string(b)]; ok {
		return s
	}
	if len(w.texts) >= wordLimit || w.texts == nil {
		w.texts = make(map[string]string)
	}
	s := string(b)
	w.texts[s] = s
	return s
}

func (w *words) names(b []byte) ([]string, error) {
	if list, ok := w.lists[string(b)]; ok {
		return list, nil
	}
	list, err := guard.DecodeNames(string(b))
	if err != nil {
		return nil, err
	}
	if len(w.lists) >= wordLimit || w.lists == nil {
		w.lists = make(map[string][]string)
	}
	w.lists[string(b)] = list
	return list, nil
}

func bindTexts(st *sqlite3.Stmt, texts ...string) error {
	for i, text := range texts {
		if err := st.BindText(i+1, text); err != nil {
			return err
		}
	}
	return nil
}

func bindInts(st *sqlite3.Stmt, numbers ...int64) error {
	for i, n := range numbers {
		if err := st.BindInt64(i+1, n); err != nil {
			return err
		}
	}
	return nil
}
