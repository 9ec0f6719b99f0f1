package browsertest

import (
	"sync"
	"testing"
	"time"
)

// news guards what grows on one goroutine while the test waits on another.
type news struct {
	mu   sync.Mutex
	more chan struct{} // closed and replaced at each change; nil before the first wait
}

// tell makes a change.
func (n *news) tell(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
	if n.more != nil {
		close(n.more)
		n.more = nil
	}
}

// look reads.
func (n *news) look(read func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	read()
}

// await waits until there says so. It is asked after each change, under the lock.
func (n *news) await(t testing.TB, there func() bool, missing func() string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		n.mu.Lock()
		found := there()
		if n.more == nil {
			n.more = make(chan struct{})
		}
		more := n.more
		n.mu.Unlock()
		if found {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatal(missing())
		}
	}
}
