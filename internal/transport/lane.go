package transport

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/tail"
)

// lane is one transport with its queue.
type lane struct {
	outlet    *Outlet
	name      string
	transport Transport
	wake      chan struct{}

	mu    sync.Mutex
	queue []*tail.Entry
	bytes int  // that the queue holds
	full  bool // it has dropped events since it was last empty

	working                    atomic.Bool // a Publish is under way
	published, dropped, failed atomic.Uint64
}

// offer queues the entry, or drops it.
func (l *lane) offer(e *tail.Entry) {
	w := weight(e.Row)
	l.mu.Lock()
	room := len(l.queue) == 0 || len(l.queue) < queueEvents && l.bytes+w <= queueBytes
	first := !room && !l.full
	if l.full = l.full || !room; room {
		l.queue, l.bytes = append(l.queue, e), l.bytes+w
	}
	l.mu.Unlock()
	if !room {
		l.dropped.Add(1)
		l.outlet.put(report{lane: l, entry: e, err: ErrDropped, first: first})
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *lane) take() *tail.Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.queue, l.full = nil, false
		return nil
	}
	e := l.queue[0]
	l.queue[0] = nil
	l.queue, l.bytes = l.queue[1:], l.bytes-weight(e.Row)
	return e
}

// run publishes until stop is done and the queue empty, or work is done.
func (l *lane) run(stop, work context.Context) {
	for work.Err() == nil {
		e := l.take()
		if e != nil {
			l.publish(work, e)
			continue
		}
		select {
		case <-l.wake:
		case <-stop.Done():
			if e = l.take(); e == nil {
				return
			}
			l.publish(work, e)
		}
	}
}

func (l *lane) publish(ctx context.Context, e *tail.Entry) {
	l.working.Store(true)
	defer l.working.Store(false)
	ctx, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	if err := l.attempt(ctx, l.outlet.event(e)); err != nil {
		l.failed.Add(1)
		l.outlet.put(report{lane: l, entry: e, err: err})
		return
	}
	l.published.Add(1)
}

// attempt calls the transport and contains a panic.
func (l *lane) attempt(ctx context.Context, e event.ChannelEvent) (err error) {
	defer func() {
		if p := recover(); p != nil {
			l.outlet.config.Logger.Error("a transport panicked", "transport", l.name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("transport %q panicked: %v", l.name, p)
		}
	}()
	return l.transport.Publish(ctx, e)
}
