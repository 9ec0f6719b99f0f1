package hostile

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Hundreds of callers that never end their headers or their bodies, or ask for
// much and read none of it, hold nobody up. They are hung up on: headers after
// ten seconds, bodies, with a valid credential or without, and answers after thirty.
func TestCallersThatAreSlow(t *testing.T) {
	s := besiege(t, servertest.Options{})
	rows := make([]string, 20)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":"big%d","text":"%s"}`, i, strings.Repeat("x", 50000))
	}
	s.ann.Post("/data/thing/bulk", "["+strings.Join(rows, ",")+"]").Is(201)
	for range rows {
		s.watch.Frame()
	}
	s.note()
	conns := append(s.slowHeaders(300), s.slowBodies(60)...)
	unread := s.unread(20)

	began := time.Now()
	for range 20 {
		s.ann.Get("/data/thing/seed").Is(200)
	}
	// They hold on for 30 s: who waited for one of them would have waited that long.
	if took := time.Since(began); took > 25*time.Second {
		t.Errorf("beside %d slow callers, 20 reads took %s", len(conns)+len(unread), took)
	}
	for i, conn := range conns {
		_ = conn.SetReadDeadline(began.Add(45 * time.Second))
		if said, err := io.ReadAll(conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatalf("caller %d is still connected: %v (%q)", i, err, said)
		}
		_ = conn.Close()
	}
	s.gone(20 * time.Second) // the unread ones too, which are open on this side
	s.unharmed()
}

// slowHeaders opens n connections, each of which stops at another place before
// the end of its headers.
func (s *siege) slowHeaders(n int) []*net.TCPConn {
	head := s.request("POST /data/thing", asJSON, "")
	conns := make([]*net.TCPConn, n)
	for i := range conns {
		conns[i] = s.dial()
		_, _ = io.WriteString(conns[i], head[:(1+i)*(len(head)-1)/n])
	}
	return conns
}

// slowBodies opens n connections that never send the body they announce.
func (s *siege) slowBodies(n int) []*net.TCPConn {
	conns := make([]*net.TCPConn, n)
	for i := range conns {
		conns[i] = s.dial()
		line := []string{"POST /data/thing", "PATCH /data/thing/seed", "POST /data/nothing", "GET /data/thing", "POST /session", "POST /nothing"}[i%6]
		framing := []string{"Content-Length: 100\r\n\r\n{\"id\"", "Transfer-Encoding: chunked\r\n\r\n6\r\n{\"id"}[i/6%2]
		request := strings.TrimSuffix(s.request(line, asJSON, ""), "\r\n") + framing
		if i%2 == 1 {
			request = strings.Replace(request, "Bearer ", "Bearer x", 1)
		}
		_, _ = io.WriteString(conns[i], request)
	}
	return conns
}

// unread opens n connections that ask for a list of a megabyte ten times and
// read nothing.
func (s *siege) unread(n int) []*net.TCPConn {
	conns := make([]*net.TCPConn, n)
	for i := range conns {
		conns[i] = s.dial()
		_ = conns[i].SetReadBuffer(4096)
		_, _ = io.WriteString(conns[i], strings.Repeat(s.request("GET /data/thing?limit=100", "", ""), 10))
	}
	return conns
}
