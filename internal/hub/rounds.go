package hub

import (
	"sync"
	"time"
)

const (
	// awake is how many connections may be runnable at once: the others, and
	// with them every request of a writer, wait behind no more than these.
	awake = 32
	// longest bounds the pause between two rounds.
	longest = 250 * time.Millisecond
)

// rounds paces the waking of connections: see DESIGN.md, "Rounds".
// Locks: a round's mu is taken before a subscriber's, never the other way round.
type rounds struct {
	later chan time.Duration // tells Run when the next round may begin

	mu      sync.Mutex
	waiting []*Subscriber // for the next round
	current []*Subscriber // of this round, not woken yet
	running int           // of this round, woken and not at work yet
	active  bool
	began   time.Time
	next    time.Time // when the next round may begin
}

func newRounds() *rounds { return &rounds{later: make(chan time.Duration, 1)} }

// tell has connections woken that have something to write: now, where no round
// is under way or too recent, else in the next one.
func (r *rounds) tell(told []*Subscriber) {
	if len(told) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, told...)
	r.proceed(time.Now())
}

// begin starts the round that had to wait.
func (r *rounds) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proceed(time.Now())
}

// proceed starts the next round if it may, or asks Run to come back when it may.
func (r *rounds) proceed(now time.Time) {
	if r.active || len(r.waiting) == 0 {
		return
	}
	if wait := r.next.Sub(now); wait > 0 {
		select {
		case r.later <- wait:
		default: // it is asked for already
		}
		return
	}
	r.current, r.waiting = r.waiting, r.current[:0]
	r.active, r.began = true, now
	r.wake()
	r.end()
}

// wake keeps a few connections of the round runnable.
func (r *rounds) wake() {
	for len(r.current) > 0 && r.running < awake {
		if r.current[0].rouse() {
			r.running++
		}
		r.current[0] = nil // the array behind the slice must not keep who has left
		r.current = r.current[1:]
	}
}

// working notes that a connection of the round is at work (or gone). The last
// one ends the round, and the next may begin after a pause as long as it took:
// so no more than half of the time is spent on waking and writing.
func (r *rounds) working() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running--; r.running <= awake/2 {
		r.wake()
	}
	r.end()
}

// end notes the end of a round that has nobody left.
func (r *rounds) end() {
	if r.running > 0 {
		return
	}
	now := time.Now()
	r.active, r.next = false, now.Add(min(now.Sub(r.began), longest))
	r.proceed(now)
}
