package pgtest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Run is a statement that a client is about to run.
type Run struct {
	SQL  string
	Args [][]byte // as they are sent: texts as they are, the rest mostly binary
	// Earlier is what the same transaction has run before, in order.
	Earlier []Run
}

// link is one connection through a Proxy.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	lost           atomic.Bool // half open
}

// forth passes on what the client sends, message by message.
func (l *link) forth() {
	defer l.leave()
	in := bufio.NewReaderSize(l.client, 64<<10)
	said := conversation{prepared: map[string]string{}}
	waiting, err := startup(in)
	if err != nil {
		return
	}
	for {
		if in.Buffered() == 0 && len(waiting) > 0 {
			if !l.pass(l.server, waiting) {
				return
			}
			waiting = waiting[:0]
		}
		m, err := message(in)
		if err != nil {
			return
		}
		if run, runs := said.hear(m); runs {
			if s := l.proxy.stop(run); s != nil {
				if !l.pass(l.server, waiting) || !l.wait(s) {
					return
				}
				waiting = waiting[:0]
			}
		}
		waiting = append(waiting, m...)
	}
}

// back passes on what the server answers.
func (l *link) back() {
	defer l.leave()
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		if err != nil || !l.pass(l.client, buf[:n]) {
			return
		}
	}
}

// pass sends after the delay; false where the connection is over.
func (l *link) pass(to net.Conn, b []byte) bool {
	if d := time.Duration(l.proxy.delay.Load()); d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.proxy.closing:
			return false
		}
	}
	if l.lost.Load() {
		return true
	}
	_, err := to.Write(b)
	return err == nil
}

// wait stays in a stop.
func (l *link) wait(s *Stop) bool {
	close(s.reached)
	select {
	case v := <-s.verdict:
		if v == breakIt {
			l.reset()
		}
		return v == goOn
	case <-l.proxy.closing:
		return false
	}
}

// leave ends both sides, unless neither may know of the other.
func (l *link) leave() {
	if l.lost.Load() {
		return
	}
	l.end()
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	delete(l.proxy.links, l)
}

func (l *link) reset() {
	if tcp, ok := l.client.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	l.end()
}

func (l *link) end() { _, _ = l.client.Close(), l.server.Close() }

// startup reads the first message, which has no type.
func startup(in *bufio.Reader) ([]byte, error) { return sized(in, 0) }

// message reads one message, whole.
func message(in *bufio.Reader) ([]byte, error) { return sized(in, 1) }

// sized reads a message whose length stands after some bytes, and counts itself.
func sized(in *bufio.Reader, before int) ([]byte, error) {
	head, err := in.Peek(before + 4)
	if err != nil {
		return nil, err
	}
	m := make([]byte, before+int(binary.BigEndian.Uint32(head[before:])))
	_, err = io.ReadFull(in, m)
	return m, err
}

// conversation knows what a client's messages mean together.
type conversation struct {
	prepared map[string]string // SQL by name
	begun    bool              // a transaction is open
	earlier  []Run             // of it
}

// hear takes a message and reports what it runs.
func (c *conversation) hear(m []byte) (Run, bool) {
	var r Run
	switch body := m[5:]; m[0] {
	case 'P':
		var parse pgproto3.Parse
		if parse.Decode(body) == nil {
			c.prepared[parse.Name] = parse.Query
		}
		return r, false
	case 'B':
		var bind pgproto3.Bind
		if bind.Decode(body) != nil {
			return r, false
		}
		r = Run{SQL: c.prepared[bind.PreparedStatement], Args: bind.Parameters}
	case 'Q':
		var query pgproto3.Query
		if query.Decode(body) != nil {
			return r, false
		}
		r = Run{SQL: query.String}
	default:
		return r, false
	}
	r.Earlier = c.earlier
	switch verb, rest, _ := strings.Cut(strings.ToUpper(r.SQL), " "); {
	case verb == "BEGIN":
		c.begun, c.earlier = true, nil
	case verb == "COMMIT", verb == "ROLLBACK" && !strings.HasPrefix(rest, "TO"):
		c.begun, c.earlier = false, nil
	case c.begun:
		c.earlier = append(slices.Clone(c.earlier), Run{SQL: r.SQL, Args: r.Args})
	}
	return r, true
}
