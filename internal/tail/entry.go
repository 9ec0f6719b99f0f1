package tail

import (
	"sync"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// Entry is one log row with the row it speaks of, read once for everybody.
// Its fields are immutable; Encoded is safe for concurrent use.
type Entry struct {
	Log    *store.LogRow
	Entity *schema.Entity // nil where the schema no longer names it: told to nobody
	// Row is the row as of this change's commit or later; nil where it is gone.
	Row store.Row
	// Own says that Row is what this change left behind, in every cell that the
	// log's guard keeps: who passed by the guard passes by the row.
	Own bool

	mu      sync.Mutex
	encoded []encoding
}

type encoding struct {
	key   any
	bytes []byte
}

// Encoded returns the bytes kept under key, building them at the first call:
// one encoding serves all who see the same. key is compared with ==; bytes must
// not be changed.
func (e *Entry) Encoded(key any, build func() []byte) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.encoded {
		if e.encoded[i].key == key {
			return e.encoded[i].bytes
		}
	}
	bytes := build()
	e.encoded = append(e.encoded, encoding{key, bytes})
	return bytes
}

// weight estimates the memory that a row and what is made of it for streams
// hold, in bytes: its cells, and about as much again as a frame.
func weight(row store.Row) int {
	n := 512
	for _, cell := range row {
		n += 32 + 2*len(cell.Text())
	}
	return n
}
