package drive

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Writing says what Write posts. It is plain data, so that another process can
// do it, see WriteApart.
type Writing struct {
	Addr    string `json:"addr"`    // host:port
	Path    string `json:"path"`    // such as "/data/order"
	Writers int    `json:"writers"` // connections, each with one request at a time

	// Every is the time between the starts of two writes of one writer.
	// Defaults to none: the next one follows the answer.
	Every time.Duration `json:"every"`

	Duration time.Duration `json:"duration"`

	// Body is the JSON of a row; %d becomes the number of the request, which
	// grows, and %s the name of its caller.
	Body string `json:"body"`

	// Callers take turns. Required.
	Callers []Caller `json:"callers"`
}

// Caller is who writes a row.
type Caller struct {
	Name  string `json:"name"`
	Token string `json:"token"` // "" sends none
}

// Written is what Write did. The slices run alike: one entry for each row
// acknowledged, in the order of the answers of each writer.
type Written struct {
	IDs       []string        `json:"ids"`
	Starts    []int64         `json:"starts"`    // when each request began, Unix nanoseconds
	Latencies []time.Duration `json:"latencies"` // until its answer
	Elapsed   time.Duration   `json:"elapsed"`
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
		all.Starts = append(all.Starts, result.Starts...)
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
	for k := writer; ctx.Err() == nil; k += w.Writers {
		if w.Every > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-timer.C:
				timer.Reset(w.Every)
			}
		}
		caller := w.Callers[k%len(w.Callers)]
		body := strings.NewReplacer("%d", strconv.Itoa(k), "%s", caller.Name).Replace(w.Body)
		start := time.Now()
		answer, err := conn.Post(w.Path, caller.Token, []byte(body))
		if err != nil {
			return err
		}
		done.Latencies = append(done.Latencies, time.Since(start))
		done.Starts = append(done.Starts, start.UnixNano())
		done.IDs = append(done.IDs, member(answer, `"id":"`))
	}
	return nil
}
