package post

import (
	"bytes"
	"encoding/base64"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/webhook"
)

// ofTheRequest are the headers that frame a request or steer its connection: a
// target's own would make it mean something else.
var ofTheRequest = []string{
	"Host", "Content-Type", "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Expect",
	"Connection", "Keep-Alive", "Proxy-Connection", "Upgrade",
}

// head writes the heads of requests to one URL.
type head struct {
	fixed []byte // request line and the headers that are always alike
}

func newHead(u *url.URL, own http.Header, userAgent string) head {
	h := http.Header{"User-Agent": {userAgent}}
	if u.User != nil {
		password, _ := u.User.Password()
		credentials := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
		h.Set("Authorization", "Basic "+credentials)
	}
	for name, values := range own {
		h[http.CanonicalHeaderKey(name)] = values
	}
	for _, name := range ofTheRequest {
		h.Del(name)
	}
	for name := range h {
		if strings.HasPrefix(name, "X-Kisai-") || strings.HasPrefix(name, "Webhook-") {
			h.Del(name) // SetHeaders has them
		}
	}
	h.Set("Content-Type", "application/json")
	var b bytes.Buffer
	b.WriteString("POST " + u.RequestURI() + " HTTP/1.1\r\nHost: " + hostHeader(u) + "\r\n")
	_ = h.Write(&b) // a buffer takes all; line breaks in values become blanks
	return head{fixed: b.Bytes()}
}

// hostHeader returns the host as the Host header names it: without a zone, which
// means something on this machine alone, and without an empty port.
func hostHeader(u *url.URL) string {
	host := strings.TrimSuffix(u.Host, ":")
	if from := strings.LastIndexByte(host, '%'); from >= 0 && strings.HasPrefix(host, "[") {
		if to := strings.LastIndexByte(host, ']'); to > from {
			host = host[:from] + host[to:]
		}
	}
	return host
}

// hostPort returns what is dialled.
func hostPort(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// together is up to how many bytes of body are copied behind the head, and
// written with it at once. What is longer than any socket's buffer cannot be.
const together = 16 << 10

// request is one request as it goes over the wire: first, then rest.
type request struct {
	first *bytes.Buffer
	rest  []byte // the body, where it is not within first
}

// buffers holds what release gave back.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// request writes and signs the request for one attempt.
func (h head) request(d *store.Delivery, secrets []string, at time.Time) request {
	signed := make(http.Header, 8)
	webhook.SetHeaders(signed, webhook.Delivery{ID: d.ID, Topic: d.Topic, Event: d.Event}, secrets, at, d.Body)
	b := buffers.Get().(*bytes.Buffer) // nothing else is put there
	b.Reset()
	b.Write(h.fixed)
	_ = signed.Write(b) // a buffer takes all
	b.WriteString("Content-Length: ")
	b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(len(d.Body)), 10))
	b.WriteString("\r\n\r\n")
	if len(d.Body) > together {
		return request{first: b, rest: d.Body}
	}
	b.Write(d.Body)
	return request{first: b}
}

// release gives the buffer back; nobody may be writing it any more.
func (r request) release() { buffers.Put(r.first) }
