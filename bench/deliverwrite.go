package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// bulkWriter writes rows in bulk, many at a time, no further ahead of the receiver
// than it is allowed.
type bulkWriter struct {
	delivering *delivering
	ahead      int64
	body       []byte

	rows      atomic.Int64 // written
	delivered atomic.Int64 // as seen last
	most      atomic.Int64 // outstanding
	cancel    context.CancelFunc
	running   sync.WaitGroup
	once      sync.Once
	err       error // the first; once stop has returned
}

// write starts writers; stop ends them.
func (s *delivering) write(ctx context.Context, ahead int) *bulkWriter {
	ctx, cancel := context.WithCancel(ctx)
	w := &bulkWriter{delivering: s, ahead: int64(ahead), body: bulkBody(deliverRows), cancel: cancel}
	for range deliverWriters {
		w.running.Go(func() { w.fail(w.run(ctx)) })
	}
	w.running.Go(func() { w.fail(w.watch(ctx)) })
	return w
}

// fail keeps the first error, and ends the others. That it was ended is none.
func (w *bulkWriter) fail(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		w.once.Do(func() { w.err = err })
		w.cancel()
	}
}

// stop ends the writers, and returns how many rows they have written.
func (w *bulkWriter) stop() int {
	w.cancel()
	w.running.Wait()
	return int(w.rows.Load())
}

// outstanding is the most that was.
func (w *bulkWriter) outstanding() int { return int(w.most.Load()) }

// run writes until ctx is done. It holds back what would be too far ahead.
func (w *bulkWriter) run(ctx context.Context) error {
	conn, err := drive.Dial(ctx, w.delivering.addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	credential, step := token("writer"), int64(deliverRows*len(w.delivering.targets))
	for ctx.Err() == nil {
		if w.ahead > 0 && w.open()+step > w.ahead {
			if err := wait(ctx, time.Millisecond); err != nil {
				return err
			}
			continue
		}
		if _, err := conn.Post("/data/told/bulk", credential, w.body); err != nil {
			return err
		}
		w.rows.Add(deliverRows)
	}
	return nil
}

// open is how many deliveries are outstanding.
func (w *bulkWriter) open() int64 {
	return w.rows.Load()*int64(len(w.delivering.targets)) - w.delivered.Load()
}

// watch asks the receiver how far it is.
func (w *bulkWriter) watch(ctx context.Context) error {
	before, err := w.delivering.receiver.counts(ctx)
	if err != nil {
		return err
	}
	for {
		if err := wait(ctx, 5*time.Millisecond); err != nil {
			return err
		}
		c, err := w.delivering.receiver.counts(ctx)
		if err != nil {
			return err
		}
		w.delivered.Store(int64(c.Distinct - before.Distinct))
		w.most.Store(max(w.most.Load(), w.open()))
	}
}

// bulk writes n rows, as fast as it goes.
func (s *delivering) bulk(ctx context.Context, n int) error {
	conn, err := drive.Dial(ctx, s.addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	credential := token("writer")
	for left := n; left > 0 && ctx.Err() == nil; left -= deliverRows {
		if _, err := conn.Post("/data/told/bulk", credential, bulkBody(min(deliverRows, left))); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// bulkBody is a JSON array of n rows.
func bulkBody(n int) []byte {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = fmt.Sprintf(body, i, "writer", i)
	}
	return []byte("[" + strings.Join(rows, ",") + "]")
}
