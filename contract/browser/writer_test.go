package browser

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/browsertest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// writer creates rows, one after the other, and knows which were acknowledged.
type writer struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  sync.WaitGroup
	told   chan string // acknowledged, not yet in acked
	acked  []string
}

// write begins to write through the servers in turn.
func write(t *testing.T, servers ...*servertest.Server) *writer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &writer{t: t, cancel: cancel, told: make(chan string, 1<<16)}
	var clients []*client.Client
	for _, s := range servers {
		c, err := client.New(client.Config{URL: s.URL, Token: s.Token("ann")})
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	w.ended.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			id := fmt.Sprint("row-", i)
			if _, err := clients[i%len(clients)].Create(ctx, "item", map[string]any{"id": id}); err == nil {
				w.told <- id
			}
			pause(ctx)
		}
	})
	t.Cleanup(w.stop)
	return w
}

// pause leaves the machine to others between two writes.
func pause(ctx context.Context) {
	timer := time.NewTimer(5 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// more waits until 20 more writes are acknowledged.
func (w *writer) more() {
	w.t.Helper()
	w.gather()
	deadline := time.After(time.Minute)
	for range 20 {
		select {
		case id := <-w.told:
			w.acked = append(w.acked, id)
		case <-deadline:
			w.t.Fatal("nothing is written any more")
		}
	}
}

// gather takes what is acknowledged already.
func (w *writer) gather() {
	for {
		select {
		case id := <-w.told:
			w.acked = append(w.acked, id)
		default:
			return
		}
	}
}

// stop ends the writing; twice does no harm.
func (w *writer) stop() {
	w.cancel()
	w.ended.Wait()
	w.gather()
}

// judge checks that each acknowledged row was told of once.
func (w *writer) judge(f *browsertest.Follower) {
	w.t.Helper()
	count := map[string]int{}
	for _, e := range f.Events() {
		count[e.Subject()]++
	}
	w.t.Logf("%d acknowledged, %d events, %d times opened", len(w.acked), len(f.Events()), f.Count(browsertest.Opened))
	for _, id := range w.acked {
		if count[id] != 1 {
			w.t.Errorf("row %s was acknowledged, and told of %d times", id, count[id])
		}
	}
}
