package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// defaultHeartbeat is the server's.
const defaultHeartbeat = 25 * time.Second

// errStopped ends Run when the reader of Events breaks off its loop.
var errStopped = errors.New("client: stopped")

// errSilent ends a connection on which not even a heartbeat came.
var errSilent = errors.New("client: no heartbeat")

// Stream follows a source across connections. Run it once at a time;
// Position may be read from any goroutine.
type Stream struct {
	client   *Client
	opening  opening
	http     *http.Client
	idle     time.Duration
	position atomic.Pointer[string]
	backoff  backoff
}

// Stream returns a stream of a Subscription or a Channel, which Run opens.
func (c *Client) Stream(source Source) *Stream {
	o := source.opening()
	if o.heartbeat == 0 {
		o.heartbeat = defaultHeartbeat
	}
	unbounded := *c.http
	unbounded.Timeout = 0 // it would count the life of the stream
	s := &Stream{client: c, opening: o, http: &unbounded, idle: 2*o.heartbeat + 5*time.Second}
	s.position.Store(&o.lastEventID)
	return s
}

// Subscribe follows a Subscription or a Channel in a for loop:
//
//	for event, err := range c.Subscribe(ctx, client.Subscription{Entity: "order"}) {
//
// It ends after an error, which is always the last pair; when ctx is done that
// is the cause.
func (c *Client) Subscribe(ctx context.Context, source Source) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := c.Stream(source).Run(ctx, func(ev Event) error {
			if !yield(ev, nil) {
				return errStopped
			}
			return nil
		})
		if !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}

// Position returns where the stream stands: everything up to there was handled.
// It is "" before the first event or heartbeat of a stream that began at now.
func (s *Stream) Position() string { return *s.position.Load() }

// Run calls handle with each event, in order, on the caller's goroutine, and
// reconnects for as long as that can help. It returns handle's error, the cause
// of ctx's end, a *Problem where the server refuses the stream, or an error
// that says what was not understood; it never returns nil.
func (s *Stream) Run(ctx context.Context, handle func(Event) error) error {
	for {
		err := s.connect(ctx, handle)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var retry *lostError
		if !errors.As(err, &retry) {
			return err
		}
		wait := s.backoff.wait(retry.after)
		s.client.logger.InfoContext(ctx, "stream reconnects", "of", s.opening.of,
			"reason", retry.Error(), "wait", wait, "failures", s.backoff.failures)
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// lostError is an end of a connection after which the next one may do better.
type lostError struct {
	after time.Duration // the server asks to wait at least that long
	cause error
}

func (e *lostError) Error() string { return e.cause.Error() }
func (e *lostError) Unwrap() error { return e.cause }

// connect opens one connection and reads it to its end.
func (s *Stream) connect(ctx context.Context, handle func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(s.idle, func() { cancel(errSilent) })
	defer watch.Stop()

	s.backoff.failures++ // until it is open
	body, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	s.backoff.failures = 0
	parser := newParser(&watched{body, watch, s.idle}, s.Position())
	err = s.read(parser, handle)
	if parser.retry > 0 {
		s.backoff.base = parser.retry
	}
	if silent := context.Cause(ctx); errors.Is(silent, errSilent) {
		return &lostError{cause: silent}
	}
	return err
}

// open sends the request and judges the answer.
func (s *Stream) open(ctx context.Context) (io.ReadCloser, error) {
	req, err := s.client.request(ctx, http.MethodGet, s.opening.query, nil, s.opening.route...)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Cache-Control", "no-cache")
	if position := s.Position(); position != "" {
		req.Header.Set("Last-Event-ID", position)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return nil, &lostError{cause: err}
	}
	if err := judge(resp); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp.Body, nil
}

// judge returns nil for an open stream, a lostError where another try may do
// better (5xx, 408, 429), and what is to be told to the caller otherwise.
func judge(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		problem := readProblem(resp)
		if problem.Status >= 500 || problem.Status == http.StatusTooManyRequests || problem.Status == http.StatusRequestTimeout {
			return &lostError{after: problem.RetryAfter, cause: problem}
		}
		return problem
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "text/event-stream" {
		return fmt.Errorf("client: the server answered with Content-Type %q, not with a stream: check the URL",
			resp.Header.Get("Content-Type"))
	}
	return nil
}

// read hands on the events of one connection. The position moves only when the
// handler has taken the event, so that what it did not take is sent again.
func (s *Stream) read(parser *parser, handle func(Event) error) error {
	for {
		f, err := parser.next()
		if errors.Is(err, errFrameTooLarge) {
			return err
		}
		if err != nil {
			return &lostError{cause: fmt.Errorf("connection lost: %w", err)}
		}
		switch f.kind {
		case kindPosition:
			s.position.Store(&f.id)
		case kindComment:
			if strings.HasSuffix(f.text, ", reconnect") {
				return &lostError{cause: fmt.Errorf("the server said %q", f.text)}
			}
		case kindEvent:
			ev, err := decode(f, s.opening.channel)
			if err != nil {
				return err
			}
			err = handle(ev)
			if err == nil || errors.Is(err, errStopped) {
				s.position.Store(&f.id)
			}
			if err != nil {
				return err
			}
		}
	}
}

// watched is a body whose reads are watched, and only they: a handler may take
// its time.
type watched struct {
	body  io.Reader
	timer *time.Timer
	idle  time.Duration
}

// Read implements io.Reader.
func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.idle)
	defer w.timer.Stop()
	return w.body.Read(p)
}
