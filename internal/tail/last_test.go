package tail

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/rowcast/rowcast/internal/store"
)

// ending is a store whose next read goes on until its context ends.
type ending struct {
	store.Store
	armed   atomic.Bool
	entered chan struct{}
}

func (e *ending) View(ctx context.Context, fn func(store.Reader) error) error {
	if e.armed.CompareAndSwap(true, false) {
		close(e.entered)
		<-ctx.Done()
		return ctx.Err()
	}
	return e.Store.View(ctx, fn)
}

// A tail that is told to end delivers what was committed by then, also where the
// end breaks off the very read of it: nobody else hands it on to a transport.
func TestTheEndDeliversWhatWasCommitted(t *testing.T) {
	w := newWorld(t, func(*world, []*store.LogRow) {})
	s := &ending{Store: w.store, entered: make(chan struct{})}
	var got atomic.Int64
	tail := New(Config{Entities: byName(w.entity), Sink: func(batch []*Entry) { got.Add(int64(len(batch))) }})
	tail.Follow(s)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- tail.Run(ctx) }()
	<-tail.Ready()
	w.write(3)
	s.armed.Store(true)
	tail.Look()
	<-s.entered
	cancel()
	if err := <-ended; err != nil || got.Load() != 3 {
		t.Errorf("delivered %d, %v; want 3", got.Load(), err)
	}
}
