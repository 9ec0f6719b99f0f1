package hub

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

// history is a log and its reader: what the hub's subscribers stand on.
type history struct {
	w *world

	mu        sync.Mutex
	entries   []*tail.Entry
	written   []time.Time // when each was
	delivered store.Position
}

// publish writes a batch of both topics and of channels, and has the hub offer
// it, the position first, as the tail does.
func (h *history) publish(r *rand.Rand) {
	batch := make([]*tail.Entry, 1+r.IntN(8))
	if r.IntN(20) == 0 {
		batch = make([]*tail.Entry, 2*Buffer)
	}
	for i := range batch {
		switch r.IntN(6) {
		case 0, 1:
			batch[i] = h.w.entry("note", schema.Create, nil, h.w.row("note", "x", "bob", "hi"))
		case 2:
			batch[i] = h.w.told("bell", "created", nil, h.w.row("bell", "x", "hi", r.IntN(3)))
			batch[i].Log.Subject = fmt.Sprint(r.IntN(3))
		default:
			batch[i] = h.w.entry("bell", schema.Create, nil, h.w.row("bell", "x", "hi", 1))
		}
	}
	h.mu.Lock()
	h.entries = append(h.entries, batch...)
	for range batch {
		h.written = append(h.written, time.Now())
	}
	h.delivered = position(batch[len(batch)-1])
	h.mu.Unlock()
	h.w.hub.Publish(batch)
}

// page returns a few entries above a number and the position that they reach.
func (h *history) page(after int64, limit int) ([]*tail.Entry, store.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if after >= h.delivered.Seq {
		return nil, h.delivered
	}
	rest := h.entries[after:] // numbers begin at 1 and have no holes
	if len(rest) <= limit {
		return rest, h.delivered
	}
	return rest[:limit], position(rest[limit-1])
}

func (h *history) age(n int64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Since(h.written[n-1])
}

func (h *history) end() store.Position {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.delivered
}

// peer is a client: over many connections it must be told of every entry of its
// topic or channel after its first position, once and in order.
type peer struct {
	name string
	h    *history
	r    *rand.Rand
	view View
	slow time.Duration // what a write takes at most
	beat time.Duration
	sub  *Subscriber
	at   store.Position // everything up to here was told
	told int64          // the number of the last entry told
	err  error
}

// live keeps connections open until everything of a log that has ended was told.
func (p *peer) live(ended <-chan struct{}) error {
	first := true
	for p.err == nil {
		start := Start{From: p.at, CatchUp: true}
		if first {
			start = Start{From: p.h.end()}
		}
		var open bool
		if p.sub, open = p.h.w.hub.Register(p.view, start, p.beat); !open {
			return fmt.Errorf("%s: the hub is closed", p.name)
		}
		if first {
			p.at = p.sub.From()
			p.told, first = p.at.Seq, false
		}
		p.write() // the preamble
		over := p.connection(ended)
		p.h.w.hub.Unregister(p.sub)
		if over {
			break
		}
	}
	return p.err
}

// connection serves until it hangs up at random, fails, or all is told.
func (p *peer) connection(ended <-chan struct{}) (over bool) {
	for turns := 1 + p.r.IntN(60); p.err == nil; turns-- {
		select {
		case <-ended:
			if p.at.Seq >= p.h.end().Seq {
				return true
			}
		default:
			if turns <= 0 {
				return false
			}
		}
		p.sub.Rest()
		select {
		case <-p.sub.Wake():
			p.pause(5 * time.Millisecond) // until it runs
			if p.r.IntN(20) == 0 {
				return false // the client has hung up
			}
			p.turn()
			if p.r.IntN(3) == 0 { // it may look for itself
				p.pause(20 * time.Millisecond)
				p.sub.Rest()
				p.turn()
			}
		case <-time.After(time.Hour):
			p.err = fmt.Errorf("%s: not woken for an hour, at %d of %d", p.name, p.at.Seq, p.h.end().Seq)
		}
	}
	return true
}

func (p *peer) turn() {
	due := p.sub.Take(nil)
	for _, frame := range due.Frames {
		p.tell(number(frame))
	}
	p.write()
	if !due.Lagging {
		p.stand(due.Upto)
		return
	}
	if p.stand(due.After); p.err != nil {
		return
	}
	for at := due.After; p.err == nil; {
		entries, upto := p.h.page(at.Seq, 1+p.r.IntN(100))
		for _, e := range entries {
			if verdict := p.view.Judge(e); verdict == Tell {
				p.tell(number(p.view.Frame(e, verdict)))
			}
		}
		p.write()
		if upto.Seq >= at.Seq {
			at = upto
		}
		p.stand(at)
		if p.sub.Rejoin(at) {
			return
		}
		if between := p.sub.Take(nil); len(between.Frames) > 0 {
			p.err = fmt.Errorf("%s: %d frames were enqueued while it lagged", p.name, len(between.Frames))
		}
	}
}

