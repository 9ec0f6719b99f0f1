package tail

import (
	"testing"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

func entries(from, to int64, size int) []*Entry {
	var batch []*Entry
	for seq := from; seq <= to; seq++ {
		batch = append(batch, &Entry{
			Log: &store.LogRow{Seq: seq}, Row: store.Row{value.OfText(string(make([]byte, size)))},
		})
	}
	return batch
}

// The window answers only where it reaches back to, and then without a hole.
func TestWindowCoversWhatItHolds(t *testing.T) {
	var w window
	w.start(10)
	w.add(entries(11, 20, 1))
	for _, c := range []struct {
		name    string
		after   int64
		limit   int
		covered bool
		first   int64 // 0: none
		n       int
	}{
		{"before its start", 9, 100, false, 0, 0},
		{"at its start", 10, 100, true, 11, 10},
		{"in the middle", 15, 3, true, 16, 3},
		{"across a number that is not there", 19, 100, true, 20, 1},
		{"at its end", 20, 100, true, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, covered := w.after(c.after, c.limit)
			got := found.entries
			if covered != c.covered || len(got) != c.n {
				t.Fatalf("got %d entries, covered %v; want %d, %v", len(got), covered, c.n, c.covered)
			}
			if c.n > 0 && got[0].Log.Seq != c.first {
				t.Errorf("first is %d, want %d", got[0].Log.Seq, c.first)
			}
		})
	}
}

// Its memory is bounded in entries and in bytes; what it has let go it no longer covers.
func TestWindowIsBounded(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int64
		size int
	}{{"many", 3 * windowEntries, 1}, {"large", 50, 1 << 20}} {
		t.Run(c.name, func(t *testing.T) {
			var w window
			w.start(0)
			for seq := int64(1); seq <= c.n; seq += 10 {
				w.add(entries(seq, seq+9, c.size))
			}
			if len(w.entries) > windowEntries || w.bytes > windowBytes+(1<<20)+1024 {
				t.Errorf("holds %d entries, %d bytes", len(w.entries), w.bytes)
			}
			if _, covered := w.after(w.from-1, 1); covered {
				t.Error("covers what it has let go")
			}
			found, covered := w.after(w.from, 1)
			got := found.entries
			if !covered || len(got) != 1 || got[0].Log.Seq != w.from+1 {
				t.Errorf("first entry after %d: %v, covered %v", w.from, got, covered)
			}
		})
	}
}
