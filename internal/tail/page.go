package tail

import (
	"context"
	"strconv"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Page is a stretch of the log.
type Page struct {
	Entries []*Entry
	Upto    store.Position // everything up to here has been looked at
}

// Page returns the entries above a number, and never past what was delivered.
// With recent, for a stream that fell behind by moments, they come from memory
// where they are there, with the rows as they were handed on; else from the
// log, with the rows as they are now: who comes back must not be shown what it
// may no longer read. ErrExpired where retention has removed some of them.
// Callers that ask for the same page at once share one read.
func (t *Tail) Page(ctx context.Context, after int64, recent bool) (Page, error) {
	delivered := t.Delivered()
	if after >= delivered.Seq {
		return Page{Upto: delivered}, nil
	}
	if recent {
		if entries, covered := t.window.after(after, pageRows); covered {
			return cut(entries, delivered), nil
		}
	}
	entries, err := t.logged(ctx, after)
	if err != nil {
		return Page{}, err
	}
	return cut(entries, delivered), nil
}

// cut ends a page at the delivered position.
func cut(entries []*Entry, delivered store.Position) Page {
	full := len(entries) == pageRows
	n := len(entries)
	for n > 0 && entries[n-1].Log.Seq > delivered.Seq {
		n--
	}
	upto := delivered
	if full && n == len(entries) {
		upto = store.Position{Seq: entries[n-1].Log.Seq, EventID: entries[n-1].Log.EventID}
	}
	return Page{Entries: entries[:n], Upto: upto}
}

func (t *Tail) logged(ctx context.Context, after int64) ([]*Entry, error) {
	read := func() (any, error) {
		var entries []*Entry
		// One reader's hang-up must not fail the others that share the page;
		// the store bounds the read's time itself.
		err := t.store.View(context.WithoutCancel(ctx), func(r store.Reader) error {
			floor, err := r.Floor()
			if err != nil {
				return err
			}
			if after < floor.Seq {
				return ErrExpired
			}
			entries, err = t.load(r, after)
			return err
		})
		return entries, err
	}
	found, err, _ := t.flight.Do(strconv.FormatInt(after, 10), read)
	if err != nil {
		return nil, err
	}
	return found.([]*Entry), nil
}

// load reads a page of the log and, once each, the rows it speaks of, from one snapshot.
func (t *Tail) load(r store.Reader, after int64) ([]*Entry, error) {
	rows, err := r.Log(after, pageRows)
	if err != nil {
		return nil, err
	}
	entries := make([]*Entry, len(rows))
	wanted := map[*schema.Entity]map[string]value.Value{}
	for i, row := range rows {
		e := t.config.Entities[row.Entity]
		entries[i] = &Entry{Log: row, Entity: e}
		if e == nil || row.Operation == schema.Delete {
			continue
		}
		id, err := e.ParseID(row.Subject)
		if err != nil {
			continue // the id's type has changed since: the row is not there
		}
		if wanted[e] == nil {
			wanted[e] = map[string]value.Value{}
		}
		wanted[e][row.Subject] = id
	}
	found, err := read(r, wanted)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.Log.Operation != schema.Delete {
			entry.Row = found[key{entry.Entity, entry.Log.Subject}]
		}
	}
	return entries, nil
}

type key struct {
	entity  *schema.Entity
	subject string
}

func read(r store.Reader, wanted map[*schema.Entity]map[string]value.Value) (map[key]store.Row, error) {
	found := map[key]store.Row{}
	for e, bySubject := range wanted {
		ids := make([]value.Value, 0, len(bySubject))
		for _, id := range bySubject {
			ids = append(ids, id)
		}
		rows, err := r.GetMany(e, ids)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			found[key{e, subject(e, row)}] = row
		}
	}
	return found, nil
}

func subject(e *schema.Entity, row store.Row) string {
	return string(value.AppendText(nil, e.Fields[e.ID].Type, row[e.ID]))
}
