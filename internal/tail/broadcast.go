package tail

import "sync"

// broadcast wakes whoever waits for something to move.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{} // nil: nobody waits
}

// next returns a channel that the next tell closes.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
