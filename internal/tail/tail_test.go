package tail

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqlite"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

// world is a tail on a real SQLite file.
type world struct {
	t      *testing.T
	store  store.Store
	tail   *Tail
	entity *schema.Entity
	n      int
	text   string // of each row that is written

	mu   sync.Mutex
	seen []*Entry
	more chan struct{}
	hold chan struct{} // the sink waits here while it is not nil
}

func bell(t *testing.T) *schema.Entity {
	t.Helper()
	return schematest.Entity(t, `
entities:
  - name: bell
    fields: [{name: id, type: string}, {name: text, type: string}]
    events: [{name: e}]
`)
}

func byName(e *schema.Entity) map[string]*schema.Entity { return map[string]*schema.Entity{e.Name: e} }

// newWorld opens a store whose commits go through handover, and runs a tail on it.
func newWorld(t *testing.T, handover func(w *world, rows []*store.LogRow)) *world {
	t.Helper()
	w := &world{t: t, more: make(chan struct{}, 1)}
	w.entity = bell(t)
	w.tail = New(Config{Entities: byName(w.entity), Sink: w.sink})
	s, err := sqlite.Open(t.Context(), sqlite.Config{
		Path:      filepath.Join(t.TempDir(), "t.db"),
		Committed: func(rows []*store.LogRow) { handover(w, rows) },
	})
	if err != nil {
		t.Fatal(err)
	}
	w.run(s)
	return w
}

// run prepares the store and runs the tail on it until the end of the test.
func (w *world) run(s store.Store) {
	w.t.Helper()
	if _, err := s.Migrate(w.t.Context(), store.Plan{Entities: []*schema.Entity{w.entity}}); err != nil {
		w.t.Fatal(err)
	}
	w.store = s
	w.tail.Follow(s)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	w.t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			w.t.Error(err)
		}
		goleak.VerifyNone(w.t, goleak.IgnoreCurrent())
	})
	go func() { ended <- w.tail.Run(ctx) }()
	<-w.tail.Ready()
}