// write takes as long as a client does.
func (p *peer) write() { p.pause(p.slow) }

func (p *peer) pause(most time.Duration) {
	if wait := time.Duration(p.r.Int64N(int64(most) + 1)); wait > 0 {
		<-time.After(wait)
	}
}

func number(frame []byte) (n int64) {
	line, _, _ := bytes.Cut(frame, []byte("\n"))
	_, _ = fmt.Sscanf(string(line), "id: E%d", &n)
	return n
}

// tell checks that an entry is the next that it is to be told.
func (p *peer) tell(n int64) {
	if want := p.next(); p.err == nil && n != want {
		p.err = fmt.Errorf("%s: told of %d, want %d, after %d", p.name, n, want, p.told)
	}
	if late := p.h.age(n); p.err == nil && p.slow == 0 && late > longest+time.Second/10 {
		p.err = fmt.Errorf("%s: told of %d after %s, with nobody to wait for", p.name, n, late)
	}
	p.told = n
}

// stand checks a position that the stream would send: all before it was told,
// nothing beyond it, and its event id stands there.
func (p *peer) stand(at store.Position) {
	next := p.next()
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	switch {
	case p.err != nil:
	case at.Seq < p.told:
		p.err = fmt.Errorf("%s: stands at %d and was told of %d", p.name, at.Seq, p.told)
	case next != 0 && next <= at.Seq:
		p.err = fmt.Errorf("%s: stands at %d and was not told of %d", p.name, at.Seq, next)
	case at.Seq > 0 && at != position(p.h.entries[at.Seq-1]):
		p.err = fmt.Errorf("%s: stands at %v, which is no position of the log", p.name, at)
	default:
		p.at = at
	}
}

// next returns the number of the first entry after the last told that is told too, or 0.
func (p *peer) next() int64 {
	p.h.mu.Lock()
	defer p.h.mu.Unlock()
	for _, e := range p.h.entries[p.told:] {
		if p.view.Judge(e) == Tell {
			return e.Log.Seq
		}
	}
	return 0
}

// crowd makes peers of all kinds: quick and slow, of topics and channels, with rare
// heartbeats and frequent ones.
func crowd(h *history, seed uint64) []*peer {
	peers := make([]*peer, 3*awake)
	for i := range peers {
		p := &peer{name: fmt.Sprint("peer ", i), h: h, r: rand.New(rand.NewPCG(seed, uint64(i))), view: h.w.view("bell", "rings", "bob")}
		switch i % 8 {
		case 0, 4:
			p.view = h.w.view("note", "mine", "bob")
		case 1:
			p.view = h.w.channel(opening{entity: "bell", user: "bob"})
		case 2:
			p.view = h.w.channel(opening{entity: "bell", user: "bob", id: "1", filter: "filter[level][gt]=0"})
		}
		p.slow = []time.Duration{0, time.Millisecond, 50 * time.Millisecond, 2 * time.Second}[p.r.IntN(4)]
		p.beat = []time.Duration{300 * time.Millisecond, 30 * time.Minute}[p.r.IntN(2)]
		peers[i] = p
	}
	return peers
}

// Whatever subscribers do (sleep, leave, come back, overflow), each is told of
// every entry of its topic or channel once and in order, stands at all times where it has
// been told everything, and is woken again soon: every round ends.
func TestEverySubscriberIsToldEverythingOnceInOrder(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := newWorld(t)
			synctest.Test(t, func(t *testing.T) { crowded(t, w, seed) })
		})
	}
}

func crowded(t *testing.T, w *world, seed uint64) {
	w.hub = New(nil)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = w.hub.Run(ctx) })
	h, ended := &history{w: w}, make(chan struct{})
	peers := crowd(h, seed)
	results := make(chan error, len(peers))
	for _, p := range peers {
		running.Go(func() { results <- p.live(ended) })
	}
	r := rand.New(rand.NewPCG(seed, 1<<32))
	for range 400 {
		h.publish(r)
		<-time.After(time.Duration(r.IntN(3)) * time.Duration(r.IntN(40)) * time.Millisecond)
	}
	close(ended)
	for range peers {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	<-time.After(time.Second)
	synctest.Wait()
	rounds := w.hub.rounds
	rounds.mu.Lock()
	if rounds.active || rounds.running != 0 || len(rounds.current)+len(rounds.waiting) > 0 {
		t.Errorf("a round is left: active %v, %d running, %d to be woken, %d waiting",
			rounds.active, rounds.running, len(rounds.current), len(rounds.waiting))
	}
	rounds.mu.Unlock()
	c := w.hub.Counters()
	if c.Subscribers != 0 || c.Topics != 0 || c.Dropped == 0 {
		t.Errorf("counters at the end: %+v", c)
	}
	stop()
	running.Wait()
}
