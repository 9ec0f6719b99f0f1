package hostile

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// open begins a stream on a bare connection and reads until its preamble is there.
func (s *siege) open(request string) (*net.TCPConn, *bufio.Reader) {
	s.t.Helper()
	conn := s.dial()
	if _, err := io.WriteString(conn, request); err != nil {
		s.t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			s.t.Fatalf("no preamble comes to %.100q: %v", request, err)
		}
		if strings.HasPrefix(line, ": subscribed ") {
			return conn, r
		}
	}
}

const stream = "GET /subscribe/thing?name=rows&heartbeat=1s"

// However a client goes away, its stream goes with it, at the latest when the
// next heartbeat cannot be written.
func TestClientsThatGoAway(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for name, leave := range map[string]func(*net.TCPConn){
		"closes":                    func(c *net.TCPConn) { _ = c.Close() },
		"resets":                    func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
		"shuts its side for writes": func(c *net.TCPConn) { _ = c.CloseWrite() },
		"shuts its side for reads":  func(c *net.TCPConn) { _ = c.CloseRead(); _ = c.Close() },
		"asks for more, then goes":  func(c *net.TCPConn) { _, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\n"); _ = c.Close() },
		"sends rubbish, then goes":  func(c *net.TCPConn) { _, _ = c.Write(make([]byte, 1<<20)); _ = c.Close() },
	} {
		for how, request := range map[string]string{
			"HTTP/1.1":      s.request(stream, "", ""),
			"HTTP/1.0":      strings.Replace(s.request(stream, "", ""), "HTTP/1.1", "HTTP/1.0", 1),
			"an empty body": s.request(stream, "Content-Length: 0\r\n", ""),
		} {
			conn, _ := s.open(request)
			t.Logf("%s, %s: %s", conn.LocalAddr(), name, how)
			leave(conn)
		}
	}
	s.gone(3 * soon)
	s.unharmed()
}

// A client may say that it will send no more: the server takes that for its
// leave, and ends the stream as a stream ends, not by a reset.
func TestAHalfClosedStreamEnds(t *testing.T) {
	s := besiege(t, servertest.Options{})
	conn, r := s.open(s.request(stream, "", ""))
	_ = conn.CloseWrite()
	if rest, err := io.ReadAll(r); err != nil {
		t.Errorf("the stream ends with %v after %q", err, rest)
	}
	s.unharmed()
}

// What is sent behind a request for a stream waits for the end of the stream,
// and is answered then; nothing of it reaches the stream.
func TestRequestsBehindAStream(t *testing.T) {
	s := besiege(t, servertest.Options{})
	conn := s.dial()
	first := s.request(stream+"&lifetime=1s", "", "")
	behind := s.request("POST /data/thing", asJSON, `{"id":"behind"`) + s.request("GET /data/thing/seed", "Connection: close\r\n", "")
	_, _ = io.WriteString(conn, first+behind)
	r := bufio.NewReader(conn)
	a := s.read(r, false)
	if a.Status != 200 || !strings.HasSuffix(a.Body, ": closing, reconnect\n\n") {
		t.Errorf("the stream is %d %q", a.Status, a.Body)
	}
	s.read(r, false).refused(t, "the truncated write behind", 400, "malformed_body")
	if a := s.read(r, false); a.Status != 200 || !strings.Contains(a.Body, `"id":"seed"`) {
		t.Errorf("the read behind is %d %q", a.Status, a.Body)
	}
	s.unharmed()
}

// HTTP/1.0 has no chunks: its stream is bare and ends with the connection.
func TestAStreamForHTTP10(t *testing.T) {
	s := besiege(t, servertest.Options{})
	conn := s.dial()
	_, _ = io.WriteString(conn, strings.Replace(s.request(stream+"&lifetime=1s", "", ""), "HTTP/1.1", "HTTP/1.0", 1))
	all, err := io.ReadAll(conn)
	_, body, _ := strings.Cut(string(all), "\r\n\r\n")
	if err != nil || !strings.HasPrefix(body, "retry: 2000\n: subscribed ") || !strings.HasSuffix(body, ": closing, reconnect\n\n") {
		t.Errorf("%v %q", err, all)
	}
	s.unharmed()
}

// Trailers are no headers: they carry no credential and no precondition.
func TestTrailersAreNotBelieved(t *testing.T) {
	s := besiege(t, servertest.Options{})
	body := "d\r\n{\"id\":\"trail\"}\r\n0\r\nAuthorization: Bearer " + s.Token("ann") + "\r\n\r\n"
	s.send("POST /data/thing HTTP/1.1\r\nHost: localhost\r\n"+asJSON+"Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n"+body).refused(t, "a credential behind", 401, "unauthenticated")
	long := "2\r\n{}\r\n0\r\n" + strings.Repeat("A: b\r\n", 50000) + "\r\n"
	if a := s.send(s.request("POST /data/thing", asJSON+"Transfer-Encoding: chunked\r\n", "") + long); a.Status != 400 && a.Status != 422 {
		t.Errorf("a flood of trailers: %d %s", a.Status, a.Body)
	}
	s.unharmed()
}

// Connections that are opened and never used, and callers that hang up in the
// middle of their own answer, leave nothing.
func TestConnectionsWithoutARequest(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for i := range 300 {
		conn := s.dial()
		if i%3 == 1 {
			_, _ = io.WriteString(conn, s.request("GET /data/thing", "", ""))
		}
		if i%3 == 2 {
			_, _ = io.WriteString(conn, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03") // TLS to a plain port
		}
		if i%2 == 0 {
			_ = conn.SetLinger(0)
		}
		_ = conn.Close()
	}
	s.unharmed()
}

// A stream has no body: one that is announced is refused, whether it comes or not.
func TestAStreamWithABody(t *testing.T) {
	s := besiege(t, servertest.Options{})
	for _, request := range []string{
		s.request(stream, asJSON, "{}"),
		s.request(stream, "Transfer-Encoding: chunked\r\n", "") + "2\r\n{}\r\n0\r\n\r\n",
		s.request(stream, "Content-Length: 10\r\nExpect: 100-continue\r\n", ""),
		s.request(stream, "Content-Length: 10\r\nConnection: close\r\n", ""),
	} {
		s.send(request).refused(t, request, 400, "malformed_body")
	}
	s.unharmed()
}
