package postgres

import (
	"slices"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// The gap barrier. A number of the log is drawn before its transaction commits,
// so rows appear out of order. A reader that went by the highest number would
// lose those that commit late; one that went by transaction ids would see two
// changes of one row reversed, and would wait for every open transaction of the
// database.
//
// So a missing number is a gap, and only a transaction that held the lock of an
// INSERT on the log (RowExclusiveLock) when the gap was first seen can fill it:
// the number was drawn before the one above it, and whoever draws holds the lock
// until it has ended. The gap is looked at again when the last of them has
// ended. What is then missing was rolled back, for good.
//
// The frontier is the number up to which everything is decided.
type barrier struct {
	mu       sync.Mutex
	frontier int64
	gaps     []*gap
	base     *base
	tried    time.Time // when transactions that hang were last ended
}

// gap is a run of numbers that were missing.
type gap struct {
	lo, hi  int64
	since   time.Time
	told    bool    // that somebody holds it open for long
	seen    bool    // the lock holders have been read since
	waiting holders // who may still fill it
	decided bool
	filled  []int64 // of a decided gap: the numbers that came after all
}

// base is where somebody who begins to read wants to begin.
type base struct {
	at      store.Position
	since   time.Time
	waiting holders // who may still write below it
}

// holders are the transactions that held the lock, by virtual transaction id,
// with their backends.
type holders map[string]int32

// still returns those of h that hold it now.
func (h holders) still(now holders) holders {
	left := holders{}
	for id, pid := range h {
		if _, there := now[id]; there {
			left[id] = pid
		}
	}
	return left
}

// settled returns the frontier.
func (b *barrier) settled() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.frontier
}

// begin asks for a start at the last number that is there, given who holds the
// lock now. It answers once those who held it when it was first asked are gone.
func (b *barrier) begin(last store.Position, now holders) (at store.Position, settled bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base == nil {
		b.base = &base{at: last, since: time.Now(), waiting: now}
	}
	b.base.waiting = b.base.waiting.still(now)
	if len(b.base.waiting) > 0 {
		return store.Position{}, false
	}
	at, b.base = b.base.at, nil
	if at.Seq > last.Seq { // the log was replaced meanwhile
		return store.Position{}, false
	}
	return at, true
}

// restart forgets what was known.
func (b *barrier) restart(frontier int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frontier, b.gaps = frontier, nil
}

// settle returns how many of the rows, which a snapshot showed above after, may
// be shown, given the frontier before the snapshot. Every gap among the others
// is registered at once; fresh reports one that nobody has looked into yet.
func (b *barrier) settle(after, frontier int64, rows []*store.LogRow) (shown int, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	below, open := max(after, frontier), false
	for i, row := range rows {
		if row.Seq > below+1 {
			known := b.known(below+1, row.Seq-1)
			open = open || !known.dead(below+1, row.Seq-1)
			fresh = fresh || !known.decided && !known.seen
		}
		if !open {
			shown = i + 1
		}
		below = max(below, row.Seq)
	}
	if shown > 0 && after <= b.frontier && frontier <= b.frontier && rows[shown-1].Seq > b.frontier {
		b.frontier = rows[shown-1].Seq
		b.gaps = slices.DeleteFunc(b.gaps, func(g *gap) bool { return g.hi <= b.frontier })
	}
	return shown, fresh
}

// known returns the gap that covers a run of numbers, registering it if need be.
func (b *barrier) known(lo, hi int64) *gap {
	for _, g := range b.gaps {
		if g.lo <= lo && hi <= g.hi {
			return g
		}
	}
	g := &gap{lo: lo, hi: hi, since: time.Now()}
	b.gaps = append(b.gaps, g)
	return g
}

// dead reports that none of the numbers will ever be there. One that came while
// the snapshot was older than it ends what that snapshot may show.
func (g *gap) dead(lo, hi int64) bool {
	return g.decided && !slices.ContainsFunc(g.filled, func(n int64) bool { return lo <= n && n <= hi })
}

// undecided returns the gaps that have waited for so long, and how long the
// first of the others has yet to; negative where there is none.
func (b *barrier) undecided(patience time.Duration) (open []*gap, next time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next = -1
	for _, g := range b.gaps {
		left := patience - time.Since(g.since)
		switch {
		case g.decided:
		case left <= 0:
			open = append(open, g)
		case next < 0 || left < next:
			next = left
		}
	}
	return open, next
}

// oldest returns for how long the oldest gap has been waited for, and a backend
// that holds it open; zeros where there is none.
func (b *barrier) oldest() (age time.Duration, pid int32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.gaps {
		waited := time.Since(g.since)
		if g.decided || waited <= age {
			continue
		}
		age, pid = waited, 0
		for _, holder := range g.waiting {
			pid = max(pid, holder)
		}
	}
	return age, pid
}

// longHeld returns the gaps that have been held open for that long, each once.
func (b *barrier) longHeld(limit time.Duration) (held []*gap) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.gaps {
		if !g.decided && !g.told && time.Since(g.since) > limit {
			g.told = true
			held = append(held, g)
		}
	}
	return held
}

// note takes the lock holders, read after the gaps were registered, and returns
// the gaps that nobody can fill any more.
func (b *barrier) note(open []*gap, now holders) (ripe []*gap) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range open {
		if !g.seen {
			g.seen, g.waiting = true, now
		}
		if g.waiting = g.waiting.still(now); len(g.waiting) == 0 {
			ripe = append(ripe, g)
		}
	}
	return ripe
}

// decide closes gaps, given which of their numbers are there after all.
func (b *barrier) decide(ripe []*gap, there []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range ripe {
		g.decided = true
		for _, n := range there {
			if g.lo <= n && n <= g.hi {
				g.filled = append(g.filled, n)
			}
		}
	}
}
