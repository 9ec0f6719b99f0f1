package storetest

import (
	"errors"
	"math"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

var rowPromises = []promise{
	{"cells read back exactly", cellsAreExact},
	{"what SQL cannot keep is refused, not changed", unkeepableCells},
	{"a taken key or unique value is a conflict that names the field", conflicts},
	{"a deleted row keeps its unique values", deletedKeepsUnique},
	{"many rows may lack a unique value", nullsAreNotUnique},
	{"Update sets the named cells alone", updateSetsNamed},
	{"Update and Delete of a missing row are ErrNotFound", missingRows},
	{"GetMany returns the rows there are, each once", getMany},
	{"a drawn id is set in the row and never drawn again", drawnIDs},
	{"a transaction reads what it wrote", readsOwnWrites},
	{"a view shows one snapshot", viewIsStable},
	{"a reader does not outlive its view", readerEnds},
}

var equalCells = cmp.Comparer(func(a, b value.Value) bool { return a == b })

func cellsAreExact(b *bench) {
	b.open(Options{})
	rows := []store.Row{
		order("a", "quote ' \" and \u2028 and \U0001F600 and e\u0301", with(fTotal, value.OfInt(math.MaxInt64)), with(fPrice, value.OfFloat(0.1)),
			with(fPaid, value.OfBool(true)), with(fPhoto, value.OfBlob([]byte{0, 1, 255})), with(fNote, value.OfText(""))),
		order("b", "7", with(fTotal, value.OfInt(math.MinInt64)), with(fPrice, value.OfFloat(3)), with(fPaid, value.OfBool(false)),
			with(fPhoto, value.OfBlob([]byte{})), with(fNote, value.OfText("007"))),
		order("c", "", with(fTotal, value.OfInt(9007199254740993)), with(fPrice, value.OfFloat(math.SmallestNonzeroFloat64))),
		order("d", "0x10", with(fPrice, value.OfFloat(-math.MaxFloat64)), with(fNote, value.OfText("1e3"))),
	}
	b.must(b.write(func(tx store.Tx) error {
		for _, row := range rows {
			if err := tx.Insert(orders, row); err != nil {
				return err
			}
		}
		return nil
	}))
	b.reopen(Options{})
	for _, want := range rows {
		b.view(func(r store.Reader) error {
			got, err := r.Get(orders, want[fID])
			if diff := cmp.Diff(want, got, equalCells); diff != "" {
				b.Errorf("row %s (-written +read):\n%s", want[fID].Text(), diff)
			}
			return err
		})
	}
}

func unkeepableCells(b *bench) {
	b.open(Options{})
	for name, cell := range map[string]func(store.Row){
		"not a number":  with(fPrice, value.OfFloat(math.NaN())),
		"not at hand":   with(fNote, value.NotAtHand()),
		"a null id":     with(fID, value.Value{}),
		"foreign class": with(fTotal, value.OfText("many")),
	} {
		if err := b.insert("a", "", cell); err == nil {
			b.Errorf("%s was taken", name)
		}
	}
	wantOnly(b)
}

func wantConflict(b *bench, err error, field int) {
	b.Helper()
	var conflict *store.ConflictError
	if !errors.As(err, &conflict) {
		b.Errorf("error = %v, want a conflict", err)
		return
	}
	if conflict.Entity != orders || conflict.Field != field {
		b.Errorf("conflict on field %d, want %d", conflict.Field, field)
	}
}

func conflicts(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", "first"))
	b.must(b.insert("b", "second"))
	wantConflict(b, b.insert("a", "third"), fID)
	wantConflict(b, b.insert("c", "first"), fTitle)
	wantConflict(b, b.write(func(tx store.Tx) error {
		return tx.Update(orders, order("b", "first"), []int{fTitle})
	}), fTitle)
	b.must(b.write(func(tx store.Tx) error { // a work may go on after a conflict
		wantConflict(b, tx.Insert(orders, order("d", "first")), fTitle)
		if err := tx.Insert(orders, order("d", "fourth")); err != nil {
			return err
		}
		return tx.Append(b.event("d"))
	}))
	wantOnly(b, "a", "b", "d")
}

func deletedKeepsUnique(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", "first", with(fDeletedOn, value.OfInt(1))))
	wantConflict(b, b.insert("b", "first"), fTitle)
}

func nullsAreNotUnique(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", ""))
	b.must(b.insert("b", ""))
	wantOnly(b, "a", "b")
}

func updateSetsNamed(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", "first", with(fNote, value.OfText("old")), with(fTotal, value.OfInt(1))))
	change := order("a", "unnamed", with(fTotal, value.OfInt(2)))
	b.must(b.write(func(tx store.Tx) error { return tx.Update(orders, change, []int{fTotal, fNote}) }))
	b.view(func(r store.Reader) error {
		got, err := r.Get(orders, value.OfText("a"))
		want := order("a", "first", with(fTotal, value.OfInt(2)))
		if diff := cmp.Diff(want, got, equalCells); diff != "" {
			b.Errorf("row (-want +got):\n%s", diff)
		}
		return err
	})
}

func missingRows(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", ""))
	b.must(b.write(func(tx store.Tx) error { return tx.Delete(orders, value.OfText("a")) }))
	for what, fn := range map[string]func(store.Tx) error{
		"Get":    func(tx store.Tx) error { _, err := tx.Get(orders, value.OfText("a")); return err },
		"Update": func(tx store.Tx) error { return tx.Update(orders, order("a", ""), []int{fTotal}) },
		"Delete": func(tx store.Tx) error { return tx.Delete(orders, value.OfText("a")) },
	} {
		if err := b.write(fn); !errors.Is(err, store.ErrNotFound) {
			b.Errorf("%s: error = %v, want ErrNotFound", what, err)
		}
	}
}

func getMany(b *bench) {
	seed(b)
	var ids []value.Value
	for _, id := range []string{"id3", "nobody", "id1", "id3"} {
		ids = append(ids, value.OfText(id))
	}
	b.view(func(r store.Reader) error {
		rows, err := r.GetMany(orders, ids)
		var got []string
		for _, row := range rows {
			got = append(got, row[fID].Text())
		}
		slices.Sort(got)
		if want := []string{"id1", "id3"}; !slices.Equal(got, want) {
			b.Errorf("got %v, want %v", got, want)
		}
		return err
	})
}

func drawnIDs(b *bench) {
	b.open(Options{})
	draw := func() (id value.Value) {
		b.must(b.write(func(tx store.Tx) error {
			row := store.Row{{}, value.OfText("t")}
			err := tx.Insert(tickets, row)
			id = row[0]
			return err
		}))
		return id
	}
	first, second := draw(), draw()
	if first.Class() != value.Int || second.Int() <= first.Int() {
		b.Errorf("drew %v and %v, want growing numbers", first, second)
	}
	b.must(b.write(func(tx store.Tx) error { return tx.Delete(tickets, second) }))
	b.reopen(Options{})
	if third := draw(); third.Int() <= second.Int() {
		b.Errorf("drew %d again (last was %d)", third.Int(), second.Int())
	}
}

func readsOwnWrites(b *bench) {
	b.open(Options{})
	b.must(b.write(func(tx store.Tx) error {
		if err := add(b, "a", fine)(tx); err != nil {
			return err
		}
		_, err := tx.Get(orders, value.OfText("a"))
		n, err2 := tx.Count(orders, store.Query{})
		log, err3 := tx.Log(0, 10)
		if n != 1 || len(log) != 1 {
			b.Errorf("%d rows and %d log rows inside, want 1 and 1", n, len(log))
		}
		return errors.Join(err, err2, err3)
	}))
}

func viewIsStable(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", ""))
	b.view(func(r store.Reader) error {
		if err := b.insert("b", ""); err != nil {
			return err
		}
		n, err := r.Count(orders, store.Query{})
		log, err2 := r.Log(0, 10)
		if n != 1 || len(log) != 1 {
			b.Errorf("%d rows and %d log rows, want those of the snapshot: 1 and 1", n, len(log))
		}
		return errors.Join(err, err2)
	})
	wantOnly(b, "a", "b")
}

func readerEnds(b *bench) {
	b.open(Options{})
	var kept store.Reader
	b.view(func(r store.Reader) error { kept = r; return nil })
	if _, err := kept.Head(); err == nil {
		b.Error("a reader answered after its view")
	}
}
