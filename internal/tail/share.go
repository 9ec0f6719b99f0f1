package tail

import (
	"context"
	"sync"
)

// share lets those who ask for the same page at once share one read. A read
// that is under way when somebody asks is not his: its snapshot may lack what
// was committed since, and show him what he may no longer see. So whoever comes
// meanwhile shares the next one.
type share struct {
	mu      sync.Mutex
	next    map[int64]*sharedRead // not begun: open to whoever asks
	current map[int64]*sharedRead // under way
}

// sharedRead is one read of the stretch above a number.
type sharedRead struct {
	done  chan struct{}
	found stretch
	err   error
}

// do returns what a read that begins after the call finds. ctx bounds only the
// wait for another's read.
func (s *share) do(ctx context.Context, after int64, read func() (stretch, error)) (stretch, error) {
	s.mu.Lock()
	if r, open := s.next[after]; open {
		s.mu.Unlock()
		return r.wait(ctx)
	}
	r := &sharedRead{done: make(chan struct{}), err: context.Canceled} // unless read returns
	if s.next == nil {
		s.next, s.current = map[int64]*sharedRead{}, map[int64]*sharedRead{}
	}
	s.next[after] = r
	before := s.current[after]
	s.mu.Unlock()
	if before != nil {
		<-before.done // not bounded by ctx: others wait for this read by now
	}
	s.begin(after, r)
	defer s.end(after, r)
	r.found, r.err = read()
	return r.found, r.err
}

func (r *sharedRead) wait(ctx context.Context) (stretch, error) {
	select {
	case <-r.done:
		return r.found, r.err
	case <-ctx.Done():
		return stretch{}, ctx.Err()
	}
}

func (s *share) begin(after int64, r *sharedRead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.next, after)
	s.current[after] = r
}

func (s *share) end(after int64, r *sharedRead) {
	s.mu.Lock()
	if s.current[after] == r {
		delete(s.current, after)
	}
	s.mu.Unlock()
	close(r.done)
}
