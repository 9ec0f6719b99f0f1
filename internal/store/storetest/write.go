package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

var writePromises = []promise{
	{"an acknowledged write is there after reopening", acknowledgedIsDurable},
	{"a failing work undoes its own changes and nobody else's", failureIsIsolated},
	{"a panicking work undoes its own changes and nobody else's", panicIsIsolated},
	{"a work whose caller leaves while it runs still has its outcome", leavingCallerGetsTheOutcome},
	{"a work whose caller left before its turn never runs", abandonedWorkNeverRuns},
	{"many writers at once each get their own outcome", manyWriters},
	{"a work alone that overruns its deadline is undone", aloneHasADeadline},
	{"a failed commit acknowledges nobody and the store recovers", failedCommit},
	{"a closed store answers ErrClosed", closedStore},
	{"Close finishes what is queued", closeDrains},
}

func acknowledgedIsDurable(b *bench) {
	b.open(Options{})
	b.must(b.insert("a", "first"))
	b.reopen(Options{})
	b.view(func(r store.Reader) error {
		row, err := r.Get(orders, value.OfText("a"))
		if err == nil && row[fTitle].Text() != "first" {
			b.Errorf("title = %q, want first", row[fTitle].Text())
		}
		return err
	})
	if got := len(b.log()); got != 1 {
		b.Errorf("%d log rows, want 1", got)
	}
}

// together queues works so that they can share a transaction: the store is
// kept busy until all of them wait.
func together(b *bench, works ...func(store.Tx) error) []error {
	busy, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		b.check(b.write(func(store.Tx) error { close(busy); <-release; return nil }))
	})
	<-busy
	errs := make([]error, len(works))
	var queued sync.WaitGroup
	for i, w := range works {
		queued.Add(1)
		wg.Go(func() { queued.Done(); errs[i] = b.write(w) })
	}
	queued.Wait()
	close(release)
	wg.Wait()
	return errs
}

func add(b *bench, id string, then func() error) func(store.Tx) error {
	return func(tx store.Tx) error {
		if err := tx.Insert(orders, order(id, "")); err != nil {
			return err
		}
		if err := tx.Append(b.event(id)); err != nil {
			return err
		}
		return then()
	}
}

func fine() error { return nil }

// wantOnly checks that rows and log hold exactly these ids.
func wantOnly(b *bench, want ...string) {
	b.Helper()
	if got := b.selectIDs(store.Query{}); !slices.Equal(got, want) {
		b.Errorf("rows %v, want %v", got, want)
	}
	var logged []string
	for _, row := range b.settled(len(want)) {
		logged = append(logged, row.Subject)
	}
	slices.Sort(logged)
	if !slices.Equal(logged, want) {
		b.Errorf("log rows about %v, want %v", logged, want)
	}
}

func failureIsIsolated(b *bench) {
	b.open(Options{})
	refused := errors.New("refused")
	errs := together(b, add(b, "a", fine), add(b, "b", func() error { return refused }), add(b, "c", fine))
	if errs[0] != nil || errs[2] != nil {
		b.Errorf("the others failed: %v, %v", errs[0], errs[2])
	}
	if !errors.Is(errs[1], refused) {
		b.Errorf("error = %v, want the work's own", errs[1])
	}
	wantOnly(b, "a", "c")
}

func panicIsIsolated(b *bench) {
	b.open(Options{})
	errs := together(b, add(b, "a", fine), add(b, "b", func() error { panic("a handler broke") }), add(b, "c", fine))
	if errs[0] != nil || errs[2] != nil {
		b.Errorf("the others failed: %v, %v", errs[0], errs[2])
	}
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "a handler broke") {
		b.Errorf("error = %v, want the panic's text", errs[1])
	}
	wantOnly(b, "a", "c")
}

func leavingCallerGetsTheOutcome(b *bench) {
	b.open(Options{})
	ctx, cancel := context.WithCancel(b.Context())
	err := b.store.Write(ctx, store.Work{Run: func(inner context.Context, tx store.Tx) error {
		cancel()
		if inner.Err() != nil {
			b.Error("the work's context ended with its caller's")
		}
		return add(b, "a", fine)(tx)
	}})
	if err != nil {
		b.Errorf("error = %v, want none: the row was committed", err)
	}
	wantOnly(b, "a")
}

