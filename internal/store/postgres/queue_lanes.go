package postgres

import (
	"sync"
	"sync/atomic"
	"time"
)

// A delivery that was settled leaves entries in the indexes until the next
// vacuum, and they stand where a claim begins to look. So each lane remembers a
// floor, below which nothing was pending when it looked from the very start, and
// the claims in between begin there. A floor is a hint: a delivery may come to be
// below it, as when its transaction took long to commit or another instance gave
// it back. It is found when the lane looks from the start again.
const (
	floorLife   = 2 * time.Second // between two looks from the start
	floorMargin = 2 * time.Second // that a commit may be late without being overlooked
)

// lanes are the floors of one store's lanes.
type lanes struct {
	// ordered is set once a delivery of an ordered target was seen here.
	ordered atomic.Bool

	mu     sync.Mutex
	byName map[string]*lane
}

// lane is what is known of one target.
type lane struct {
	looked  time.Time // when a look from the start began
	due     time.Time // no delivery of a target without order is due before
	seq     int64     // no delivery of an ordered target that may go is below
	seen    int64     // the highest number claimed so far
	before  int64     // seen, as of the look before the last
	others  bool      // the target has deliveries of the kind that the lane is not
	lowered uint64    // how often seq was lowered
}

// where is where a claim begins.
type where struct {
	due     time.Time
	seq     int64
	start   bool // it looks from the very start
	others  bool
	lowered uint64
}

func (l *lanes) of(target string) *lane {
	if l.byName == nil {
		l.byName = map[string]*lane{}
	}
	found := l.byName[target]
	if found == nil {
		found = &lane{}
		l.byName[target] = found
	}
	return found
}

// begin returns where a claim of the target begins.
func (l *lanes) begin(target string, now time.Time) where {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(target)
	if now.Sub(a.looked) < floorLife && !a.looked.IsZero() {
		return where{due: a.due, seq: a.seq, others: a.others, lowered: a.lowered}
	}
	a.looked = now // the others need not look as well
	return where{start: true, others: true, lowered: a.lowered}
}

// floors is what a look from the start has found; the first of each kind is zero
// where there is none.
type floors struct {
	now, due time.Time
	seq      int64
}

// learn takes what a look from the start has found.
func (l *lanes) learn(target string, w where, f floors, ordered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(target)
	a.due = f.now.Add(-floorMargin)
	if !f.due.IsZero() && f.due.Before(a.due) {
		a.due = f.due
	}
	if a.others = f.seq > 0; ordered {
		a.others = !f.due.IsZero()
	}
	if a.lowered == w.lowered {
		a.seq = a.before + 1
		if f.seq > 0 {
			a.seq = min(a.seq, f.seq)
		}
	}
	a.before = a.seen
}

// forget has the next claim look from the start, after one that failed.
func (l *lanes) forget(target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of(target).looked = time.Time{}
}

// claimed notes a number that was claimed.
func (l *lanes) claimed(target string, seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(target)
	a.seen = max(a.seen, seq)
}

// lower notes a delivery of an ordered target that may go from now on.
func (l *lanes) lower(target string, seq int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(target)
	a.seq = min(a.seq, seq)
	a.lowered++
}

// floorOf returns from where the due ones of a target without order are read.
func (l *lanes) floorOf(target string, now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(target)
	if a.looked.IsZero() || now.Sub(a.looked) >= floorLife {
		return time.Time{}
	}
	return a.due
}
