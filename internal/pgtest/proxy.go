package pgtest

import (
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy stands between clients and a database and does to connections what a
// network does to them: it delays them, resets them, or leaves them half open.
// It also stops one at a statement, where a test needs a transaction to wait in
// a known place. All methods are safe for concurrent use.
type Proxy struct {
	listener net.Listener
	socket   string
	path     string
	delay    atomic.Int64
	closing  chan struct{}
	running  sync.WaitGroup

	mu    sync.Mutex
	links map[*link]struct{}
	stops []*Stop
}

// NewProxy returns a proxy before the database of a URL that this package gave.
// It ends with the test.
func NewProxy(t testing.TB, database string) *Proxy {
	t.Helper()
	parsed, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{
		listener: l, socket: parsed.Query().Get("host") + "/.s.PGSQL.5432", path: parsed.Path,
		closing: make(chan struct{}), links: map[*link]struct{}{},
	}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// URL returns the URL of the database through the proxy, over TCP.
func (p *Proxy) URL() string {
	return "postgres://postgres@" + p.listener.Addr().String() + p.path + "?sslmode=disable"
}

// Delay holds whatever passes back for d from now on, each way; 0 ends it.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Reset breaks all connections there are, with a reset; new ones are let in.
func (p *Proxy) Reset() {
	for _, l := range p.open() {
		l.reset()
	}
}

// HalfOpen leaves all connections there are half open: from now on nothing
// passes, neither side is told, and what the client closes stays open for the
// server. New ones are let in.
func (p *Proxy) HalfOpen() {
	for _, l := range p.open() {
		l.lost.Store(true)
	}
}

// StopAt has the first connection wait that is about to run what fits: all that
// the client sent before has reached the server, and nothing after it does.
// fits is called by one connection at a time and must not call the Proxy.
func (p *Proxy) StopAt(fits func(Run) bool) *Stop {
	s := &Stop{fits: fits, reached: make(chan struct{}), verdict: make(chan verdict, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops = append(p.stops, s)
	return s
}

// stop returns the stop that a connection has run into, if any: each stops one.
func (p *Proxy) stop(r Run) *Stop {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.stops {
		if s.fits(r) {
			p.stops = append(p.stops[:i:i], p.stops[i+1:]...)
			return s
		}
	}
	return nil
}

// verdict is what becomes of a connection that waits.
type verdict bool

const (
	goOn    verdict = true
	breakIt verdict = false
)

// Stop is a place where a connection waits.
type Stop struct {
	fits    func(Run) bool
	reached chan struct{}
	verdict chan verdict
}

// Reached is closed once a connection waits.
func (s *Stop) Reached() <-chan struct{} { return s.reached }

// Go lets the connection go on.
func (s *Stop) Go() { s.verdict <- goOn }

// Break resets the connection instead.
func (s *Stop) Break() { s.verdict <- breakIt }

func (p *Proxy) open() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*link, 0, len(p.links))
	for l := range p.links {
		all = append(all, l)
	}
	return all
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", p.socket)
		if err != nil { // the database is away
			_ = client.Close()
			continue
		}
		l := &link{proxy: p, client: client, server: server}
		p.mu.Lock()
		p.links[l] = struct{}{}
		p.mu.Unlock()
		p.running.Go(l.forth)
		p.running.Go(l.back)
	}
}

func (p *Proxy) close() {
	_ = p.listener.Close()
	close(p.closing)
	for _, l := range p.open() {
		l.end()
	}
	p.running.Wait()
}
