package post

import (
	"context"
	"errors"
	"net/http"
	"time"
)

var (
	errLate      = errors.New("the deadline has passed")
	errCancelled = errors.New("cancelled")
)

// attempt is one POST, with up to two connections.
type attempt struct {
	poster   *Poster
	deadline time.Time
	phase    phase // it came to, where it failed
	link     *link
	stop     func() bool // the watch over the caller's context
}

// make sends the request and returns the answer's head, which is there in time:
// finish must follow. After an error nothing is left open.
func (a *attempt) make(ctx context.Context, r request) (*http.Response, error) {
	a.link = a.poster.kept.take()
	if a.link != nil {
		answer, err := a.exchange(ctx, r)
		if err == nil || a.link.got > 0 || a.over(ctx) != nil {
			return answer, err
		}
		// The receiver has closed a connection that was kept. It may have read the
		// request before: then it gets it twice, under the same id.
	}
	var err error
	if a.link, a.phase, err = a.poster.dialer.open(ctx, a.deadline); err != nil {
		return nil, a.end(ctx, err)
	}
	return a.exchange(ctx, r)
}

// exchange runs on a.link. After an error the link is closed.
func (a *attempt) exchange(ctx context.Context, r request) (*http.Response, error) {
	link := a.link
	_ = link.SetDeadline(a.deadline) // fails on a closed connection, and so does what follows
	a.stop = context.AfterFunc(ctx, func() { _ = link.SetDeadline(long) })
	answer, err := link.exchange(r)
	if err == nil && time.Now().Before(a.deadline) {
		return answer, nil
	}
	if err == nil {
		err = errLate // a process that was stopped for a while finds the answer late
	}
	a.stop()
	a.phase = link.phase()
	link.close()
	link.settle(true)
	return nil, a.end(ctx, err)
}

// over returns why the attempt is over, and nil while it is not.
func (a *attempt) over(ctx context.Context) error {
	switch {
	case !time.Now().Before(a.deadline):
		return errLate
	case ctx.Err() != nil:
		return errCancelled
	default:
		return nil
	}
}

// end returns what to tell of an attempt that failed with err: the deadline or
// the caller, where one of them brought it about.
func (a *attempt) end(ctx context.Context, err error) error {
	over := a.over(ctx)
	if over != nil && (timedOut(err) || errors.Is(err, context.Canceled)) {
		return over
	}
	return err
}

// finish reads the answer's body, and keeps the connection if it can serve again.
func (a *attempt) finish(answer *http.Response) {
	accepted := classify(answer.StatusCode) == Accepted
	ended := accepted || a.link.written == nil
	if ended {
		ended = a.link.drain(answer)
	}
	// A receiver may say 2xx and read on: it gets all. Any other answer given
	// before the request has ended makes the rest of it useless.
	whole := a.link.settle(!accepted)
	undisturbed := a.stop()
	if ended && whole && undisturbed && !answer.Close && answer.StatusCode >= 200 {
		a.poster.kept.put(a.link)
		return
	}
	a.link.close()
}
