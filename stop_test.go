package rowcast_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
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

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	p.conns <- far
	return near, nil
}

// A client that does not read must not make an orderly stop look like a failed
// one: it is given up before the server is.
func TestAStopWithAClientThatDoesNotRead(t *testing.T) {
	config := site(t, bellBoot, strings.Replace(bellSchema, "{name: n, type: int}", "{name: text, type: string}", 1))
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, config)
		l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
		stop, done := background(t, func(ctx context.Context) error { return s.Serve(ctx, l) })
		defer stop()
		<-s.Ready()
		stuck, _ := l.dial(t.Context(), "", "")
		defer func() { _ = stuck.Close() }()
		if err := request(t, "GET", "http://pipe/subscribe/bell", nil).Write(stuck); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReaderSize(stuck, 16).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
			t.Fatalf("%q, %v", line, err)
		}
		client := &http.Client{Transport: &http.Transport{DialContext: l.dial, DisableKeepAlives: true}}
		resp, err := client.Do(request(t, "POST", "http://pipe/data/bell", strings.NewReader(`{"id":"x","text":"`+strings.Repeat("x", 1<<16)+`"}`)))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusCreated {
			t.Fatalf("a write is answered %s", resp.Status)
		}
		synctest.Wait() // the stream is in a write that its client does not take
		began := time.Now()
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it took %s to stop", took)
		}
	})
}
