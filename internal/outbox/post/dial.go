package post

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// phase is how far an attempt has come, in the words of an error.
type phase string

const (
	resolving  phase = "resolving the name"
	connecting phase = "connecting"
	greeting   phase = "in the TLS handshake"
	sending    phase = "sending the request"
	waiting    phase = "waiting for the answer"
	reading    phase = "reading the answer's head"
)

// dialer opens connections to one address.
type dialer struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	addr string
	tls  *tls.Config // nil: plain HTTP
}

// open returns a connection that is ready for a request, TLS included. at is the
// phase it came to.
func (d dialer) open(ctx context.Context, deadline time.Time) (l *link, at phase, err error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	var looking atomic.Bool // both families are tried at once
	trace := &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { looking.Store(true) },
		ConnectStart: func(string, string) { looking.Store(false) },
	}
	plain, err := d.dial(httptrace.WithClientTrace(ctx, trace), "tcp", d.addr)
	if err != nil {
		if looking.Load() {
			return nil, resolving, err
		}
		return nil, connecting, err
	}
	if d.tls == nil {
		return newLink(plain, plain), sending, nil
	}
	secure := tls.Client(plain, d.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = plain.Close() // the handshake's error is the one to tell
		return nil, greeting, err
	}
	return newLink(secure, plain), sending, nil
}
