package hub

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
)

// Subscriber is one open connection: a bounded queue of frames between Publish
// and the connection's own goroutine, which is the only one to call Take,
// Rest, Rejoin and Replayed.
type Subscriber struct {
	ID    string // unique in the hub, for people
	View  View
	Since time.Time // when it opened

	position  *atomic.Pointer[store.Position] // the hub's
	lane      lane
	place     int // in the hub's list of its lane; guarded by the hub's lock
	rounds    *rounds
	wake      chan struct{}
	heartbeat time.Duration
	nextBeat  atomic.Int64 // unix nanoseconds

	mu       sync.Mutex
	queue    [][]byte
	from     store.Position // what stands up to here is not its business, or was replayed
	judged   store.Position // the last entry of its lane that was offered
	offered  int64          // everything up to here has been offered
	lagging  bool
	lagAfter store.Position // catching up starts after this
	reset    bool           // the log was replaced: from is in the new one
	stood    store.Position // in the old one
	ping     bool
	closing  bool
	released bool
	waiting  bool // for a round to wake it
	woken    bool // by a round, and not at work yet
	busy     bool // at work: it looks again by itself before it rests

	delivered, dropped, replayed, failed atomic.Int64
}

// Account is a subscriber's counters (contract: Counters, per subscriber).
type Account struct {
	Delivered int64 // enqueued live
	Dropped   int64 // found the queue full, or came while catching up
	Replayed  int64 // written from the log
	Failed    int64 // the filter failed: told nothing
	Lagging   bool
}

// Account returns the counters as they stand.
func (s *Subscriber) Account() Account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Account{
		Delivered: s.delivered.Load(), Dropped: s.dropped.Load(), Replayed: s.replayed.Load(),
		Failed: s.failed.Load(), Lagging: s.lagging,
	}
}

// Due is what a connection has to do now.
type Due struct {
	Frames  [][]byte // to write first, in order
	Lagging bool     // then: catch up from the log, after After
	After   store.Position
	Reset   bool           // then: the log is another one, in which the stream stands at Upto
	Stood   store.Position // with Reset: where it stood in the old one
	Ping    bool           // a heartbeat is due
	Upto    store.Position // with Frames written and not Lagging, everything up to here is
	Closing bool           // then: end
}

// Wake is signalled when Take has something.
func (s *Subscriber) Wake() <-chan struct{} { return s.wake }

// later returns the one that stands further on in the log.
func later(a, b store.Position) store.Position {
	if a.Seq > b.Seq {
		return a
	}
	return b
}

// Take empties the queue. The frames are shared: they must not be changed.
// spare is a slice to build the next queue in (the one taken last time).
func (s *Subscriber) Take(spare [][]byte) Due {
	// Before the queue is emptied: what was offered up to here is in it.
	position := *s.position.Load()
	due, woken := s.take(position, spare)
	if woken {
		s.rounds.working()
	}
	return due
}

func (s *Subscriber) take(position store.Position, spare [][]byte) (due Due, woken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due = Due{
		Frames: s.queue, Lagging: s.lagging, After: s.lagAfter, Ping: s.ping, Closing: s.closing,
		Upto: later(s.judged, later(s.from, position)),
	}
	if s.reset {
		due.Reset, due.Stood, due.Upto = true, s.stood, s.from
	}
	woken = s.woken
	s.queue, s.ping, s.reset, s.waiting, s.woken, s.busy = spare[:0], false, false, false, false, true
	return due, woken
}

// From returns the position after which it is told everything: until it has
// caught up the one it was registered with, or a later one where that was
// overtaken before it was registered.
func (s *Subscriber) From() store.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.from
}

// Rest says that the connection waits for Wake again. It is at work from its
// registration and from each Take on.
func (s *Subscriber) Rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// Rejoin ends catching up at a position, unless entries above it were already
// offered and dropped: then there is more to replay.
func (s *Subscriber) Rejoin(upto store.Position) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if upto.Seq < s.offered {
		return false
	}
	s.lagging, s.from = false, upto
	return true
}

// Replayed counts frames written from the log.
func (s *Subscriber) Replayed(n int) { s.replayed.Add(int64(n)) }

// Failed counts a change that the view's filter could not judge.
func (s *Subscriber) Failed() { s.failed.Add(1) }

// offer judges a batch and enqueues what is to be told. It reports whether the
// connection has to be woken and is not about to be.
func (s *Subscriber) offer(entries []*tail.Entry, last int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered = last
	if s.released {
		return false
	}
	told := false
	s.judged = later(s.judged, later(s.from, *s.position.Load()))
	for _, e := range entries {
		if e.Log.Seq <= s.from.Seq {
			continue
		}
		switch verdict := s.View.Judge(e); verdict {
		case Nothing:
		case Failed:
			s.failed.Add(1)
		default:
			told = s.enqueue(e, verdict) || told
		}
		s.judged = store.Position{Seq: e.Log.Seq, EventID: e.Log.EventID}
	}
	switch {
	case !told || s.waiting:
		return false
	case s.busy:
		s.signal() // makes nobody runnable: it will see it when it is done
		return false
	default:
		s.waiting = true
		return true
	}
}

func (s *Subscriber) enqueue(e *tail.Entry, verdict Verdict) bool {
	switch {
	case s.lagging:
		s.dropped.Add(1)
		return false
	case len(s.queue) >= Buffer:
		s.dropped.Add(1)
		s.lagging, s.lagAfter = true, s.judged // of the entry before this one
		return true
	default:
		s.queue = append(s.queue, s.View.Frame(e, verdict))
		s.delivered.Add(1)
		return true
	}
}

func (s *Subscriber) beat(now time.Time) {
	if now.UnixNano() < s.nextBeat.Load() {
		return
	}
	s.nextBeat.Store(now.Add(s.heartbeat).UnixNano())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ping = true
	s.signal()
}

// restart puts the subscriber at a place of another log. What was enqueued from
// the old one had been committed, and is written before the gap is told.
func (s *Subscriber) restart(stood, to store.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.reset {
		s.stood = later(s.judged, later(s.from, stood))
	}
	// It goes on by the log, so that nothing of the new one comes before the gap.
	s.reset, s.from, s.judged, s.offered = true, to, store.Position{}, to.Seq
	s.lagging, s.lagAfter = true, to
	s.signal()
}

func (s *Subscriber) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
	s.signal()
}

func (s *Subscriber) release() {
	s.mu.Lock()
	woken := s.woken
	s.released, s.woken, s.queue = true, false, nil
	s.mu.Unlock()
	if woken {
		s.rounds.working()
	}
}

// rouse wakes a connection in its round, and reports whether the round has to
// wait until it is at work: not for one that is at work already, or gone, or
// stands twice on the round's list and so is waited for already.
func (s *Subscriber) rouse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || s.woken {
		return false
	}
	s.signal()
	s.woken = !s.busy
	return s.woken
}

func (s *Subscriber) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
