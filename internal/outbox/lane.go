package outbox

import (
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// Bounds of a lane.
const (
	// laneRoom is how many leased deliveries a lane knows at most, from the claim
	// or reservation to the settlement: so what waits for a store that is away is
	// bounded too.
	laneRoom = 256
	// laneBytes bounds it where bodies are large.
	laneBytes = 32 << 20
	// briskly is how soon a lane must have used up what it claimed to claim twice
	// as much next time. A slow target's deliveries are better left to all instances.
	briskly = time.Second
)

// lane is the way of one target's deliveries through this instance. It is state
// and rules: it calls neither the store nor the target.
type lane struct {
	target Target
	poster Poster
	asks   chan<- *lane
	lease  *lease // is read under mu: what is leased under a name that is gone is not let in after forget
	counts counts

	mu       sync.Mutex
	asked    bool // it is in asks
	stopped  bool
	known    map[store.Lease]struct{} // leased and not yet settled or freed
	size     int                      // of a body, as they come
	reserved int                      // places promised
	ready    []*store.Delivery        // to be sent, the first first
	trial    *store.Delivery          // the probe, to be sent
	unwanted []*store.Delivery        // to be freed
	running  int                      // workers
	pending  int                      // results that are not settled
	breaker  breaker

	look      bool      // something may be due in the queue
	backlog   bool      // the last claim left something
	dues      dues      // when retries of its own fall due
	tick      time.Time // when the first delivery falls due, as the queue told last; zero: unknown
	errand    bool      // one is under way: the store is asked one thing at a time
	claims    int       // begun
	stride    int       // how much to hold ready: as much as is sent briskly
	filled    time.Time // when a claim last came back full
	used      int       // attempts that ended since then
	pause     time.Duration
	notBefore time.Time // the store failed: no errand before
	drains    []*drain
}

// newLane returns the lane of a target.
func newLane(t Target, p Poster, asks chan<- *lane, held *lease) *lane {
	if t.MaxInFlight <= 0 {
		t.MaxInFlight = defaultInFlight
	}
	return &lane{target: t, poster: p, asks: asks, lease: held, known: map[store.Lease]struct{}{}, stride: 2 * t.MaxInFlight}
}

// ask has the lane looked at. Under mu; it never blocks, because a lane stands in
// asks once at most (asked), and there is room for all.
func (l *lane) ask() {
	if !l.asked {
		l.asked = true
		l.asks <- l
	}
}

// room is how many more deliveries the lane may know.
func (l *lane) room() int { return l.capacity() - len(l.known) - l.reserved }

// capacity is how many it may know at all, with bodies as large as they lately were.
func (l *lane) capacity() int {
	return min(max(laneRoom, 4*l.target.MaxInFlight), max(1, laneBytes/max(1, l.size)))
}

// batch is how many to hold ready.
func (l *lane) batch() int { return min(l.stride, l.capacity()) }

// reserve promises a place. While something waits in the queue it leaves room for
// the next claim, or retries would starve behind a steady stream of new events.
func (l *lane) reserve() bool {
	if l.target.Ordered {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	room := l.room()
	if l.look || l.backlog {
		room = min(room, l.batch()/2-len(l.ready)-l.reserved)
	}
	if l.stopped || l.breaker.open || room <= 0 {
		return false
	}
	l.reserved++
	return true
}

// unreserve gives a place back.
func (l *lane) unreserve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved--
	if l.look {
		l.ask()
	}
}

// committed turns a promised place into a delivery to send. One that is leased
// to an earlier registration is dropped: it is found in the queue.
func (l *lane) committed(d *store.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reserved--
	l.enter(d)
	l.ask()
}

// adopt takes in a delivery that is leased to this instance and was not in memory.
func (l *lane) adopt(d *store.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.enter(d)
	l.ask()
}

// enter puts a leased delivery into memory, under mu.
func (l *lane) enter(d *store.Delivery) {
	if _, twice := l.known[d.Lease()]; twice || l.stopped || d.Owner != l.lease.registered() {
		return
	}
	l.known[d.Lease()] = struct{}{}
	l.size += (len(d.Body) - l.size) / 8
	l.ready = append(l.ready, d)
}

// rouse has the lane look into the queue.
func (l *lane) rouse() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look = true
	l.ask()
}

// again has the lane looked at anew; what it wanted, it still wants.
func (l *lane) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ask()
}

// probeNow has it look, and if its breaker is open try the target at once.
func (l *lane) probeNow(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look = true
	l.breaker.now(now)
	l.ask()
}

// firstDue takes in what the queue says of when its first delivery falls due.
func (l *lane) firstDue(at time.Time, waits bool, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !waits:
		l.tick = time.Time{}
	case at.After(now):
		l.tick = at
		l.ask()
	default:
		l.tick, l.look = time.Time{}, true
		l.ask()
	}
}

// take returns the next delivery for a worker to send; nil ends the worker.
func (l *lane) take() *store.Delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	if d := l.next(); d != nil {
		return d
	}
	l.running--
	if l.breaker.open || len(l.drains) > 0 {
		l.ask()
	}
	return nil
}

// next takes a delivery out of memory, under mu, if attempts may start.
func (l *lane) next() *store.Delivery {
	switch owner := l.lease.owner(); {
	case l.stopped || owner == "":
		return nil
	case l.trial != nil:
		d := l.trial
		l.trial = nil
		return d
	case l.breaker.open || len(l.ready) == 0 || l.ready[0].Owner != owner:
		return nil
	}
	d := l.ready[0]
	l.ready[0] = nil
	l.ready = l.ready[1:]
	l.breaker.taken(d.ID)
	return d
}

// stop ends the sending; what is in memory stays leased until the relay resigns.
func (l *lane) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// snapshot adds what the lane knows to all.
func (l *lane) snapshot(all map[store.Lease]struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for lease := range l.known {
		all[lease] = struct{}{}
	}
}
