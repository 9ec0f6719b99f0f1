package tail

import (
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Bounds of one read. Rows are fetched a few at a time, so that a page of large
// ones ends near pageBytes; more of them where those before were small.
const (
	pageRows  = 500
	pageBytes = 8 << 20
	fetchRows = 20
	fetchMost = 160
)

// step is how many rows to fetch at a time, learnt from what they weigh. The
// zero value begins with few.
type step int

func (s step) rows() int { return max(int(s), fetchRows) }

// weighed takes what the last rows weighed, in bytes.
func (s *step) weighed(bytes, rows int) {
	switch {
	case rows == 0:
	case bytes/rows*fetchMost > pageBytes/8:
		*s = fetchRows
	default:
		*s = step(min(2*s.rows(), fetchMost))
	}
}

// load reads a stretch of the log and, once each, the rows it speaks of, from
// one snapshot. It returns at least one entry where there is one.
func load(r store.Reader, entities map[string]*schema.Entity, after int64) (stretch, error) {
	log, err := r.Log(after, pageRows)
	if err != nil {
		return stretch{}, err
	}
	return loadRows(r, entities, log, nil, new(step))
}

// loadOn is load for the tail, which goes on where it stopped: the row there
// must still be the one it has read. errReplaced.
func (t *Tail) loadOn(r store.Reader) (stretch, error) {
	at := t.Delivered()
	if at.EventID == "" {
		log, err := r.Log(at.Seq, pageRows)
		if err != nil {
			return stretch{}, err
		}
		return loadRows(r, t.config.Entities, log, &t.own, &t.step)
	}
	log, err := r.Log(at.Seq-1, pageRows+1)
	if err != nil {
		return stretch{}, err
	}
	var stands string
	if len(log) > 0 && log[0].Seq == at.Seq {
		stands, log = log[0].EventID, log[1:]
	} else if stands, _, err = r.At(at.Seq); err != nil { // it may have been the last one pruned
		return stretch{}, err
	}
	if stands != at.EventID {
		return stretch{}, errReplaced
	}
	return loadRows(r, t.config.Entities, log[:min(len(log), pageRows)], &t.own, &t.step)
}

// loadRows reads the rows that a stretch of the log speaks of.
func loadRows(r store.Reader, entities map[string]*schema.Entity, log []*store.LogRow, own *written, at *step) (stretch, error) {
	l := loader{reader: r, found: map[key]store.Row{}}
	entries := make([]*Entry, len(log))
	for i, row := range log {
		entries[i] = &Entry{Log: row, Entity: entities[row.Entity]}
		own.give(entries[i])
	}
	for n := 0; n < len(entries); {
		if l.bytes > pageBytes {
			return stretch{entries: entries[:n], more: true}, nil
		}
		end, before := min(n+at.rows(), len(entries)), l.bytes
		if err := l.fetch(entries[n:end]); err != nil {
			return stretch{}, err
		}
		at.weighed(l.bytes-before, end-n)
		n = end
	}
	return stretch{entries: entries, more: len(log) == pageRows}, nil
}

// loader fetches rows from one snapshot.
type loader struct {
	reader store.Reader
	found  map[key]store.Row // nil: looked for, and gone
	bytes  int
}

type key struct {
	entity  *schema.Entity
	subject string
}

// fetch sets the rows of entries, reading those that it has not read before.
func (l *loader) fetch(entries []*Entry) error {
	wanted := map[*schema.Entity][]value.Value{}
	for _, e := range entries {
		k := key{e.Entity, e.Log.Subject}
		if _, known := l.found[k]; known || e.Row != nil || e.Entity == nil || e.Log.Operation == schema.Delete {
			continue
		}
		l.found[k] = nil
		if id, err := e.Entity.ParseID(e.Log.Subject); err == nil { // else the id's type has changed since: the row is not there
			wanted[e.Entity] = append(wanted[e.Entity], id)
		}
	}
	for entity, ids := range wanted {
		rows, err := l.reader.GetMany(entity, ids)
		if err != nil {
			return err
		}
		for _, row := range rows {
			l.found[key{entity, subject(entity, row)}] = row
			l.bytes += weight(row)
		}
	}
	for _, e := range entries {
		if e.Log.Operation != schema.Delete && e.Row == nil {
			e.Row = l.found[key{e.Entity, e.Log.Subject}]
		}
	}
	return nil
}

func subject(e *schema.Entity, row store.Row) string {
	return string(value.AppendText(nil, e.Fields[e.ID].Type, row[e.ID]))
}
