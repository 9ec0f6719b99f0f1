package tail

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/sqlite"
	"github.com/rowcast/rowcast/internal/value"
)

// slow is a store whose next view, once it has its snapshot, waits.
type slow struct {
	store.Store
	views atomic.Int64
	hold  atomic.Pointer[chan struct{}]
}

func (s *slow) View(ctx context.Context, fn func(store.Reader) error) error {
	s.views.Add(1)
	return s.Store.View(ctx, func(r store.Reader) error {
		if hold := s.hold.Swap(nil); hold != nil {
			<-*hold
		}
		return fn(r)
	})
}

// inBubble is a world of a test with synthetic time, its store slowed down.
func inBubble(t *testing.T, fn func(t *testing.T, w *world, s *slow)) {
	bubble(t, (*Tail).Offer, fn)
}

// lookInBubble is inBubble with a store that hands nothing over.
func lookInBubble(t *testing.T, fn func(t *testing.T, w *world, s *slow)) {
	bubble(t, func(*Tail, []*store.LogRow) {}, fn)
}

func bubble(t *testing.T, committed func(*Tail, []*store.LogRow), fn func(t *testing.T, w *world, s *slow)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, more: make(chan struct{}, 1)}
		w.entity = bell(t)
		w.tail = New(Config{
			Entities: byName(w.entity), Sink: w.sink, Logger: slog.New(slog.DiscardHandler),
		})
		file, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "t.db"), Committed: func(rows []*store.LogRow) { committed(w.tail, rows) }})
		if err != nil {
			t.Fatal(err)
		}
		s := &slow{Store: file}
		w.run(s)
		fn(t, w, s)
	})
}

// delivered returns how many entries the sink has.
func (w *world) delivered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// firstPage asks for the first page on a goroutine of its own.
func (w *world) firstPage() <-chan Page {
	answer := make(chan Page, 1)
	go func() {
		page, err := w.tail.Page(w.t.Context(), 0, false)
		if err != nil {
			w.t.Error(err)
		}
		answer <- page
	}()
	return answer
}

// A reader that asks while another's page is being read may be asking for more
// than that one's snapshot holds: what was committed in between is in its page.
func TestASharedPageIsNotOlderThanTheRequest(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, s *slow) {
		w.write(3)
		w.wait(3)
		hold := make(chan struct{})
		s.hold.Store(&hold)
		early := w.firstPage()
		synctest.Wait() // it has its snapshot, of three
		w.write(2)
		w.wait(5)
		err := w.store.Write(t.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
			return tx.Update(w.entity, store.Row{value.OfText("b000001"), value.OfText("hidden since")}, []int{1})
		}})
		if err != nil {
			t.Fatal(err)
		}
		late := w.firstPage()
		synctest.Wait()
		close(hold)
		if page := <-early; len(page.Entries) != 3 || page.Upto.Seq != 3 {
			t.Errorf("the one before: %d entries up to %d, want 3 up to 3", len(page.Entries), page.Upto.Seq)
		}
		page := <-late
		if len(page.Entries) != 5 || page.Upto.Seq != 5 {
			t.Fatalf("the one after: %d entries up to %d, want 5 up to 5", len(page.Entries), page.Upto.Seq)
		}
		if got := page.Entries[0].Row[1].Text(); got != "hidden since" {
			t.Errorf("the one after is shown a row as it was before it asked: %q", got)
		}
	})
}

// A thousand who come back at once cost two reads: the one that was under way,
// and one that all the others share.
func TestThoseWhoAskTogetherShareARead(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, s *slow) {
		w.write(3)
		w.wait(3)
		hold := make(chan struct{})
		s.hold.Store(&hold)
		before := s.views.Load()
		answers := []<-chan Page{w.firstPage()}
		synctest.Wait()
		for range 1000 {
			answers = append(answers, w.firstPage())
		}
		synctest.Wait()
		close(hold)
		for _, a := range answers {
			if page := <-a; len(page.Entries) != 3 {
				t.Fatalf("a page of %d entries, want 3", len(page.Entries))
			}
		}
		if got := s.views.Load() - before; got != 2 {
			t.Errorf("%d reads, want 2", got)
		}
	})
}

// A reader that hangs up stops waiting, and takes nobody's page with it.
func TestAReaderThatHangsUpDoesNotWait(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, s *slow) {
		w.write(3)
		w.wait(3)
		hold := make(chan struct{})
		s.hold.Store(&hold)
		first := w.firstPage()
		synctest.Wait()
		second := w.firstPage()
		synctest.Wait()
		ctx, hangUp := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			_, err := w.tail.Page(ctx, 0, false)
			gone <- err
		}()
		synctest.Wait()
		hangUp()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("who hung up got %v", err)
		}
		close(hold)
		for _, a := range []<-chan Page{first, second} {
			if page := <-a; len(page.Entries) != 3 {
				t.Errorf("a page of %d entries, want 3", len(page.Entries))
			}
		}
	})
}

// The lag is for how long the oldest undelivered row has waited. A tail that is
// never done, because writers never pause, but always close behind has little.
func TestLagIsThatOfTheOldestUndeliveredRow(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world, _ *slow) {
		if got := w.tail.Lag(); got != 0 {
			t.Errorf("with nothing written the lag is %s", got)
		}
		for range 5 {
			w.hold = make(chan struct{})
			w.write(1)
			synctest.Wait() // the sink is at work
			<-time.After(time.Second)
			w.write(1) // comes before the tail is done
			if got := w.tail.Lag(); got != time.Second {
				t.Errorf("with one in hand for a second the lag is %s", got)
			}
			hold := w.hold
			next := make(chan struct{})
			w.hold = next
			close(hold)
			synctest.Wait()
			if got := w.tail.Lag(); got != 0 {
				t.Errorf("with only this moment's row in hand the lag is %s", got)
			}
			<-time.After(time.Second)
			close(next)
			synctest.Wait()
			if got := w.tail.Lag(); got != 0 {
				t.Errorf("with all delivered the lag is %s", got)
			}
		}
	})
}
