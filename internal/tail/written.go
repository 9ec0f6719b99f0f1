package tail

import (
	"sync"

	"github.com/rowcast/rowcast/internal/store"
)

// written keeps the rows that this process has just written, until they are met
// in the log. Losing them is harmless: they are read then.
type written struct {
	mu    sync.Mutex
	bySeq map[int64]*store.LogRow
	bytes int
}

func (w *written) keep(rows []*store.LogRow) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bySeq == nil || len(w.bySeq)+len(rows) > handoverRows || w.bytes > handoverBytes {
		w.bySeq, w.bytes = map[int64]*store.LogRow{}, 0
	}
	for _, row := range rows {
		if row.Row != nil && len(w.bySeq) < handoverRows {
			w.bySeq[row.Seq] = row
			w.bytes += weight(row.Row)
		}
	}
}

// give sets the row of an entry that is known here.
func (w *written) give(e *Entry) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if row := w.bySeq[e.Log.Seq]; row != nil && row.EventID == e.Log.EventID {
		e.Row, e.Own = row.Row, own(row)
	}
}

// forget drops what is delivered.
func (w *written) forget(upto int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for seq, row := range w.bySeq {
		if seq <= upto {
			delete(w.bySeq, seq)
			w.bytes -= weight(row.Row)
		}
	}
}
