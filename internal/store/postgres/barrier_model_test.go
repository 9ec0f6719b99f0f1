package postgres

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rowcast/rowcast/internal/store"
)

// world is a database in which transactions draw numbers, and end in any order,
// while a reader looks through snapshots that may be old by the time it does.
type world struct {
	barrier   barrier
	next      int64
	open      map[string][]int64 // numbers drawn by transactions that hold the lock
	committed []int64
	views     []view
	after     int64 // the reader's position
	told      []int64
}

type view struct {
	frontier int64
	rows     []*store.LogRow
}

func (w *world) holders() holders {
	now := holders{}
	for id := range w.open {
		now[id] = 1
	}
	return now
}

// look takes a snapshot as View does: the frontier first.
func (w *world) look() {
	v := view{frontier: w.barrier.settled()}
	for _, n := range slices.Sorted(slices.Values(w.committed)) {
		v.rows = append(v.rows, &store.LogRow{Seq: n})
	}
	w.views = append(w.views, v)
}

// read lets the reader go on in a snapshot, at most limit rows.
func (w *world) read(v view, limit int) {
	var rows []*store.LogRow
	for _, row := range v.rows {
		if row.Seq > w.after && len(rows) < limit {
			rows = append(rows, row)
		}
	}
	shown, _ := w.barrier.settle(w.after, v.frontier, rows)
	for _, row := range rows[:shown] {
		w.told = append(w.told, row.Seq)
		w.after = row.Seq
	}
}

// decide is a round of the lock watch.
func (w *world) decide() {
	open, _ := w.barrier.undecided(0)
	w.barrier.decide(w.barrier.note(open, w.holders()), w.committed)
}

func (w *world) draw(id string) {
	if id != "" {
		w.next++
		w.open[id] = append(w.open[id], w.next)
	}
}

func (w *world) end(id string, commit bool) {
	if commit {
		w.committed = append(w.committed, w.open[id]...)
	}
	delete(w.open, id)
}

// Whatever the order in which transactions draw numbers and end, and however
// old the snapshot, the reader is told every committed number once, ascending.
func TestNothingIsLostBehindTheBarrier(t *testing.T) {
	check := func(t *rapid.T) {
		w := &world{open: map[string][]int64{}}
		started := 0
		one := func() string {
			ids := make([]string, 0, len(w.open))
			for id := range w.open {
				ids = append(ids, id)
			}
			if len(ids) == 0 {
				return "" // it does nothing
			}
			slices.Sort(ids)
			return rapid.SampledFrom(ids).Draw(t, "transaction")
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin":    func(*rapid.T) { started++; w.open[fmt.Sprint(started)] = nil },
			"draw":     func(*rapid.T) { w.draw(one()) },
			"commit":   func(*rapid.T) { w.end(one(), true) },
			"rollback": func(*rapid.T) { w.end(one(), false) },
			"look":     func(*rapid.T) { w.look() },
			"decide":   func(*rapid.T) { w.decide() },
			"read": func(t *rapid.T) {
				if len(w.views) == 0 {
					return
				}
				// A reader's snapshots do not go back in time.
				i := rapid.IntRange(0, len(w.views)-1).Draw(t, "snapshot")
				w.read(w.views[i], rapid.IntRange(1, 5).Draw(t, "limit"))
				w.views = w.views[i:]
			},
		})
		for id := range w.open {
			w.end(id, true)
		}
		for range 3 { // see the gaps, decide them, read on
			w.look()
			w.read(w.views[len(w.views)-1], 1<<20)
			w.decide()
		}
		slices.Sort(w.committed)
		if !slices.Equal(w.told, w.committed) {
			t.Fatalf("told %v\ncommitted %v", w.told, w.committed)
		}
	}
	for range 20 { // the shortest story that a broken barrier loses has nine steps
		rapid.Check(t, check)
	}
}