func (w *world) sink(batch []*Entry) {
	if w.hold != nil {
		<-w.hold
	}
	w.mu.Lock()
	w.seen = append(w.seen, batch...)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// write commits n rows with an event each.
func (w *world) write(n int) {
	w.t.Helper()
	err := w.store.Write(w.t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
		for range n {
			w.n++
			id := fmt.Sprintf("b%06d", w.n)
			row := store.Row{value.OfText(id), value.OfText(w.text)}
			if err := tx.Insert(w.entity, row); err != nil {
				return err
			}
			err := tx.Append(&store.LogRow{
				EventID: fmt.Sprintf("01ARZ3NDEKTSV4RRFF%08d", w.n), Entity: "bell", Operation: schema.Create, Fine: "created",
				Topic: "entity.bell", Subject: id, Time: time.Now().UTC(), Row: row,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// wait returns once the sink has seen n entries, and checks that they are in order and whole.
func (w *world) wait(n int) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		w.mu.Lock()
		seen := len(w.seen)
		w.mu.Unlock()
		if seen >= n {
			break
		}
		select {
		case <-w.more:
		case <-deadline:
			w.t.Fatalf("the sink has seen %d entries, want %d", seen, n)
		}
	}
	for i, e := range w.seen {
		want := fmt.Sprintf("b%06d", i+1)
		if e.Log.Subject != want {
			w.t.Fatalf("entry %d is of row %s, want %s", i, e.Log.Subject, want)
		}
		if e.Entity != w.entity || e.Row == nil || e.Row[0].Text() != want {
			w.t.Fatalf("entry %d has not the row it speaks of", i)
		}
	}
}

func offer(w *world, rows []*store.LogRow) { w.tail.Offer(rows) }

// The sink sees each committed log row once, in order, with its row.
func TestHandOver(t *testing.T) {
	w := newWorld(t, offer)
	for range 50 {
		w.write(3)
	}
	w.wait(150)
	if got := w.tail.Delivered().Seq; got != 150 {
		t.Errorf("delivered up to %d, want 150", got)
	}
}

// A hand-over that is lost is made up for by the log; one that comes twice, or
// late, is passed over.
func TestLostAndDoubledHandOver(t *testing.T) {
	n := 0
	w := newWorld(t, func(w *world, rows []*store.LogRow) {
		switch n++; n % 3 {
		case 0: // lost, and only a "look again" comes
			w.tail.lost()
			w.tail.Look()
		case 1:
			w.tail.Offer(rows)
			w.tail.Offer(rows)
		default:
			w.tail.Offer(rows)
		}
	})
	for range 60 {
		w.write(2)
	}
	w.write(1)
	w.wait(121)
}

// A hand-over larger than the queue is read from the log.
func TestOverflowOfTheHandOver(t *testing.T) {
	w := newWorld(t, offer)
	w.hold = make(chan struct{})
	const n = handoverRows + 1500
	for range n / 500 {
		w.write(500)
	}
	w.write(n % 500)
	close(w.hold)
	w.wait(n)
}

// A page never reaches past what was delivered, comes from memory or from the
// log alike, and ends where the next one begins.
func TestPagesMeetWithoutASeam(t *testing.T) {
	for name, recent := range map[string]bool{"window": true, "log": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, offer)
			for range 12 {
				w.write(100)
			}
			w.wait(1200)
			at, n := int64(0), 0
			for {
				page, err := w.tail.Page(t.Context(), at, recent)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range page.Entries {
					if n++; e.Log.Subject != fmt.Sprintf("b%06d", n) || e.Row == nil || e.Own != recent {
						t.Fatalf("entry %d: row %s, own %v", n, e.Log.Subject, e.Own)
					}
				}
				if page.Upto.Seq == at {
					break
				}
				at = page.Upto.Seq
			}
			if n != 1200 {
				t.Errorf("pages held %d entries, want 1200", n)
			}
		})
	}
}

// Large rows are bounded in bytes, handed over and in a page, and come whole.
func TestLargeRows(t *testing.T) {
	w := newWorld(t, offer)
	w.text = strings.Repeat("x", 256<<10)
	w.hold = make(chan struct{})
	const n = 2 * handoverBytes / (512 << 10)
	for range n {
		w.write(1)
	}
	w.tail.mu.Lock()
	pending, reread := len(w.tail.pending), w.tail.reread
	w.tail.mu.Unlock()
	if pending != 0 || !reread {
		t.Errorf("%d rows of a quarter of a megabyte wait, to be read from the log: %v", pending, reread)
	}
	close(w.hold)
	w.wait(n)
	for at, seen := int64(0), 0; seen < n; {
		page, err := w.tail.Page(t.Context(), at, false)
		if err != nil || len(page.Entries) == 0 || len(page.Entries) > 2*fetchRows {
			t.Fatalf("a page of %d rows, %v; want 1 to %d", len(page.Entries), err, 2*fetchRows)
		}
		for _, e := range page.Entries {
			if seen++; e.Log.Subject != fmt.Sprintf("b%06d", seen) || len(e.Row[1].Text()) != len(w.text) {
				t.Fatalf("entry %d is of row %s", seen, e.Log.Subject)
			}
		}
		at = page.Upto.Seq
	}
}

// A row that is gone, or changed, since: a page from the log shows it as it is now.
func TestPageReadsRowsAgain(t *testing.T) {
	w := newWorld(t, offer)
	w.write(2)
	w.wait(2)
	err := w.store.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
		if err := tx.Delete(w.entity, value.OfText("b000001")); err != nil {
			return err
		}
		return tx.Update(w.entity, store.Row{value.OfText("b000002"), value.OfText("new")}, []int{1})
	}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := w.tail.Page(t.Context(), 0, false)
	if err != nil || len(page.Entries) != 2 {
		t.Fatalf("%d entries, %v", len(page.Entries), err)
	}
	if page.Entries[0].Row != nil {
		t.Error("a row that is gone still has values")
	}
	if got := page.Entries[1].Row[1].Text(); got != "new" {
		t.Errorf("the row shows %q, want it as it is now", got)
	}
}

// What retention has removed is expired, not passed over in silence.
func TestExpiredPage(t *testing.T) {
	w := newWorld(t, offer)
	w.write(10)
	w.wait(10)
	if _, err := w.store.Prune(t.Context(), time.Now().Add(time.Hour), 5); err != nil {
		t.Fatal(err)
	}
	if _, err := w.tail.Page(t.Context(), 4, false); !errors.Is(err, ErrExpired) {
		t.Errorf("below the floor: %v, want ErrExpired", err)
	}
	page, err := w.tail.Page(t.Context(), 5, false)
	if err != nil || len(page.Entries) != 5 {
		t.Errorf("at the floor: %d entries, %v; want 5", len(page.Entries), err)
	}
}
