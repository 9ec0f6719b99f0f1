package post

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/store"
)

const (
	short    = 300 * time.Millisecond // a deadline that is waited for
	generous = 60 * time.Second       // one that is not
)

// receiver is a listener on a raw socket; each connection runs play.
type receiver struct {
	net.Listener
	conns atomic.Int64
	wg    sync.WaitGroup
	mu    sync.Mutex
	open  map[net.Conn]bool
}

// peer is the receiver's side of a connection.
type peer struct {
	net.Conn
	in *bufio.Reader
	n  int64 // of the connection, from 1
}

// request reads a whole request.
func (p *peer) request() (*http.Request, []byte, error) {
	r, err := http.ReadRequest(p.in)
	if err != nil {
		return nil, nil, err
	}
	body, err := io.ReadAll(r.Body)
	return r, body, err
}

// say writes what fits; the sender may have gone.
func (p *peer) say(text string) error {
	_, err := io.WriteString(p.Conn, text)
	return err
}

// reset ends the connection with an RST.
func (p *peer) reset() {
	if c, ok := p.Conn.(*net.TCPConn); ok {
		_ = c.SetLinger(0)
	}
	_ = p.Close()
}

// gone waits until the sender has closed.
func (p *peer) gone() { _, _ = io.Copy(io.Discard, p.in) }

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// receive runs play for each connection, until the test ends.
func receive(t testing.TB, l net.Listener, play func(*peer)) *receiver {
	t.Helper()
	r := &receiver{Listener: l, open: map[net.Conn]bool{}}
	r.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p := &peer{Conn: conn, in: bufio.NewReader(conn), n: r.conns.Add(1)}
			r.mu.Lock()
			r.open[conn] = true
			r.mu.Unlock()
			r.wg.Go(func() {
				defer func() { _ = conn.Close() }()
				play(p)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		r.mu.Lock()
		for conn := range r.open {
			_ = conn.Close()
		}
		r.mu.Unlock()
		r.wg.Wait()
	})
	return r
}

// pipes makes connections out of nothing, for tests in time of their own; play
// runs at the other end of each.
func pipes(play func(*peer)) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer func() { _ = far.Close() }()
			play(&peer{Conn: far, in: bufio.NewReader(far)})
		}()
		return near, nil
	}
}

// answering answers each request of a connection with text.
func answering(text string) func(*peer) {
	return func(p *peer) {
		for {
			if _, _, err := p.request(); err != nil {
				return
			}
			if p.say(text) != nil {
				return
			}
		}
	}
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

func (r *receiver) url() string { return "http://" + r.Addr().String() }

// TestMain asserts that all tests together left nothing running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// poster returns one for a target, and closes it at the test's end.
func poster(t testing.TB, target Target, c Config) *Poster {
	t.Helper()
	if len(target.Secrets) == 0 {
		target.Secrets = []string{"a secret nobody may see"}
	}
	p := New(target, c)
	t.Cleanup(p.Close)
	return p
}

func delivery(body string) *store.Delivery {
	return &store.Delivery{
		ID: "U01M2P1R18V26CMVBZ1DC0AS1Z1", Target: "billing", Topic: "entity.sales_order",
		Event: "entity.create", Body: []byte(body),
	}
}

// post makes one attempt, and holds the result to what is promised of each.
func post(t testing.TB, p *Poster) Result {
	t.Helper()
	return postBody(t, p, `{"id":"1"}`)
}

func postBody(t testing.TB, p *Poster, body string) Result {
	t.Helper()
	r := p.Post(t.Context(), delivery(body))
	t.Logf("%v %d %q after %v", r.Class, r.Status, r.Error, r.Took)
	checkResult(t, r)
	return r
}

func checkResult(t testing.TB, r Result) {
	t.Helper()
	if len(r.Error) > 300 || !utf8.ValidString(r.Error) || strings.ContainsFunc(r.Error, unicode.IsControl) {
		t.Errorf("the error is no line of at most 300 bytes: %q", r.Error)
	}
	if (r.Class == Accepted) != (r.Error == "") {
		t.Errorf("%v with the error %q", r.Class, r.Error)
	}
	if strings.Contains(r.Error, "secret") {
		t.Errorf("the error tells a secret: %q", r.Error)
	}
	if r.At.IsZero() || r.At.Location() != time.UTC || r.At.Nanosecond()%1000 != 0 {
		t.Errorf("started at %v, want UTC and whole microseconds", r.At)
	}
	if r.RetryAfter < 0 || (r.RetryAfter > 0 && r.Class != Retry) {
		t.Errorf("%v with a wish to wait %v", r.Class, r.RetryAfter)
	}
}

// want is what a test promises of a Result. error is a part of it.
type want struct {
	class  Class
	status int
	alive  bool
	error  string
}

func (w want) check(t testing.TB, got Result) {
	t.Helper()
	if got.Class != w.class || got.Status != w.status || got.Alive != w.alive || !strings.Contains(got.Error, w.error) {
		t.Errorf("got %v, status %d, alive %v, error %q; want %v, %d, %v, and in the error %q",
			got.Class, got.Status, got.Alive, got.Error, w.class, w.status, w.alive, w.error)
	}
}

var accepted = want{class: Accepted, status: 200, alive: true}

// retried is what comes of an attempt without an answer.
func retried(saying string) want { return want{class: Retry, error: saying} }

// secure wraps a listener in TLS.
func secure(l net.Listener, c tls.Certificate) net.Listener {
	return tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{c}})
}
