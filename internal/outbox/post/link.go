package post

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

const (
	headLimit = 64 << 10 // of an answer's head, interim answers included
	bodyLimit = 4 << 10  // of an answer's body
	// frameLimit bounds what a body of bodyLimit may take on the wire with the
	// sizes and extensions of its chunks.
	frameLimit   = 4 * bodyLimit
	interimLimit = 16 // 1xx answers before the final one
)

var (
	errLongHead = errors.New("the answer's head is longer than 64 KiB")
	errInterim  = errors.New("too many interim answers (1xx)")
	errNotHTTP  = errors.New("the answer is no valid HTTP/1.x")
	errNoAnswer = errors.New("the connection was closed without an answer")
	errCutHead  = errors.New("the connection was closed within the answer's head")
)

// long lies in the past: a deadline that ends reads and writes at once.
var long = time.Unix(1, 0)

// asked is the request that answers are parsed for: one to a POST.
var asked = &http.Request{Method: http.MethodPost}

// link is a connection with what was read ahead of it. It belongs to one attempt
// at a time.
type link struct {
	net.Conn          // plain, or TLS over plain
	plain    net.Conn // for a look at what lies there unread
	in       *bufio.Reader
	since    time.Time // when it was put back

	// Of the exchange that runs, or ran last:
	left    int        // bytes that may still be read
	got     int        // bytes read
	readErr error      // of the last read that failed
	written chan error // what became of a write that runs beside; nil: none does
	sent    error      // what became of the write that is over
}

func newLink(conn, plain net.Conn) *link {
	l := &link{Conn: conn, plain: plain}
	l.in = bufio.NewReader(metered{l})
	return l
}

// metered reads no more of a link than it has left.
type metered struct{ *link }

func (m metered) Read(b []byte) (int, error) {
	switch {
	case m.readErr != nil:
		return 0, m.readErr // a reset is told once, and then is an end
	case m.left <= 0:
		return 0, errLongHead
	}
	n, err := m.Conn.Read(b[:min(len(b), m.left)])
	m.left -= n
	m.got += n
	m.readErr = err
	return n, err
}

// spoiled reports whether a kept connection is closed, or has said something
// that nobody asked for: the answer to the next request would be in doubt.
func (l *link) spoiled() bool {
	if l.in.Buffered() > 0 || readable(l.plain) {
		return true
	}
	if l.Conn == l.plain {
		return false
	}
	// TLS may have decrypted more than was read. A read that is late from its
	// beginning takes that, and nothing from below.
	var b [1]byte
	_ = l.SetReadDeadline(long) // fails on a closed connection, and so does Read
	n, err := l.Read(b[:])
	return n > 0 || !errors.Is(err, os.ErrDeadlineExceeded)
}

// close ends the connection at once.
func (l *link) close() { _ = l.plain.Close() } // nothing depends on it any more

// leave ends a connection in good order: TLS says so.
func (l *link) leave() { _ = l.Close() } // nothing depends on it any more

// exchange sends the request and returns the final answer's head. A body that is
// not within r.first is written while the answer is awaited, for a receiver may answer
// before it has read all: settle must follow. After an error the link is closed.
func (l *link) exchange(r request) (*http.Response, error) {
	l.left, l.got, l.readErr, l.sent = headLimit, 0, nil, nil
	if r.rest == nil {
		_, l.sent = l.Write(r.first.Bytes())
	} else {
		l.written = make(chan error, 1)
		go func() { l.written <- l.send(r) }()
	}
	answer, err := l.await()
	if err == nil {
		return answer, nil
	}
	select {
	case l.sent = <-l.written:
		l.written = nil
	default: // none runs beside, or it has not ended
	}
	l.close()
	return nil, l.blame(err)
}

func (l *link) send(r request) error {
	if _, err := l.Write(r.first.Bytes()); err != nil {
		return err
	}
	_, err := l.Write(r.rest)
	return err
}

// settle waits for the write, and reports whether the whole request was sent. at
// once: what is not sent yet need not be.
func (l *link) settle(atOnce bool) bool {
	if l.written != nil {
		if atOnce {
			l.close()
		}
		l.sent, l.written = <-l.written, nil
	}
	return l.sent == nil
}

// await reads heads until the final one.
func (l *link) await() (*http.Response, error) {
	for range interimLimit + 1 {
		if begin, _ := l.in.Peek(len("HTTP/")); string(begin) != "HTTP/"[:len(begin)] {
			return nil, errNotHTTP
		}
		answer, err := http.ReadResponse(l.in, asked)
		switch {
		case err != nil:
			return nil, err
		case answer.ProtoMajor != 1 || answer.StatusCode < 100:
			return nil, errNotHTTP
		case answer.StatusCode >= 200 || answer.StatusCode == http.StatusSwitchingProtocols:
			return answer, nil
		}
	}
	return nil, errInterim
}

// phase says how far an exchange that failed has come.
func (l *link) phase() phase {
	switch {
	case l.got > 0:
		return reading
	case l.written != nil || timedOut(l.sent):
		return sending
	default:
		return waiting
	}
}

// blame returns what to tell of an exchange that failed with err: what the
// connection said, where it ended, rather than what the parser made of it.
func (l *link) blame(err error) error {
	switch {
	case errors.Is(err, errNotHTTP), errors.Is(err, errInterim):
		return err
	case l.left <= 0:
		return errLongHead
	case l.readErr == nil:
		return errNotHTTP
	case !errors.Is(l.readErr, io.EOF):
		return l.readErr
	case l.got > 0:
		return errCutHead
	case l.sent != nil:
		return l.sent
	default:
		return errNoAnswer
	}
}

// drain reads the body, as far as it is read at all. It reports whether the
// answer ended there, and nothing came behind it.
func (l *link) drain(answer *http.Response) bool {
	if answer.ContentLength > bodyLimit {
		return false
	}
	l.left = frameLimit
	_, err := io.CopyN(io.Discard, answer.Body, bodyLimit+1)
	return errors.Is(err, io.EOF) && l.in.Buffered() == 0
}
