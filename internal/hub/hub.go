// Package hub is the fan-out inside a process: it decides for each subscriber
// whether a change is to be told, and enqueues without waiting for any of them.
//
// Guarantees. A subscriber's queue holds at most Buffer frames, in log order. A
// frame that finds it full is counted as dropped for that subscriber alone,
// which from there on catches up from the log; nobody else notices
// (Delivery contract). Nothing is written, read or waited for while a lock is
// held. Live and replayed entries are judged by the same View,
// be it of a declared subscription or of a channel.
//
// All methods are safe for concurrent use; Publish is called by one goroutine
// at a time. It may import event, schema, predicate, script, access, render,
// store, sse and tail.
package hub

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
)

// Buffer is how many frames wait for one connection (Delivery contract).
const Buffer = 64

// beat is how often the hub looks whose heartbeat is due: one ticker for all.
const beat = 250 * time.Millisecond

// Hub fans out the log of one unit.
type Hub struct {
	now func() time.Time

	mu     sync.RWMutex
	lanes  map[lane][]*Subscriber
	closed bool

	rounds *rounds

	position  atomic.Pointer[store.Position] // everything up to here has been offered to everybody
	begun     atomic.Pointer[store.Position] // the end of the batch being offered, or of the one before
	epoch     atomic.Int64                   // how often the log was replaced
	opened    atomic.Int64
	published atomic.Int64
	gone      totals // of subscribers that have left
}

// totals are the counters that outlive a subscriber.
type totals struct{ delivered, dropped, replayed, failed atomic.Int64 }

// Counters is the hub's account (contract: Counters, per manager).
type Counters struct {
	Subscribers, Topics                              int // Topics: lanes that somebody listens on, topics and channels
	Published, Delivered, Dropped, Replayed, Failing int64
}

// New returns an empty hub. now defaults to time.Now.
func New(now func() time.Time) *Hub {
	if now == nil {
		now = time.Now
	}
	h := &Hub{now: now, lanes: map[lane][]*Subscriber{}, rounds: newRounds()}
	h.position.Store(&store.Position{})
	h.begun.Store(&store.Position{})
	return h
}

// Start is where a subscriber begins.
type Start struct {
	From    store.Position // it is told what stands in the log after this (see Subscriber.From)
	CatchUp bool           // some of that may lie in the past: read the log first
	Epoch   int64          // Hub.Epoch, asked before From was found
}

// Register adds a subscriber. It reports false once the hub is closing.
func (h *Hub) Register(v View, start Start, heartbeat time.Duration) (*Subscriber, bool) {
	s := &Subscriber{
		ID: strconv.FormatInt(h.opened.Add(1), 10), View: v, Since: h.now(), position: &h.position, rounds: h.rounds, busy: true, wake: make(chan struct{}, 1), heartbeat: heartbeat,
		from: start.From, lagging: start.CatchUp, lagAfter: start.From,
	}
	s.nextBeat.Store(s.Since.Add(heartbeat).UnixNano())
	if start.CatchUp {
		s.signal()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, false
	}
	s.lane = v.About().lane
	s.place = len(h.lanes[s.lane])
	h.lanes[s.lane] = append(h.lanes[s.lane], s)
	// Batches that were begun before may not be offered to it: while it catches
	// up, it may not rejoin below them, and if it does not, it begins after them.
	begun := *h.begun.Load()
	s.offered = begun.Seq
	if !start.CatchUp {
		s.from = later(s.from, begun)
	}
	if start.Epoch != h.epoch.Load() {
		s.restart(start.From, *h.position.Load()) // From is of a log that is gone
	}
	return s, true
}

// Epoch counts the logs that there have been.
func (h *Hub) Epoch() int64 { return h.epoch.Load() }

// Reset says that the log was replaced and goes on from a position of the new
// one. Every stream tells its client of the gap. It is called as Publish is.
func (h *Hub) Reset(to store.Position) {
	h.mu.Lock()
	stood := *h.position.Load()
	h.begun.Store(&to)
	h.position.Store(&to)
	h.epoch.Add(1)
	h.mu.Unlock()
	for _, s := range h.Subscribers() {
		s.restart(stood, to)
	}
}

// Unregister removes a subscriber and releases its buffer. Twice does no harm.
func (h *Hub) Unregister(s *Subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.remove(s) {
		return
	}
	h.gone.delivered.Add(s.delivered.Load())
	h.gone.dropped.Add(s.dropped.Load())
	h.gone.replayed.Add(s.replayed.Load())
	h.gone.failed.Add(s.failed.Load())
	s.release()
}

// remove takes a subscriber out of its lane; the last one moves to its place,
// so that a thousand who leave at once cost a thousand steps.
func (h *Hub) remove(s *Subscriber) bool {
	list := h.lanes[s.lane]
	if s.place >= len(list) || list[s.place] != s {
		return false
	}
	last := len(list) - 1
	list[s.place] = list[last]
	list[s.place].place = s.place
	list[last] = nil
	if h.lanes[s.lane] = list[:last]; last == 0 {
		delete(h.lanes, s.lane)
	}
	return true
}

// Publish offers a batch, in log order, to every subscriber of its topics and channels.
func (h *Hub) Publish(batch []*tail.Entry) {
	last := batch[len(batch)-1].Log
	end := &store.Position{Seq: last.Seq, EventID: last.EventID}
	h.begun.Store(end) // before the first list is read: see Register
	h.published.Add(int64(len(batch)))
	var told []*Subscriber
	for l, entries := range h.sort(batch) {
		told = h.offer(l, entries, last.Seq, told)
	}
	h.rounds.tell(told)
	h.position.Store(end)
}

// offer gives a lane's entries to its subscribers and adds those to be woken to told.
func (h *Hub) offer(l lane, entries []*tail.Entry, last int64, told []*Subscriber) []*Subscriber {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, s := range h.lanes[l] {
		if s.offer(entries, last) {
			told = append(told, s)
		}
	}
	return told
}

// Run marks heartbeats that are due, and begins the rounds that had to wait,
// until ctx is done.
func (h *Hub) Run(ctx context.Context) error {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	round := time.NewTimer(0)
	defer round.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case wait := <-h.rounds.later:
			round.Reset(wait)
		case <-round.C:
			h.rounds.begin()
		case <-ticker.C:
			now := h.now()
			for _, s := range h.Subscribers() {
				s.beat(now)
			}
		}
	}
}

// Close asks every stream to end and refuses new ones.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, s := range h.Subscribers() {
		s.close()
	}
}

// Subscribers returns the open ones.
func (h *Hub) Subscribers() []*Subscriber {
	h.mu.RLock()
	defer h.mu.RUnlock()
	n := 0
	for _, list := range h.lanes {
		n += len(list)
	}
	all := make([]*Subscriber, 0, n)
	for _, list := range h.lanes {
		all = append(all, list...)
	}
	return all
}

// Counters sums what open and gone subscribers were told.
func (h *Hub) Counters() Counters {
	h.mu.RLock()
	defer h.mu.RUnlock()
	c := Counters{
		Topics: len(h.lanes), Published: h.published.Load(), Delivered: h.gone.delivered.Load(),
		Dropped: h.gone.dropped.Load(), Replayed: h.gone.replayed.Load(), Failing: h.gone.failed.Load(),
	}
	for _, list := range h.lanes {
		c.Subscribers += len(list)
		for _, s := range list {
			c.Delivered += s.delivered.Load()
			c.Dropped += s.dropped.Load()
			c.Replayed += s.replayed.Load()
			c.Failing += s.failed.Load()
		}
	}
	return c
}
