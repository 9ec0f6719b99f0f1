package stream

import (
	"context"
	"errors"
	"time"

	"github.com/rowcast/rowcast/internal/hub"
	"github.com/rowcast/rowcast/internal/sse"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
)

// Waits between attempts to read the log.
const (
	minReread = 50 * time.Millisecond
	maxReread = time.Second
)

// catchUp writes from the log, through the very same checks as live, until the
// stream has rejoined it, and returns the position it then stands at. buf holds
// what is to be written first.
func (c *connection) catchUp(ctx context.Context, buf *[]byte, due hub.Due) (store.Position, error) {
	at, since := due.After, ""
	if c.resuming {
		since = c.lastEventID
	}
	// The hub knows what it was given since the server started; where the log
	// stood then, only the tail knows.
	least := c.server.config.Tail.Delivered().Seq
	for {
		page, err := c.page(ctx, buf, &at)
		switch {
		case errors.Is(err, tail.ErrExpired):
			if since == "" {
				since = c.server.sealer.seal(at)
			}
			at = c.server.config.Tail.Horizon()
			*buf = c.appendGap(*buf, gapExpired, since, at)
		case err != nil:
			return at, err
		default:
			if err := c.replay(buf, page); err != nil {
				return at, err
			}
			if page.Upto.Seq >= at.Seq {
				at, since = page.Upto, ""
			}
		}
		if c.replaced {
			least, c.replaced = at.Seq, false // it counted in the old log
		}
		if at.Seq >= least && c.sub.Rejoin(at) {
			c.resuming = false
			return at, nil
		}
		if err := c.between(ctx, buf, &at); err != nil {
			return at, err
		}
	}
}

func (c *connection) replay(buf *[]byte, page tail.Page) error {
	told := 0
	for _, e := range page.Entries {
		switch verdict := c.view.Judge(e); verdict {
		case hub.Nothing:
		case hub.Failed:
			c.sub.Failed()
		default:
			*buf = append(*buf, c.view.Frame(e, verdict)...)
			told++
		}
		if len(*buf) >= flushAt {
			if err := c.flush(buf); err != nil {
				return err
			}
		}
	}
	c.sub.Replayed(told)
	return nil
}

// expire says the last words and ends the stream.
func (c *connection) expire(buf *[]byte) error {
	return c.last(append(sse.AppendComment(*buf, "closing, reconnect"), '\n'))
}

func (c *connection) flush(buf *[]byte) error {
	if len(*buf) == 0 {
		return nil
	}
	err := c.out.Send(*buf)
	*buf = (*buf)[:0]
	return err
}

// between looks up from the log: has the stream ended, is a heartbeat due, was
// the log replaced? Then it goes on at another place.
func (c *connection) between(ctx context.Context, buf *[]byte, at *store.Position) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.end.C:
		return c.expire(buf)
	default:
	}
	due := c.sub.Take(nil)
	if c.reset(buf, due); due.Reset {
		*at = due.Upto
	}
	due.Upto = *at
	return c.finish(buf, due)
}

// page reads a page, trying again while the store cannot be read, for as long
// as a stream bears it. What has gathered is written before the first wait.
func (c *connection) page(ctx context.Context, buf *[]byte, at *store.Position) (tail.Page, error) {
	wait, since := minReread, c.server.config.Now()
	for {
		page, err := c.server.config.Tail.Page(ctx, at.Seq, !c.resuming)
		if err == nil || errors.Is(err, tail.ErrExpired) {
			return page, err
		}
		if wait == minReread { // once an outage, for there may be thousands of streams
			c.server.config.Logger.Warn("stream cannot read the log, trying again", "err", err, "entity", c.about.Entity.Name)
		}
		if c.server.config.Now().Sub(since) >= c.server.config.Patience {
			return page, c.expire(buf)
		}
		if err := c.flush(buf); err != nil {
			return page, err
		}
		if err := c.pause(ctx, buf, at, wait); err != nil {
			return page, err
		}
		wait = min(2*wait, maxReread)
	}
}

func (c *connection) pause(ctx context.Context, buf *[]byte, at *store.Position, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return c.between(ctx, buf, at)
	}
}
