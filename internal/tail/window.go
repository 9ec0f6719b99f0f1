package tail

import "sync"

// The window's bounds: enough for a few seconds at full speed, so that a stream
// that fell behind catches up from memory, and little enough for many tenants.
const (
	windowEntries = 4096
	windowBytes   = 8 << 20
)

// window keeps the latest delivered entries, ascending.
type window struct {
	mu      sync.RWMutex
	from    int64 // every delivered entry above this number is here
	entries []*Entry
	bytes   int
}

// start empties the window: it covers what comes after seq.
func (w *window) start(seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from, w.entries, w.bytes = seq, nil, 0
}

func (w *window) add(batch []*Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range batch {
		w.entries = append(w.entries, e)
		w.bytes += weight(e.Row)
	}
	drop := 0
	for len(w.entries)-drop > windowEntries || (w.bytes > windowBytes && len(w.entries)-drop > 1) {
		w.bytes -= weight(w.entries[drop].Row)
		w.from = w.entries[drop].Log.Seq
		w.entries[drop] = nil // the array behind the slice must not keep it
		drop++
	}
	w.entries = w.entries[drop:]
}

// after returns up to limit entries above seq; covered is false where the
// window does not reach back that far. The result must not be changed.
func (w *window) after(seq int64, limit int) (found stretch, covered bool) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if seq < w.from {
		return stretch{}, false
	}
	lo, hi := 0, len(w.entries)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if w.entries[mid].Log.Seq <= seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	hi = min(lo+limit, len(w.entries))
	return stretch{entries: w.entries[lo:hi:hi], more: hi-lo == limit}, true
}
