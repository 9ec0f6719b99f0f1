package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/store"
)

// Do does the work of an operation in Go. ctx ends with the time of its
// transaction. It may be called again where the store had to undo a run, so what
// it does elsewhere must bear that. An error undoes everything.
type Do func(ctx context.Context, t *Tx) error

// run runs the handler beside the writer, which it must not hold up for longer
// than its time: one that does not come back by then is left behind, without its
// transaction, and whoever waits for the writer is served.
func (t *Tx) run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() {
		err := errors.New("the handler ended its goroutine")
		defer func() {
			if p := recover(); p != nil {
				t.use.engine.config.Logger.Error("the handler of an operation panicked",
					"entity", t.use.ent.Name, "operation", t.use.op.Name, "panic", p, "stack", string(debug.Stack()))
				err = fmt.Errorf("the handler of operation %q panicked", t.use.op.Name)
			}
			ended <- err
		}()
		err = t.use.op.do(ctx, t)
	}()
	select {
	case err := <-ended:
		return t.end(err)
	case <-ctx.Done():
	}
	select {
	case err := <-ended: // both at once
		return t.end(err)
	default:
	}
	_ = t.end(nil)
	t.use.engine.config.Logger.Error("the handler of an operation did not end in time and is left behind; it must heed its context",
		"entity", t.use.ent.Name, "operation", t.use.op.Name)
	return fmt.Errorf("%w: the handler of operation %q", store.ErrTimeout, t.use.op.Name)
}

// end takes the transaction from the handler, waiting for a statement under way,
// and returns what is to be told of how it went.
func (t *Tx) end(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		err = t.over // a handler may not go on from a write that failed
	}
	t.over = errOver
	if f, ok := fault.Of(err); ok && t.told[f] != nil {
		if told := t.use.discreet(t.told[f], f); told != f {
			return told
		}
	}
	return err
}
