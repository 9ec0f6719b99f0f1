package httpapi

import (
	"net/http"
	"time"

	"github.com/rowcast/rowcast/fault"
)

// replyPart is how much of an answer a client is given Limits.ReplyTime for. A
// slow line gets the whole of a long answer; a client that reads nothing is
// hung up on.
const replyPart = 64 << 10

// bound gives the body its time from the start, whether a handler reads it or
// not: net/http reads the rest of a body before it sends an answer, also a
// refusal that never looked at it, and would wait for it for ever. It lifts the
// deadline itself once the body is whole, so that it does not bound the answer.
// Where there is no connection to guard, as under a recorder, nothing happens.
func (c *call) bound() {
	if c.req.ContentLength != 0 {
		_ = http.NewResponseController(c.ResponseWriter).SetReadDeadline(time.Now().Add(c.api.config.Limits.BodyTime))
	}
}

// hurry gives the client its time for the next part of the answer. net/http
// lifts the deadline when the answer is out.
func (c *call) hurry() {
	_ = http.NewResponseController(c.ResponseWriter).SetWriteDeadline(time.Now().Add(c.api.config.Limits.ReplyTime))
}

// write writes p part by part, so that none waits for its reader for ever.
func (c *call) write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var took int
		c.hurry()
		took, err = c.ResponseWriter.Write(p[:min(len(p), replyPart)])
		n, p = n+took, p[took:]
	}
	return n, err
}

// handOver gives a stream its connection. A stream is a read that goes on: with
// the cookie, a page of another site must not even open it. A body is refused:
// while one is to come, net/http neither sends the preamble nor sees the client leave.
func handOver(open StreamHandler) handler {
	return func(c *call) error {
		if c.fromCookie && !c.api.origin.read(c.req) {
			return fault.New(fault.CrossOrigin, "a page of another origin opened this stream with the session cookie; list the origin under cors.origins")
		}
		if c.req.ContentLength != 0 {
			return fault.New(fault.MalformedBody, "a stream is opened without a body")
		}
		c.hurry() // for a refusal; a stream has deadlines of its own
		defer c.hurry()
		open(c.ResponseWriter, c.req, c.principal, c.fromCookie)
		return nil
	}
}
