package storetest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

var logPromises = []promise{
	{"a log row reads back as it was written", logRowRoundTrip},
	{"a guard tolerates a changed schema", guardToleratesChange},
	{"the log's order is the order of each row's commits", logOrder},
	{"Committed hands on every log row once, in order, before its writer is answered", committedHandsOn},
	{"Log pages by number", logPages},
	{"Find and At know an event's place", findAndAt},
	{"an empty log has no head and no floor", emptyLog},
	{"Prune takes the old rows in steps and moves the floor with them", pruneMovesTheFloor},
	{"numbers are never used twice", numbersAreNeverReused},
}

func logRowRoundTrip(b *bench) {
	b.open(Options{})
	before := order("a", "quote \" back \\ line\n\x01 sep \u2028 astral \U0001F600",
		with(fTotal, value.OfInt(-9007199254740993)), with(fPrice, value.OfFloat(0.1)), with(fPhoto, value.OfBlob([]byte{0, 255, 1})))
	before[fPaid] = value.NotAtHand()
	after := order("a", "x", with(fNote, value.OfText("")), with(fPhoto, value.OfBlob(nil)), with(fPrice, value.OfFloat(-1e308)))
	rows := []*store.LogRow{
		{EventID: "E1", Entity: "order", Operation: schema.Update, Fine: "patched", Topic: "entity.order", Subject: "a", Actor: "ann", Origin: "i1",
			Time: epoch, Sent: []string{"title", "note"}, Differs: []string{"title"}, Guard: store.Guard{Before: before, After: after}},
		{EventID: "E2", Entity: "order", Operation: schema.Delete, Fine: "deleted", Subject: "a", Time: epoch, Guard: store.Guard{Before: before}},
		{EventID: "E3", Entity: "order", Operation: schema.Create, Fine: "created", Subject: "b", Time: epoch},
	}
	b.must(b.write(func(tx store.Tx) error { return tx.Append(rows...) }))
	for i, got := range b.log() {
		if diff := cmp.Diff(rows[i], got, cmp.Comparer(func(a, b value.Value) bool { return a == b })); diff != "" {
			b.Errorf("row %d (-written +read):\n%s", i, diff)
		}
	}
}

func guardToleratesChange(b *bench) {
	b.open(Options{}, ordersEntity(&schema.Field{Name: "gone", Type: value.String}), tickets)
	e := b.event("a")
	e.Guard.After = append(order("a", "kept"), value.OfText("dropped"))
	b.must(b.write(func(tx store.Tx) error { return tx.Append(e) }))

	now := ordersEntity(&schema.Field{Name: "fresh", Type: value.String})
	b.reopen(Options{}, now, tickets)
	got := b.log()[0].Guard.After
	if len(got) != len(now.Fields) {
		b.Fatalf("%d cells, want %d", len(got), len(now.Fields))
	}
	if got[fTitle] != value.OfText("kept") {
		b.Errorf("title = %v, want the value kept", got[fTitle])
	}
	if last := got[len(got)-1]; last.Class() != value.Unknown {
		b.Errorf("a field younger than the event is %v, want not at hand", last)
	}
}

func logOrder(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", ""))
	const writers, each = 8, 25
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				b.check(b.write(increment(b)))
			}
		})
	}
	wg.Wait()
	last := int64(0)
	for i, row := range b.log()[1:] {
		if row.Seq <= last {
			b.Fatalf("row %d: seq %d after %d", i, row.Seq, last)
		}
		last = row.Seq
		if got := row.Guard.After[fTotal].Int(); got != int64(i+1) {
			b.Fatalf("row %d tells of change %d", i, got)
		}
	}
}

// increment adds one to the order's total and logs the new value.
func increment(b *bench) func(store.Tx) error {
	return func(tx store.Tx) error {
		row, err := tx.Get(orders, value.OfText("a"))
		if err != nil {
			return err
		}
		row[fTotal] = value.OfInt(row[fTotal].Int() + 1)
		if err := tx.Update(orders, row, []int{fTotal}); err != nil {
			return err
		}
		e := b.event("a")
		e.Guard.After = row
		return tx.Append(e)
	}
}

func committedHandsOn(b *bench) {
	var handed []*store.LogRow
	b.open(Options{Committed: func(rows []*store.LogRow) { handed = append(handed, rows...) }})
	first := b.event("a")
	first.Row = order("a", "as committed")
	b.must(b.write(func(tx store.Tx) error { return tx.Append(first, b.event("a")) }))
	if len(handed) != 2 || handed[0].Row == nil {
		b.Fatalf("handed on %d rows before the answer, want 2 with their rows", len(handed))
	}
	if err := b.write(func(tx store.Tx) error {
		return errors.Join(tx.Append(b.event("b")), errors.New("refused"))
	}); err == nil {
		b.Error("a refused work was acknowledged")
	}
	b.must(b.write(func(tx store.Tx) error { return tx.Append(b.event("c")) }))
	var got, want []string
	for _, row := range handed {
		got = append(got, fmt.Sprint(row.Seq, row.EventID))
	}
	for _, row := range b.log() {
		want = append(want, fmt.Sprint(row.Seq, row.EventID))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("handed on (-log +handed):\n%s", diff)
	}
}

