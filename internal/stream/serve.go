package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/sse"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
)

// How long a client waits before it comes back: to any stream (contract:
// Frames), and to one whose store could not be reached.
const (
	retryAfter            = 2 * time.Second
	retryAfterUnavailable = 5 * time.Second
)

// flushAt is how many bytes gather before a write while catching up.
const flushAt = 64 << 10

// buffers lends the bytes of one write: an idle stream holds none.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// errEnded ends a stream whose last words are written.
var errEnded = errors.New("stream ended")

// connection is a Stream while it is served.
type connection struct {
	*Stream
	out   *sse.Writer
	sub   *hub.Subscriber
	end   *time.Timer
	spare [][]byte
	// resuming says that the stream has not been live yet: what it replays may
	// be old, so rows are read again.
	resuming bool
	replaced bool // the log was, since catching up looked last
}

// Serve writes the stream until the client leaves, a write fails, the lifetime
// is over or the server stops. The error is a fault (too_many_streams) while
// nothing has been written; after that it is nil.
func (st *Stream) Serve(w http.ResponseWriter, r *http.Request) error {
	limit := st.server.config.Limit
	if err := limit.Enter(st.about.Principal); err != nil {
		return err
	}
	defer limit.Leave(st.about.Principal)

	out := sse.NewWriter(w, st.server.config.WriteTimeout)
	sse.SetHeaders(w.Header(), r.ProtoMajor)
	place, err := st.begin(r.Context())
	if err != nil {
		_ = out.End(notNow())
		return nil
	}
	sub, open := st.server.config.Hub.Register(st.view, place.start, st.heartbeat)
	if !open {
		_ = out.End(farewell(nil))
		return nil
	}
	defer st.server.config.Hub.Unregister(sub)
	lifetime := st.server.lifetime(st.about.Principal, st.lifetime)
	c := &connection{Stream: st, out: out, sub: sub, end: time.NewTimer(lifetime), resuming: place.start.CatchUp}
	defer c.end.Stop()
	if err := out.Send(c.preamble(place, lifetime)); err != nil {
		return nil // the client has gone: there is nobody to tell
	}
	c.run(r.Context())
	return nil
}

// lifetime ends a stream with the credential that opened it.
func (s *Server) lifetime(pr *access.Principal, asked time.Duration) time.Duration {
	if pr.Expires.IsZero() {
		return asked
	}
	return max(0, min(asked, pr.Expires.Sub(s.config.Now())))
}

func (c *connection) preamble(place resumption, lifetime time.Duration) []byte {
	if lifetime > time.Second {
		lifetime = lifetime.Truncate(time.Second)
	}
	p := sse.AppendRetry(nil, retryAfter)
	p = append(sse.AppendComment(p, fmt.Sprintf("subscribed entity=%s %s closing-in=%s", c.about.Entity.Name, c.what(), lifetime)), '\n')
	switch {
	case place.gap != "":
		p = c.appendGap(p, place.gap, c.lastEventID, c.sub.From())
	case !place.start.CatchUp:
		p = c.appendPing(p, c.sub.From()) // docs/adr/0005: its client has no id yet
	}
	return p
}

// what names what is subscribed to. An id may be any text, and stays on its line.
func (st *Stream) what() string {
	if st.about.Channel != "" {
		return "channel=" + url.PathEscape(st.about.Channel)
	}
	return "subscription=" + st.about.Subscription
}

// appendPing appends a heartbeat of a stream that has written up to a position.
func (c *connection) appendPing(dst []byte, at store.Position) []byte {
	return sse.AppendID(sse.AppendComment(dst, "ping"), c.server.sealer.seal(at))
}

// appendGap tells that events between since and a position are lost to this
// client. The position stands in id:, else every reconnect would tell it again.
func (c *connection) appendGap(dst []byte, reason, since string, at store.Position) []byte {
	data := value.AppendString([]byte(`{"reason":"`+reason+`","since":`), since)
	return sse.AppendFrame(dst, c.server.sealer.seal(at), "stream.gap", append(data, '}'))
}

// reset tells that the log was replaced under the stream.
func (c *connection) reset(buf *[]byte, due hub.Due) {
	if due.Reset {
		c.replaced = true
		*buf = c.appendGap(*buf, gapReset, c.server.sealer.seal(due.Stood), due.Upto)
	}
}

// run is the stream's only loop.
func (c *connection) run(ctx context.Context) {
	for {
		c.sub.Rest()
		select {
		case <-ctx.Done():
			return
		case <-c.end.C:
			c.conclude()
			return
		case <-c.sub.Wake():
			if c.turn(ctx) != nil {
				return
			}
		}
	}
}

// turn writes all that has gathered, in one write.
func (c *connection) turn(ctx context.Context) error {
	buf := buffers.Get().(*[]byte)
	defer giveBack(buf)
	due := c.gather(buf)
	c.reset(buf, due)
	if due.Lagging {
		upto, err := c.catchUp(ctx, buf, due)
		if err != nil {
			return err
		}
		due.Upto = upto
	}
	return c.finish(buf, due)
}

// conclude writes what has gathered and the last words. It takes first: a round
// must not wait for a connection while that one waits for its client.
func (c *connection) conclude() {
	buf := buffers.Get().(*[]byte)
	defer giveBack(buf)
	c.gather(buf)
	_ = c.expire(buf)
}

// gather takes what is due and puts its frames into buf.
func (c *connection) gather(buf *[]byte) hub.Due {
	due := c.sub.Take(c.spare)
	c.spare = due.Frames
	for i, frame := range due.Frames {
		*buf = append(*buf, frame...)
		due.Frames[i] = nil // shared bytes must not outlive their turn
	}
	return due
}

func giveBack(buf *[]byte) {
	*buf = (*buf)[:0]
	buffers.Put(buf)
}

// finish appends heartbeat and farewell, and sends.
func (c *connection) finish(buf *[]byte, due hub.Due) error {
	if due.Ping {
		*buf = c.appendPing(*buf, due.Upto)
	}
	if due.Closing {
		return c.last(farewell(*buf))
	}
	return c.flush(buf)
}

// last writes the last words.
func (c *connection) last(words []byte) error {
	if err := c.out.End(words); err != nil {
		return err
	}
	return errEnded
}

// farewell ends a stream at shutdown; the wait spreads the clients' return.
func farewell(dst []byte) []byte {
	wait := time.Second + rand.N(4*time.Second) //nolint:gosec // it spreads load and keeps no secret
	return append(sse.AppendComment(sse.AppendRetry(dst, wait), "closing, reconnect"), '\n')
}

// notNow answers while the store cannot be reached: an EventSource gives up on
// any status but 200.
func notNow() []byte {
	return append(sse.AppendComment(sse.AppendRetry(nil, retryAfterUnavailable), "store unavailable, reconnect"), '\n')
}
