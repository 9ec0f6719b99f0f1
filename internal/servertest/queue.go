package servertest

import (
	"sync"
	"time"
)

// queue holds what a stream was told and the test has not read: reading goes on
// without the test, however much comes. One goroutine puts, another takes.
type queue struct {
	mu     sync.Mutex
	blocks []Block
	ended  bool
	more   chan struct{} // of one: something was put since it was last looked
}

func newQueue() *queue { return &queue{more: make(chan struct{}, 1)} }

func (q *queue) put(b Block) {
	q.mu.Lock()
	q.blocks = append(q.blocks, b)
	q.mu.Unlock()
	q.signal()
}

// end says that nothing more will come.
func (q *queue) end() {
	q.mu.Lock()
	q.ended = true
	q.mu.Unlock()
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// take waits for a block until the deadline; there is none at the end of the
// stream, or none in time.
func (q *queue) take(deadline <-chan time.Time) (b Block, ok, ended bool) {
	for {
		q.mu.Lock()
		if len(q.blocks) > 0 {
			b, q.blocks = q.blocks[0], q.blocks[1:]
			q.mu.Unlock()
			return b, true, false
		}
		ended = q.ended
		q.mu.Unlock()
		if ended {
			return Block{}, false, true
		}
		select {
		case <-q.more:
		case <-deadline:
			return Block{}, false, false
		}
	}
}
