package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// A driver may answer a write before the database has, as long as nobody can tell.
var manyPromises = []promise{
	{"a work of many rows writes them all, in their order", manyRows},
	{"what a work has written it reads, however much of it", manyAreRead},
	{"of many rows the one that is refused is told at its own call", manyTellTheirConflict},
	{"a work of many rows may go on after a conflict", manyGoOn},
	{"of many writes the one that finds no row is told at its own call", manyTellTheMissing},
	{"a row that is refused counts before what the work says later", firstRefusalCounts},
	{"drawn ids of many rows are set at once, grow, and are nobody else's", manyDrawn},
	{"given ids among drawn ones are kept and not drawn later", givenAmongDrawn},
}

// count is more than any driver sends at once.
const count = 300

func manyRows(b *bench) {
	b.open(Options{})
	var want []string
	b.must(b.write(func(tx store.Tx) error {
		want = nil
		var log []*store.LogRow
		for n := range count {
			id := fmt.Sprintf("%03d", n)
			if err := tx.Insert(orders, order(id, "t"+id)); err != nil {
				return err
			}
			if err := tx.Update(orders, order(id, "u"+id), []int{fTitle}); err != nil {
				return err
			}
			if n%3 == 0 {
				if err := tx.Delete(orders, value.OfText(id)); err != nil {
					return err
				}
				continue
			}
			want = append(want, id)
			log = append(log, b.event(id))
		}
		return tx.Append(log...)
	}))
	wantOnly(b, want...)
	b.view(func(r store.Reader) error {
		row, err := r.Get(orders, value.OfText("100"))
		if err == nil && row[fTitle].Text() != "u100" {
			b.Errorf("title %q, want that of the update", row[fTitle].Text())
		}
		return err
	})
}

func manyAreRead(b *bench) {
	b.open(Options{})
	b.must(b.write(func(tx store.Tx) error {
		for n := range 20 {
			id := value.OfText(fmt.Sprintf("%03d", n))
			if err := tx.Insert(orders, order(id.Text(), "")); err != nil {
				return err
			}
			if n%5 != 0 {
				continue
			}
			if _, err := tx.Get(orders, id); err != nil {
				return fmt.Errorf("get what was inserted: %w", err)
			}
			found, err := tx.Count(orders, store.Query{})
			if err != nil || found != int64(n+1) {
				return fmt.Errorf("%d rows are counted after %d: %w", found, n+1, err)
			}
		}
		return nil
	}))
}

// refusedAt inserts ten rows, of which the one at bad has another's title, and
// returns at which the last run of the work was refused.
func refusedAt(b *bench, bad int, then func(n int, err error) error) (at int, err error) {
	b.Helper()
	b.must(b.insert("taken", "taken"))
	err = b.write(func(tx store.Tx) error {
		at = -1
		for n := range 10 {
			title := fmt.Sprint("title ", n)
			if n == bad {
				title = "taken"
			}
			err := tx.Insert(orders, order(fmt.Sprint("id", n), title))
			if err != nil {
				at = n
			}
			if err := then(n, err); err != nil {
				return err
			}
		}
		return nil
	})
	return at, err
}

func manyTellTheirConflict(b *bench) {
	for bad, name := range map[int]string{0: "first", 6: "middle", 9: "last"} {
		b.Run(name, func(t *testing.T) {
			b := &bench{T: t, harness: b.fresh(t), fresh: b.fresh}
			b.open(Options{})
			at, err := refusedAt(b, bad, func(_ int, err error) error { return err })
			wantConflict(b, err, fTitle)
			if at != bad {
				b.Errorf("row %d is refused, want %d", at, bad)
			}
			wantOnly(b, "taken")
		})
	}
}

func manyGoOn(b *bench) {
	b.open(Options{})
	var told error
	_, err := refusedAt(b, 6, func(n int, err error) error {
		if n == 6 {
			told = err
			return nil
		}
		return err
	})
	b.must(err)
	wantConflict(b, told, fTitle)
	want := []string{"id0", "id1", "id2", "id3", "id4", "id5", "id7", "id8", "id9", "taken"}
	if got := b.selectIDs(store.Query{}); !slices.Equal(got, want) {
		b.Errorf("rows %v, want %v", got, want)
	}
}

func manyTellTheMissing(b *bench) {
	b.open(Options{})
	for name, change := range map[string]func(store.Tx, string) error{
		"Update": func(tx store.Tx, id string) error { return tx.Update(orders, order(id, ""), []int{fTotal}) },
		"Delete": func(tx store.Tx, id string) error { return tx.Delete(orders, value.OfText(id)) },
	} {
		at := -1
		err := b.write(func(tx store.Tx) error {
			at = -1
			for n := range 5 {
				id := fmt.Sprint(name, n)
				if n != 3 {
					if err := tx.Insert(orders, order(id, "")); err != nil {
						return err
					}
				}
				if err := change(tx, id); err != nil {
					at = n
					return err
				}
			}
			return nil
		})
		if !errors.Is(err, store.ErrNotFound) || at != 3 {
			b.Errorf("%s: %v at row %d, want ErrNotFound at 3", name, err, at)
		}
	}
	wantOnly(b)
}

func firstRefusalCounts(b *bench) {
	b.open(Options{})
	own := errors.New("the work's own")
	_, err := refusedAt(b, 4, func(n int, err error) error {
		if n == 7 {
			return own
		}
		return err
	})
	wantConflict(b, err, fTitle)
	wantOnly(b, "taken")
}

func manyDrawn(b *bench) {
	b.open(Options{})
	var drawn []int64
	for range 3 {
		last := int64(0)
		b.must(b.write(func(tx store.Tx) error {
			for range count {
				row := store.Row{{}, value.OfText("t")}
				if err := tx.Insert(tickets, row); err != nil {
					return err
				}
				if row[0].Class() != value.Int || row[0].Int() <= last {
					return fmt.Errorf("drew %v after %d", row[0], last)
				}
				last = row[0].Int()
				drawn = append(drawn, last)
			}
			return nil
		}))
	}
	slices.Sort(drawn)
	if n := len(slices.Compact(drawn)); n != 3*count {
		b.Errorf("%d different ids, want %d", n, 3*count)
	}
}

func givenAmongDrawn(b *bench) {
	b.open(Options{})
	var ids []int64
	b.must(b.write(func(tx store.Tx) error {
		ids = nil
		for _, given := range []int64{0, 0, 1000, 0, 2000, 0} {
			row := store.Row{{}, value.OfText("t")}
			if given > 0 {
				row[0] = value.OfInt(given)
			}
			if err := tx.Insert(tickets, row); err != nil {
				return err
			}
			ids = append(ids, row[0].Int())
		}
		return nil
	}))
	if ids[2] != 1000 || ids[4] != 2000 {
		b.Errorf("ids %v, want the given ones kept", ids)
	}
	b.must(b.write(func(tx store.Tx) error {
		row := store.Row{{}, value.OfText("t")}
		err := tx.Insert(tickets, row)
		if err == nil && row[0].Int() <= 2000 {
			b.Errorf("drew %d, which was passed", row[0].Int())
		}
		return err
	}))
}
