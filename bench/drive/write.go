package drive

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Writing says what Write posts.
type Writing struct {
	Addr    string // host:port
	Path    string // such as "/data/order"
	Writers int    // connections, each with one request at a time

	// Every is the time between the starts of two writes of one writer.
	// Defaults to none: the next one follows the answer.
	Every time.Duration

	Duration time.Duration

	// Body and Token return what the n-th request of a writer carries. Body is required.
	Body  func(writer, n int) []byte
	Token func(writer, n int) string

	// Marks, where set, is told when each write begins; for one writer only.
	Marks *Marks
}

// Written is what Write did.
type Written struct {
	IDs       []string // of the rows acknowledged, in the order of the answers of each writer
	Elapsed   time.Duration
	Latencies []time.Duration // of the answers
}

// Rate returns the rows acknowledged a second.
func (w Written) Rate() float64 { return float64(len(w.IDs)) / w.Elapsed.Seconds() }

// Write posts rows for the Duration, and returns what was acknowledged. The
// first answer that is not 201 ends it with an error.
func Write(ctx context.Context, writing Writing) (Written, error) {
	ctx, cancel := context.WithTimeout(ctx, writing.Duration)
	defer cancel()
	results := make([]Written, writing.Writers)
	errs := make([]error, writing.Writers)
	start := time.Now()
	var writers sync.WaitGroup
	for i := range writing.Writers {
		writers.Go(func() {
			if errs[i] = writing.run(ctx, i, &results[i]); errs[i] != nil {
				cancel()
			}
		})
	}
	writers.Wait()
	all := Written{Elapsed: time.Since(start)}
	for _, result := range results {
		all.IDs = append(all.IDs, result.IDs...)
		all.Latencies = append(all.Latencies, result.Latencies...)
	}
	return all, errors.Join(errs...)
}

// run is one writer.
func (w Writing) run(ctx context.Context, writer int, done *Written) (err error) {
	conn, err := Dial(ctx, w.Addr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		if w.Every > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-timer.C:
				timer.Reset(w.Every)
			}
		}
		token := ""
		if w.Token != nil {
			token = w.Token(writer, n)
		}
		start := time.Now()
		if w.Marks != nil {
			w.Marks.begin(uint64(n))
		}
		answer, err := conn.Post(w.Path, token, w.Body(writer, n))
		if err != nil {
			return err
		}
		done.Latencies = append(done.Latencies, time.Since(start))
		done.IDs = append(done.IDs, member(answer, `"id":"`))
	}
	return nil
}
