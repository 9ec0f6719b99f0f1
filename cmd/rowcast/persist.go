package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rowcast/rowcast/client"
)

// answerTime bounds one request: a server that hangs is one that does not answer.
const answerTime = time.Minute

// persistence tries requests again while the server cannot be reached, or says
// that it may do better later.
type persistence struct {
	limit  time.Duration // how long
	repeat bool          // a request whose answer was lost may be sent again
	note   func(format string, args ...any)
}

// try makes a request until it is answered for good.
func (p persistence) try(ctx context.Context, request func(context.Context) error) error {
	deadline := time.Now().Add(p.limit)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 10*time.Second) {
		one, cancel := context.WithTimeout(ctx, answerTime)
		err := request(one)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return errInterrupted
		case !p.again(err):
			return err
		}
		pause := wait
		if problem := (*client.Problem)(nil); errors.As(err, &problem) && problem.RetryAfter > pause {
			pause = problem.RetryAfter
		}
		if time.Now().Add(pause).After(deadline) {
			return fmt.Errorf("tried for %s: %w", p.limit, err)
		}
		p.note("%v: trying again in %s", err, pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errInterrupted
		}
	}
}

// errInterrupted is the end that the user asked for.
var errInterrupted = errors.New("interrupted")

// again reports whether the request may be made again.
func (p persistence) again(err error) bool {
	var problem *client.Problem
	if !errors.As(err, &problem) {
		dial := (*net.OpError)(nil)
		return p.repeat || errors.As(err, &dial) && dial.Op == "dial"
	}
	switch problem.Status {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable:
		return p.repeat || !strings.Contains(problem.Detail, "may stand")
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return p.repeat && len(problem.Rows()) == 0
	case http.StatusConflict: // the same request is being answered
		return p.repeat && len(problem.Rows()) == 0
	default:
		return false
	}
}
