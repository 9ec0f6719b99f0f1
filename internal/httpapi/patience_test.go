package httpapi_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
)

// patient serves with little patience, and a route with a long answer.
func patient(t *testing.T, l httpapi.Limits) string {
	t.Helper()
	s := serve(t, httpapi.Config{
		Limits:    l,
		Subscribe: func(http.ResponseWriter, *http.Request, *access.Principal, bool) { t.Error("a stream was opened") },
		Routes: []httpapi.Route{{Method: "GET", Pattern: "/long", Handler: func(w http.ResponseWriter, _ *http.Request, _ *access.Principal) error {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 64<<20))
			return nil
		}}},
	})
	return s.Listener.Addr().String()
}

// Whatever is refused without a look at its body is refused in time, also where
// the body never comes.
func TestARefusalDoesNotWaitForABodyThatNeverComes(t *testing.T) {
	address := patient(t, httpapi.Limits{BodyTime: 50 * time.Millisecond})
	for line, code := range map[string]string{
		"POST /data/order HTTP/1.1\r\nHost: x":                                  "unauthenticated",
		"POST /data/order HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann":     "entity_not_found",
		"POST /nothing HTTP/1.1\r\nHost: x":                                     "route_not_found",
		"GET /subscribe/order HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ann": "malformed_body",
	} {
		for _, framing := range []string{"Content-Length: 10\r\n\r\n", "Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\n123"} {
			t.Run(code+" "+framing, func(t *testing.T) {
				t.Parallel()
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = conn.Close() }()
				_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
				_, _ = io.WriteString(conn, line+"\r\n"+framing)
				said, err := io.ReadAll(conn) // to its end: nothing on this connection can be trusted to be a request
				if err != nil || !strings.Contains(string(said), `"code":"`+code+`"`) {
					t.Errorf("%v, %.300q", err, said)
				}
			})
		}
	}
}

// A client that asks for much and reads nothing is hung up on; one that reads
// slowly, but reads, gets the whole.
func TestAnAnswerWaitsForItsReaderOnlySoLong(t *testing.T) {
	const within = time.Second // long for a busy machine to be quick enough
	address := patient(t, httpapi.Limits{ReplyTime: within})
	ask := func() net.Conn {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		_, _ = io.WriteString(conn, "GET /long HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		return conn
	}
	idle, slow := ask(), ask()
	begun := time.Now()
	read := 0
	for part := make([]byte, 256<<10); ; {
		n, err := slow.Read(part)
		read += n
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the slow reader is hung up on after %d bytes: %v", read, err)
		}
		if time.Since(begun) < 2*within {
			<-time.After(within / 50)
		}
	}
	if read < 64<<20 || time.Since(begun) < within {
		t.Errorf("the slow reader got %d bytes in %s", read, time.Since(begun))
	}
	<-time.After(within)
	if n, _ := io.Copy(io.Discard, idle); n >= 64<<20 {
		t.Error("who read nothing for long was waited for")
	}
}
