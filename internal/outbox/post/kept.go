package post

import (
	"sync"
	"time"
)

// keptFor is how long a connection is kept without being used: receivers close
// theirs after 5 s to some minutes.
const keptFor = 30 * time.Second

// kept holds connections for the next attempts: the one used last is taken
// first, so that those too many grow old.
type kept struct {
	limit int

	mu     sync.Mutex
	links  []*link // by the time they were put back
	sweep  *time.Timer
	closed bool
}

func newKept(limit int) *kept { return &kept{limit: limit} }

// take returns a connection that has nothing to read, and nil where there is none.
func (k *kept) take() *link {
	for {
		l := k.pop()
		if l == nil || (time.Since(l.since) < keptFor && !l.spoiled()) {
			return l
		}
		l.leave()
	}
}

func (k *kept) pop() *link {
	k.mu.Lock()
	defer k.mu.Unlock()
	last := len(k.links) - 1
	if last < 0 {
		return nil
	}
	l := k.links[last]
	k.links[last] = nil
	k.links = k.links[:last]
	return l
}

// put keeps a connection, or closes it.
func (k *kept) put(l *link) {
	l.since = time.Now()
	k.mu.Lock()
	full := k.closed || len(k.links) >= k.limit
	if !full {
		k.links = append(k.links, l)
		if k.sweep == nil {
			k.sweep = time.AfterFunc(keptFor, k.expire)
		}
	}
	k.mu.Unlock()
	if full {
		l.leave()
	}
}

// expire closes what was not used for long, and comes again while any is kept.
func (k *kept) expire() {
	for _, l := range k.old() {
		l.leave() // which may write: not under the lock
	}
}

func (k *kept) old() []*link {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sweep = nil
	n := 0
	for n < len(k.links) && time.Since(k.links[n].since) >= keptFor {
		n++
	}
	old, young := k.links[:n:n], k.links[n:]
	k.links = append([]*link(nil), young...)
	if len(young) > 0 {
		k.sweep = time.AfterFunc(keptFor-time.Since(young[0].since), k.expire)
	}
	return old
}

func (k *kept) close() {
	k.mu.Lock()
	k.closed = true
	if k.sweep != nil {
		k.sweep.Stop()
	}
	links := k.links
	k.links = nil
	k.mu.Unlock()
	for _, l := range links {
		l.leave()
	}
}
