package production

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowcast/rowcast"
)

const (
	wordsSchema = `
entities:
  - name: word
    fields: [{name: id, type: string}, {name: text, type: string}]
    events: [{name: changed}]
    subscriptions: [{name: all, rls: true}]
`
	wordsBoot = `
listen: 127.0.0.1:0
tls: {cert: ./cert.pem, key: ./key.pem}
auth:
  keys: [{id: ann, key: "a-key-for-tests-alone-of-32-bytes!"}]
tenants:
  main:
    schema: ./schema
    datastores: {main: {driver: sqlite, path: ./main.db}}
`
)

// pipes is a listener on net.Pipe: in a bubble only that counts as idle.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// secured is a server that ends TLS itself, and its client, which has one
// connection to it for everything.
type secured struct {
	http *http.Client
	end  func() error // what Serve returned
}

// inBubble runs a test with a secured server and time of its own.
func inBubble(t *testing.T, test func(*testing.T, secured)) {
	dir := t.TempDir()
	put(t, dir, "rowcast.yaml", wordsBoot)
	put(t, dir, "schema/schema.yaml", wordsSchema)
	certificate(t, dir)
	text, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	roots, now := x509.NewCertPool(), time.Now()
	roots.AppendCertsFromPEM(text)
	synctest.Test(t, func(t *testing.T) {
		srv, err := rowcast.Open(t.Context(), rowcast.Config{File: filepath.Join(dir, "rowcast.yaml"), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		defer stop()
		done := make(chan error, 1)
		go func() { done <- srv.Serve(ctx, l) }()
		<-srv.Ready()
		transport := &http.Transport{
			DialContext: l.dial, ForceAttemptHTTP2: true,
			// The bubble's clock begins in the year 2000.
			TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "127.0.0.1", Time: func() time.Time { return now }},
		}
		defer transport.CloseIdleConnections()
		end := func() error { stop(); err := <-done; done <- nil; return err }
		test(t, secured{http: &http.Client{Transport: transport}, end: end})
		if err := end(); err != nil {
			t.Errorf("Serve returned %v", err)
		}
	})
}

func (s secured) do(t *testing.T, method, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "https://127.0.0.1"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer a-key-for-tests-alone-of-32-bytes!")
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.ProtoMajor != 2 {
		t.Fatalf("%s is answered over %s", path, resp.Proto)
	}
	return resp
}

func (s secured) say(t *testing.T, id, text string) {
	t.Helper()
	resp := s.do(t, http.MethodPost, "/data/word", `{"id":"`+id+`","text":"`+text+`"}`)
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("a write is answered %s, %v", resp.Status, err)
	}
}

// block reads up to an empty line.
func block(r *bufio.Reader) (text string, err error) {
	for !strings.HasSuffix(text, "\n\n") {
		line, err := r.ReadString('\n')
		if err != nil {
			return text + line, err
		}
		text += line
	}
	return text, nil
}

func wantBlock(t *testing.T, r *bufio.Reader, begins string) {
	t.Helper()
	if got, err := block(r); err != nil || !strings.HasPrefix(got, begins) {
		t.Fatalf("got %.200q, %v, want %q", got, err, begins)
	}
}

// Over HTTP/2 a stream is what it is over HTTP/1.1, less a header that HTTP/2
// forbids: preamble, bookmark, frames, heartbeats, and last words at a stop.
func TestAStreamOverHTTP2(t *testing.T) {
	inBubble(t, func(t *testing.T, s secured) {
		resp := s.do(t, http.MethodGet, "/subscribe/word?heartbeat=10s", "")
		defer func() { _ = resp.Body.Close() }()
		for name, want := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Connection": ""} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		stream := bufio.NewReader(resp.Body)
		wantBlock(t, stream, "retry: 2000\n: subscribed entity=word subscription=all closing-in=30m0s\n\n")
		wantBlock(t, stream, ": ping\nid: ~")
		s.say(t, "a", "hello") // on the same connection, while the stream is open
		if got, err := block(stream); err != nil || !strings.Contains(got, `"data":{"id":"a","text":"hello"}}`) {
			t.Fatalf("got %q, %v", got, err)
		}
		wantBlock(t, stream, ": ping\nid: ~")
		began := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- s.end() }()
		wantBlock(t, stream, "retry: ")
		if rest, err := io.ReadAll(stream); err != nil || len(rest) > 0 {
			t.Errorf("after the last words: %q, %v", rest, err)
		}
		if err := <-ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %s to stop", took)
		}
	})
}

// Whoever does not read his stream loses it after ten seconds. His other stream
// goes on, on the same connection; what he missed can be had.
func TestASlowReaderOverHTTP2(t *testing.T) {
	inBubble(t, func(t *testing.T, s secured) {
		slow := s.do(t, http.MethodGet, "/subscribe/word?heartbeat=5m", "")
		defer func() { _ = slow.Body.Close() }()
		quick := s.do(t, http.MethodGet, "/subscribe/word?heartbeat=5m", "")
		defer func() { _ = quick.Body.Close() }()
		reading := bufio.NewReader(quick.Body)
		wantBlock(t, reading, "retry: ")
		wantBlock(t, reading, ": ping")
		const words = 12 // of 600 KB: more than a client's window of 4 MiB
		for i := range words {
			s.say(t, fmt.Sprint(i), strings.Repeat("x", 600_000))
			wantBlock(t, reading, "id: ")
		}
		synctest.Wait()
		began := time.Now()
		<-time.After(11 * time.Second) // of the bubble, whose clock goes on when all wait
		s.say(t, "last", "one")
		wantBlock(t, reading, "id: ")
		if time.Since(began) > 12*time.Second {
			t.Errorf("the other stream waited for %s", time.Since(began))
		}
		stalled := bufio.NewReader(slow.Body)
		var last string
		read := 0
		for {
			got, err := block(stalled)
			if errors.Is(err, io.EOF) {
				t.Error("a stream that was cut off looks complete")
			}
			if err != nil {
				break
			}
			if id, _, found := strings.Cut(strings.TrimPrefix(got, "id: "), "\n"); found && strings.Contains(got, "event: ") {
				last, read = id, read+1
			}
		}
		if read == 0 || read == words+1 {
			t.Fatalf("%d frames came to who did not read; that proves nothing", read)
		}
		resumed := s.do(t, http.MethodGet, "/subscribe/word?lastEventId="+last, "")
		defer func() { _ = resumed.Body.Close() }()
		again := bufio.NewReader(resumed.Body)
		wantBlock(t, again, "retry: ")
		for range words + 1 - read {
			wantBlock(t, again, "id: ")
		}
	})
}