func abandonedWorkNeverRuns(b *bench) {
	b.open(Options{})
	ctx, cancel := context.WithCancel(b.Context())
	var left error
	var busy sync.WaitGroup
	release := make(chan struct{})
	for range max(b.harness.Writers, 1) {
		started := make(chan struct{})
		busy.Go(func() {
			b.check(b.write(func(store.Tx) error { close(started); <-release; return nil }))
		})
		<-started
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		left = b.store.Write(ctx, store.Work{Alone: true, Run: func(_ context.Context, tx store.Tx) error {
			return add(b, "late", fine)(tx)
		}})
	})
	cancel()
	waiting.Wait()
	close(release)
	busy.Wait()
	if !errors.Is(left, context.Canceled) {
		b.Errorf("error = %v, want context.Canceled", left)
	}
	b.must(b.insert("a", ""))
	wantOnly(b, "a")
}

func manyWriters(b *bench) {
	b.open(Options{})
	const writers, each = 16, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				id := fmt.Sprintf("%02d-%02d", w, i)
				err := b.insert(id, fmt.Sprintf("title %d", i)) // the title is taken but for one writer
				var conflict *store.ConflictError
				if err != nil && !errors.As(err, &conflict) {
					b.Errorf("%s: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	if got := len(b.selectIDs(store.Query{})); got != each {
		b.Errorf("%d rows, want %d", got, each)
	}
	if got := len(b.log()); got != each {
		b.Errorf("%d log rows, want %d", got, each)
	}
}

func aloneHasADeadline(b *bench) {
	b.open(Options{})
	err := b.store.Write(b.Context(), store.Work{Alone: true, Deadline: 20 * time.Millisecond, Run: func(ctx context.Context, tx store.Tx) error {
		if err := add(b, "a", fine)(tx); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}})
	if !errors.Is(err, store.ErrTimeout) {
		b.Errorf("error = %v, want ErrTimeout", err)
	}
	wantOnly(b)
	b.must(b.insert("b", ""))
	wantOnly(b, "b")
}

func failedCommit(b *bench) {
	if b.harness.FailCommits == nil {
		return
	}
	var handed int
	b.open(Options{Committed: func(rows []*store.LogRow) { handed += len(rows) }})
	b.must(b.insert("before", "taken"))
	b.harness.FailCommits(true)
	errs := together(b, add(b, "a", fine), add(b, "b", fine))
	b.harness.FailCommits(false)
	for i, err := range errs {
		if !errors.Is(err, store.ErrUnavailable) {
			b.Errorf("write %d: error = %v, want ErrUnavailable", i, err)
		}
	}
	b.must(b.insert("c", ""))
	wantOnly(b, "before", "c")
	if handed != 2 {
		b.Errorf("%d rows handed on, want those of the 2 commits", handed)
	}
	b.reopen(Options{})
	wantOnly(b, "before", "c")
}

func closedStore(b *bench) {
	s := b.open(Options{})
	b.must(s.Close())
	b.must(s.Close())
	for what, err := range map[string]error{
		"Write": b.insert("a", ""),
		"View":  s.View(b.Context(), func(store.Reader) error { return nil }),
		"Ping":  s.Ping(b.Context()),
	} {
		if !errors.Is(err, store.ErrClosed) {
			b.Errorf("%s: error = %v, want ErrClosed", what, err)
		}
	}
}

func closeDrains(b *bench) {
	b.open(Options{})
	busy, release := make(chan struct{}), make(chan struct{})
	var first, closed error
	var wg sync.WaitGroup
	wg.Go(func() {
		first = b.write(func(tx store.Tx) error { close(busy); <-release; return add(b, "a", fine)(tx) })
	})
	<-busy
	wg.Go(func() { closed = b.store.Close() })
	close(release)
	wg.Wait()
	b.must(errors.Join(first, closed))
	b.open(Options{})
	wantOnly(b, "a")
}
