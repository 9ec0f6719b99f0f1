// Package outbox delivers queued events to the targets of one tenant in one
// datastore, on one of any number of instances (change-streams contract,
// "Durable delivery").
//
// Guarantees. An attempt starts only for a delivery that is leased to this
// instance, while its lease is known to hold. What an attempt came to is written
// under the lease it was made with; where that is another's by now nothing is
// changed, and it is counted. Nothing that the relay was told, or missed, can
// lose a delivery: what is not in memory is found in the queue again. Each target
// has a lane of its own, bounded in memory and in attempts at a time; a target
// that is slow, dead or hostile delays no other, and after a few failures in a
// row costs no delivery but the one that probes it an attempt.
//
// Run is the life of a Relay; it returns a bounded time after its context is
// done, with nothing leased. Reserve, Committed and Dropped never block and never
// call the store. All methods are safe for concurrent use. The package may import
// internal/failpoint, internal/store and internal/outbox/post. DESIGN.md says why.
package outbox

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// Defaults of Config and Target.
const (
	defaultEvery    = 10 * time.Second
	defaultInFlight = 8
)

// storeTime bounds one call of the queue.
const storeTime = 10 * time.Second

// Errors of a Relay.
var (
	// ErrNoTarget is returned by Test for a name that is not declared.
	ErrNoTarget = errors.New("no target of that name is declared")
	// ErrStopped is returned by Drain where the relay ended meanwhile.
	ErrStopped = errors.New("the relay has stopped")
	errTwice   = errors.New("a relay runs once")
)

// Poster makes one attempt at a delivery; *post.Poster is one. Post returns soon
// after its context is done.
type Poster interface {
	Post(ctx context.Context, d *store.Delivery) post.Result
	Close()
}

// Target is where deliveries go, as far as the relay and its statistics need it.
type Target struct {
	Name        string
	URL         string // without userinfo: it is shown
	Topics      []string
	Timeout     time.Duration // of one attempt
	Ordered     bool          // the events of a row one after the other
	MaxInFlight int           // attempts at a time; defaults to 8
}

// Config is what a Relay stands on.
type Config struct {
	Queue     store.Queue
	Targets   []Target
	Poster    func(target string) Poster // called once for each target
	Every     time.Duration              // the scheduler's slot; defaults to 10 s
	NewID     func() string              // unique each time: owners, test events
	Now       func() time.Time           // wall clock; defaults to time.Now
	Logger    *slog.Logger               // defaults to slog.Default()
	Retention time.Duration              // of the attempt log; 0: it is never pruned
	Tenant    string                     // for test events; "" where there is one only
}

// Relay sends the deliveries of one unit.
type Relay struct {
	config     Config
	order      []*lane // as declared
	lanes      map[string]*lane
	names      []string
	asks       chan *lane // lanes that want to be looked at, each once at most
	lease      lease
	settler    settler
	complaints complaints
	expired    atomic.Uint64 // registrations lost
	depths     atomic.Pointer[[]store.Depth]
	begun      atomic.Bool
	ended      chan struct{} // closed when no attempt starts any more
}

// New returns a Relay that has not started.
func New(c Config) *Relay {
	if c.Every <= 0 {
		c.Every = defaultEvery
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	r := &Relay{
		config: c,
		lanes:  make(map[string]*lane, len(c.Targets)),
		asks:   make(chan *lane, len(c.Targets)),
		ended:  make(chan struct{}),
	}
	r.settler.wake = make(chan struct{}, 1)
	r.complaints.logger = c.Logger
	for _, t := range c.Targets {
		l := newLane(t, c.Poster(t.Name), r.asks, &r.lease)
		r.order = append(r.order, l)
		r.lanes[t.Name] = l
		r.names = append(r.names, t.Name)
	}
	return r
}

// Reserve takes a place for one delivery that is about to be written leased, and
// returns under whose name. It is refused where it could not be sent at once:
// then the delivery is written free. Every place taken is given back by
// Committed or Dropped.
func (r *Relay) Reserve(target string) (owner string, ok bool) {
	l, declared := r.lanes[target]
	if !declared {
		return "", false
	}
	owner = r.lease.owner()
	if owner == "" || !l.reserve() {
		return "", false
	}
	return owner, true
}

// Committed hands on the deliveries of a work that has been committed: leased
// ones are sent from memory, free ones make their lane look into the queue.
func (r *Relay) Committed(ds []*store.Delivery) {
	for _, d := range ds {
		switch l := r.lanes[d.Target]; {
		case l == nil:
		case d.Owner == "":
			l.rouse()
		default:
			l.committed(d)
		}
	}
}

// Dropped gives back the places of a work that was not committed. unknown: it
// may have been; then what stands in the queue under this owner is found there.
func (r *Relay) Dropped(ds []*store.Delivery, unknown bool) {
	for _, d := range ds {
		l := r.lanes[d.Target]
		if l == nil {
			continue
		}
		if d.Owner != "" {
			l.unreserve()
		}
		if unknown {
			l.rouse()
		}
	}
}

// rouseAll makes every lane look into the queue.
func (r *Relay) rouseAll() {
	for _, l := range r.order {
		l.rouse()
	}
}
