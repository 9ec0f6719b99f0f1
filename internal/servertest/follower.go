package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowcast/rowcast/client"
)

// Following says what a Follower follows, and how.
type Following struct {
	client.Subscription
	User string
	// Servers are where it connects, each time to the next. Each must listen where
	// it did before when it is started again: see Options.Listen.
	Servers []*Server
	// Slow is how long it takes over each event. Its socket then holds little, so
	// that the server soon waits for it. Defaults to no time.
	Slow time.Duration
}

// Follower is a subscriber that comes back by itself with the last id it has
// handled, whatever befalls the servers, and keeps what it was told.
type Follower struct {
	Following
	t       testing.TB
	stream  *client.Stream
	turns   *turns
	slow    atomic.Int64
	cancel  context.CancelFunc
	ended   chan struct{}
	changed chan struct{} // something was told since somebody looked

	mu   sync.Mutex
	told []told
	seen map[string]bool // subjects
}

// told is what is kept of an event; there may be many.
type told struct {
	id, subject string
	n           int // of the row as it was shown; -1 where it was not
	gap         *client.Gap
}

// Follow begins to follow and waits until the place is known from which on
// nothing is missed. It ends with Close, at the latest with the test.
func Follow(t testing.TB, f Following) *Follower {
	t.Helper()
	if f.Heartbeat == 0 {
		f.Heartbeat = time.Second // what is gone is soon noticed
	}
	follower := &Follower{
		Following: f, t: t, turns: newTurns(f), ended: make(chan struct{}), changed: make(chan struct{}, 1), seen: map[string]bool{},
	}
	c, err := client.New(client.Config{
		URL: f.Servers[0].URL, Token: f.Servers[0].Token(f.User), HTTPClient: &http.Client{Transport: follower.turns},
	})
	if err != nil {
		t.Fatal(err)
	}
	follower.stream = c.Stream(f.Subscription)
	follower.slow.Store(int64(f.Slow))
	ctx, cancel := context.WithCancel(t.Context())
	follower.cancel = cancel
	t.Cleanup(follower.Close)
	go follower.run(ctx)
	follower.await("its place", func() bool { return follower.stream.Position() != "" })
	return follower
}

func (f *Follower) run(ctx context.Context) {
	defer close(f.ended)
	err := f.stream.Run(ctx, func(e client.Event) error {
		Pass(ctx, time.Duration(f.slow.Load()))
		shown := struct{ N int }{-1}
		if len(e.Data) > 0 {
			if err := json.Unmarshal(e.Data, &shown); err != nil {
				return fmt.Errorf("%w in %s", err, e.Data)
			}
		}
		f.mu.Lock()
		f.told, f.seen[e.Subject] = append(f.told, told{e.ID, e.Subject, shown.N, e.Gap}), true
		f.mu.Unlock()
		select {
		case f.changed <- struct{}{}:
		default:
		}
		return nil
	})
	if ctx.Err() == nil {
		f.t.Errorf("%s: the stream ended with %v", f, err)
	}
}

// String names the follower for a message.
func (f *Follower) String() string { return f.User + "'s " + f.Entity + " " + f.Name }

// Hurry makes a slow follower a quick one.
func (f *Follower) Hurry() { f.slow.Store(0) }

// Until waits until a row was told of. One goroutine at a time may wait.
func (f *Follower) Until(subject string) {
	f.t.Helper()
	f.await("the event of row "+subject, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.seen[subject]
	})
}

// await waits for what may take as long as a client that was turned away often.
func (f *Follower) await(what string, there func() bool) {
	f.t.Helper()
	deadline := time.After(6 * patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !there() {
		select {
		case <-f.changed:
		case <-tick.C:
		case <-f.ended:
			f.t.Fatalf("%s has ended and waits for %s", f, what)
		case <-deadline:
			f.t.Fatalf("%s: %s never comes; %d events came over %d connections", f, what, len(f.IDs()), f.Connections())
		}
	}
}

// IDs returns the ids of all it was told, in order.
func (f *Follower) IDs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := make([]string, 0, len(f.told))
	for _, e := range f.told {
		ids = append(ids, e.id)
	}
	return ids
}

// Connections returns how often it has connected, or tried to.
func (f *Follower) Connections() int { return int(f.turns.taken.Load()) }

// Count returns how often it was told of each row. It fails the test where a
// gap was told or an id came twice, where the ids of a row, each changed by one
// writer after the other, do not ascend, and where an event shows its row older
// than the change it tells of: its n must begin at 0 and be raised by each.
func (f *Follower) Count() map[string]int {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	oneWriter := f.Servers[0].options.Driver != "postgres"
	count, shown, seen, last := map[string]int{}, map[string]int{}, map[string]bool{}, map[string]string{}
	for _, e := range f.told {
		switch {
		case e.gap != nil:
			f.t.Errorf("%s: a gap was told: %+v", f, *e.gap)
			continue
		case seen[e.id]:
			f.t.Errorf("%s: id %s of %s came twice", f, e.id, e.subject)
		case e.id <= last[e.subject], oneWriter && e.id <= last[""]:
			f.t.Errorf("%s: id %s of %s comes after %s and %s", f, e.id, e.subject, last[e.subject], last[""])
		}
		seen[e.id], last[e.subject], last[""] = true, e.id, e.id
		count[e.subject]++
		if e.n >= 0 && (e.n < count[e.subject]-1 || oneWriter && e.n < shown[e.subject]) {
			f.t.Errorf("%s: event %d of %s shows n=%d, older than it may", f, count[e.subject], e.subject, e.n)
		}
		shown[e.subject] = max(e.n, 0)
	}
	return count
}

// Close hangs up and waits for the end. Twice does no harm.
func (f *Follower) Close() {
	f.cancel()
	<-f.ended
	f.turns.base.CloseIdleConnections()
}

// turns sends each request to the next server.
type turns struct {
	base  *http.Transport
	hosts []string
	taken atomic.Int64
}

func newTurns(f Following) *turns {
	t := &turns{base: &http.Transport{DisableCompression: true}}
	if f.Slow > 0 {
		t.base.ReadBufferSize = 1
		t.base.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetReadBuffer(64 << 10)
			}
			return conn, err
		}
	}
	for _, s := range f.Servers {
		u, err := url.Parse(s.URL)
		if err != nil {
			f.Servers[0].t.Fatal(err)
		}
		t.hosts = append(t.hosts, u.Host)
	}
	return t
}

// RoundTrip implements http.RoundTripper.
func (t *turns) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Host = t.hosts[int(t.taken.Add(1)-1)%len(t.hosts)]
	return t.base.RoundTrip(r)
}

// Same fails the test unless all orders of ids are one.
func Same(t testing.TB, orders ...[]string) {
	t.Helper()
	for i, order := range orders[1:] {
		at := 0
		for at < min(len(order), len(orders[0])) && order[at] == orders[0][at] {
			at++
		}
		if at < max(len(order), len(orders[0])) {
			t.Errorf("order %d, of %d ids, and the first, of %d, part after %d", i+1, len(order), len(orders[0]), at)
		}
	}
}
