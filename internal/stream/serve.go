package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

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
}

// Serve writes the stream until the client leaves, a write fails, the lifetime
// is over or the server stops. The error is a fault (too_many_streams) while
// nothing has been written; after that it is nil.
func (st *Stream) Serve(w http.ResponseWriter, r *http.Request) error {
	limit := st.server.config.Limit
	if err := limit.Enter(st.view.Principal); err != nil {
		return err
	}
	defer limit.Leave(st.view.Principal)

	out := sse.NewWriter(w, st.server.config.WriteTimeout)
	sse.SetHeaders(w.Header(), r.ProtoMajor)
	place, err := st.resume(r.Context())
	if st.unavailable || err != nil {
		_ = out.Send(notNow())
		return nil
	}
	sub, open := st.server.config.Hub.Register(st.view, place.start, st.heartbeat)
	if !open {
		_ = out.Send(farewell(nil))
		return nil
	}
	defer st.server.config.Hub.Unregister(sub)
	c := &connection{Stream: st, out: out, sub: sub, end: time.NewTimer(st.lifetime), resuming: place.start.CatchUp}
	defer c.end.Stop()
	if err := out.Send(c.preamble(place)); err != nil {
		return nil
	}
	c.run(r.Context())
	return nil
}

func (c *connection) preamble(place resumption) []byte {
	closing := c.lifetime
	if closing > time.Second {
		closing = closing.Truncate(time.Second)
	}
	p := sse.AppendRetry(nil, retryAfter)
	p = append(sse.AppendComment(p, fmt.Sprintf("subscribed entity=%s subscription=%s closing-in=%s",
		c.view.Entity.Name, c.view.Subscription.Name, closing)), '\n')
	if place.gap != "" {
		p = c.appendGap(p, place.gap, c.lastEventID, place.start.From)
	}
	return p
}

// appendGap tells that events between since and a position are lost to this
// client. The position stands in id:, else every reconnect would tell it again.
func (c *connection) appendGap(dst []byte, reason, since string, at store.Position) []byte {
	data := value.AppendString([]byte(`{"reason":"`+reason+`","since":`), since)
	return sse.AppendFrame(dst, c.server.sealer.seal(at), "stream.gap", append(data, '}'))
}

// run is the stream's only loop.
func (c *connection) run(ctx context.Context) {
	for {
		c.sub.Rest()
		select {
		case <-ctx.Done():
			return
		case <-c.end.C:
			_ = c.out.Send(append(sse.AppendComment(nil, "closing, reconnect"), '\n'))
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
	due := c.sub.Take(c.spare)
	c.spare = due.Frames
	buf := buffers.Get().(*[]byte)
	defer func() { *buf = (*buf)[:0]; buffers.Put(buf) }()
	for i, frame := range due.Frames {
		*buf = append(*buf, frame...)
		due.Frames[i] = nil // shared bytes must not outlive their turn
	}
	if due.Lagging {
		upto, err := c.catchUp(ctx, buf, due)
		if err != nil {
			return err
		}
		due.Upto = upto
	}
	return c.finish(buf, due)
}

// finish appends heartbeat and farewell, and sends.
func (c *connection) finish(buf *[]byte, due hub.Due) error {
	if due.Ping {
		*buf = sse.AppendComment(*buf, "ping")
		*buf = sse.AppendID(*buf, c.server.sealer.seal(due.Upto))
	}
	if due.Closing {
		*buf = farewell(*buf)
	}
	if len(*buf) > 0 {
		if err := c.out.Send(*buf); err != nil {
			return err
		}
		*buf = (*buf)[:0]
	}
	if due.Closing {
		return errEnded
	}
	return nil
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