// fill appends n events, a second apart.
func fill(b *bench, n int) {
	b.Helper()
	b.must(b.write(func(tx store.Tx) error {
		for range n {
			if err := tx.Append(b.event("a")); err != nil {
				return err
			}
		}
		return nil
	}))
}

func logPages(b *bench) {
	b.open(Options{})
	fill(b, 5)
	all := b.log()
	b.view(func(r store.Reader) error {
		page, err := r.Log(all[1].Seq, 2)
		if err != nil {
			return err
		}
		if len(page) != 2 || page[0].Seq != all[2].Seq || page[1].Seq != all[3].Seq {
			b.Errorf("page of %d rows, want the third and the fourth", len(page))
		}
		end, err := r.Log(all[4].Seq, 2)
		if len(end) != 0 {
			b.Errorf("%d rows behind the last", len(end))
		}
		return err
	})
}

func findAndAt(b *bench) {
	b.open(Options{})
	fill(b, 2)
	row := b.log()[1]
	b.view(func(r store.Reader) error {
		seq, found, err := r.Find(row.EventID)
		if err != nil || !found || seq != row.Seq {
			b.Errorf("Find = %d, %v, %v, want %d", seq, found, err, row.Seq)
		}
		id, found, err := r.At(row.Seq)
		if err != nil || !found || id != row.EventID {
			b.Errorf("At = %s, %v, %v, want %s", id, found, err, row.EventID)
		}
		for _, odd := range []string{"nobody", "\xff\xfe", "a\x00b"} {
			if _, found, err = r.Find(odd); found || err != nil {
				b.Errorf("Find of %q: %v, %v", odd, found, err)
			}
		}
		if _, found, err = r.At(row.Seq + 1); found || err != nil {
			b.Errorf("At of an unused number: %v, %v", found, err)
		}
		return nil
	})
}

func emptyLog(b *bench) {
	b.open(Options{})
	wantPositions(b, store.Position{}, store.Position{})
	b.view(func(r store.Reader) error {
		if _, found, err := r.At(0); found || err != nil {
			b.Errorf("At(0) = %v, %v", found, err)
		}
		_, found, err := r.Find("")
		if found {
			b.Error("the empty id was found")
		}
		return err
	})
}

func wantPositions(b *bench, head, floor store.Position) {
	b.Helper()
	b.view(func(r store.Reader) error {
		got, err := r.Head()
		if got != head {
			b.Errorf("head = %v, want %v", got, head)
		}
		low, err2 := r.Floor()
		if low != floor {
			b.Errorf("floor = %v, want %v", low, floor)
		}
		return errors.Join(err, err2)
	})
}

func at(row *store.LogRow) store.Position { return store.Position{Seq: row.Seq, EventID: row.EventID} }

func pruneMovesTheFloor(b *bench) {
	b.open(Options{})
	fill(b, 5)
	all := b.log()
	cut := all[3].Time
	steps := []struct {
		more  bool
		floor *store.LogRow
	}{{true, all[1]}, {false, all[2]}, {false, all[2]}}
	for i, want := range steps {
		more, err := b.store.Prune(b.Context(), cut, 2)
		if err != nil || more != want.more {
			b.Errorf("step %d: more = %v, %v, want %v", i, more, err, want.more)
		}
		wantPositions(b, at(all[4]), at(want.floor))
	}
	if got := b.log(); len(got) != 2 || got[0].EventID != all[3].EventID {
		b.Errorf("%d rows left, want the two that are not older", len(got))
	}
	b.view(func(r store.Reader) error {
		if seq, found, err := r.Find(all[2].EventID); !found || seq != all[2].Seq || err != nil {
			b.Errorf("the floor's event: %d, %v, %v, want it found", seq, found, err)
		}
		_, found, err := r.Find(all[1].EventID)
		if found {
			b.Error("an event below the floor was found")
		}
		return err
	})
}

func numbersAreNeverReused(b *bench) {
	b.open(Options{})
	fill(b, 3)
	last := b.log()[2]
	if _, err := b.store.Prune(b.Context(), epoch.Add(time.Hour), 100); err != nil {
		b.Fatal(err)
	}
	wantPositions(b, at(last), at(last))
	b.reopen(Options{})
	wantPositions(b, at(last), at(last))
	fill(b, 1)
	if got := b.log()[0].Seq; got <= last.Seq {
		b.Errorf("number %d was given again (last was %d)", got, last.Seq)
	}
}
