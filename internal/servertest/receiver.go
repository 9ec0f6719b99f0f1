package servertest

import (
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/webhook"
)

// ReceiverSecret is what a Receiver verifies with, and its Target signs with.
const ReceiverSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiving is how long a test waits for deliveries: several attempts, on a busy machine.
const receiving = 6 * patience

// Receiver is a target: a real HTTP server on loopback that keeps what it is sent
// and replies what it is told to. It lives as long as the test, whatever befalls
// the servers that post to it, and fails the test where a request did not verify.
// All methods may be called at any time.
type Receiver struct {
	URL string

	t       testing.TB
	address string
	secure  bool
	ca      string // file
	ended   chan struct{}

	mu      sync.Mutex
	server  *httptest.Server // nil while it is down
	secrets []string
	reply   func(Received) Reply
	all     []Received
	changed chan struct{} // closed when the next request is kept
}

// Receive starts a Receiver that gives the replies in turn, the last one for
// good; with none all are 200.
func Receive(t testing.TB, replies ...Reply) *Receiver {
	t.Helper()
	return receive(t, false, replies)
}

// ReceiveTLS is Receive behind TLS, with a certificate that only Receiver.CA
// vouches for.
func ReceiveTLS(t testing.TB, replies ...Reply) *Receiver {
	t.Helper()
	return receive(t, true, replies)
}

func receive(t testing.TB, secure bool, replies []Reply) *Receiver {
	t.Helper()
	r := &Receiver{
		t: t, address: "127.0.0.1:0", secure: secure, ended: make(chan struct{}),
		secrets: []string{ReceiverSecret}, changed: make(chan struct{}),
	}
	r.Reply(replies...)
	r.Up()
	t.Cleanup(r.end)
	return r
}

// Up listens again after Down, on the same address.
func (r *Receiver) Up() {
	r.t.Helper()
	l, err := net.Listen("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(r.take), ReadHeaderTimeout: receiving}}
	if r.secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.server, r.address, r.URL = s, l.Addr().String(), s.URL
}

// Down refuses connections, cutting off those there are.
func (r *Receiver) Down() {
	r.mu.Lock()
	s := r.server
	r.server = nil
	r.mu.Unlock()
	if s != nil {
		_ = s.Listener.Close()
		s.CloseClientConnections()
		s.Close()
	}
}

func (r *Receiver) end() {
	close(r.ended) // who still waits for a reply gets it
	r.Down()
	for _, got := range r.All() {
		if got.Err != nil {
			r.t.Errorf("a request did not verify: %v\n%v\n%s", got.Err, got.Header, got.Body)
			return
		}
	}
}

// CA returns the file that vouches for a Receiver behind TLS, in PEM.
func (r *Receiver) CA() string {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ca == "" {
		r.ca = filepath.Join(r.t.TempDir(), "ca.pem")
		data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.server.Certificate().Raw})
		if err := os.WriteFile(r.ca, data, 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.ca
}

// Target returns the YAML of a target at this Receiver, for Options.Targets:
// its url, secret and ca, and the further keys given, such as "topics: [a]".
func (r *Receiver) Target(name, keys string) string {
	r.t.Helper()
	ca := ""
	if r.secure {
		ca = fmt.Sprintf(", ca: %q", r.CA())
	}
	return fmt.Sprintf("%s: {url: %q, secret: %q%s, %s}", name, r.URL+"/hooks", ReceiverSecret, ca, keys)
}

// Trust replaces the secrets that requests are verified with; without any, none is.
func (r *Receiver) Trust(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = secrets
}

// Reply gives the replies in turn from now on, the last one for good; with none
// all are 200.
func (r *Receiver) Reply(replies ...Reply) {
	var mu sync.Mutex
	r.ReplyWith(func(Received) (a Reply) {
		mu.Lock()
		defer mu.Unlock()
		if len(replies) > 0 {
			a = replies[0]
		}
		if len(replies) > 1 {
			replies = replies[1:]
		}
		return a
	})
}

// ReplyWith gives from now on what the function says, which may be called by
// several goroutines at a time.
func (r *Receiver) ReplyWith(reply func(Received) Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply = reply
}

// take keeps a request and replies it. A request that is cut short was none.
func (r *Receiver) take(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return
	}
	a := r.keep(req, body)
	if !r.wait(req, a) {
		return
	}
	maps.Copy(w.Header(), a.Header)
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = io.WriteString(w, a.Body)
}

func (r *Receiver) keep(req *http.Request, body []byte) Reply {
	r.mu.Lock()
	secrets, reply := r.secrets, r.reply
	r.mu.Unlock()
	got := Received{
		Header: req.Header.Clone(), Host: req.Host, Path: req.URL.RequestURI(), Method: req.Method, Body: body, At: time.Now(),
		Delivery: webhook.Delivery{
			ID: req.Header.Get(webhook.HeaderDelivery), Topic: req.Header.Get(webhook.HeaderTopic), Event: req.Header.Get(webhook.HeaderEvent),
		},
	}
	if len(secrets) > 0 {
		if verified, err := webhook.Verify(req.Header, body, secrets, 0); err != nil {
			got.Err = err
		} else {
			got.Delivery = verified
		}
	}
	got.Reply = reply(got)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, got)
	close(r.changed)
	r.changed = make(chan struct{})
	return got.Reply
}

// wait holds a reply back; false: nobody wants it any more.
func (r *Receiver) wait(req *http.Request, a Reply) bool {
	timer := time.NewTimer(a.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-req.Context().Done():
		return false
	case <-r.ended:
		return true
	}
	if a.Until == nil {
		return true
	}
	select {
	case <-a.Until:
	case <-req.Context().Done():
		return false
	case <-r.ended:
	}
	return true
}

// All returns the requests so far, in the order they came.
func (r *Receiver) All() []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

// Await waits until there are at least n requests, and returns all.
func (r *Receiver) Await(n int) []Received {
	r.t.Helper()
	return r.Until(fmt.Sprintf("%d requests", n), func(all []Received) bool { return len(all) >= n })
}

// Until waits until the requests are as wanted, and returns all.
func (r *Receiver) Until(what string, as func([]Received) bool) []Received {
	r.t.Helper()
	deadline := time.After(receiving)
	for {
		r.mu.Lock()
		all, changed := slices.Clone(r.all), r.changed
		r.mu.Unlock()
		if as(all) {
			return all
		}
		select {
		case <-changed:
		case <-deadline:
			ids := IDs(all)
			r.t.Fatalf("no %s within %s; there are %d, the last of them %v", what, receiving, len(all), ids[max(0, len(ids)-20):])
		}
	}
}
