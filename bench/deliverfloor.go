package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// deliverInFlight is how many attempts at a time a target has by default.
const deliverInFlight = 8

// deliverBody is as long as what rowcast delivers of the same row.
const deliverBody = `{"id":"01M2P1R18V26CMVBZ1DC0AS1Z1","type":"entity.create","time":"2026-09-17T02:25:12.345678Z","tenant":"bench:test:main:t1",` +
	`"entity":"told","operation":"create","subject":"%s"}`

// deliverFloor is the same receiver, fed by a loop of net/http clients with as
// many requests at a time as the targets have. It stores nothing, signs nothing
// and remembers nothing.
func (l *lab) deliverFloor(ctx context.Context) (t throughput, err error) {
	err = l.receiving(ctx, func(r *receiver) error {
		f := newFeeder(r.addr, deliverTargets*deliverInFlight)
		defer f.client.CloseIdleConnections()
		if err := f.feed(ctx, l.window/4); err != nil { // warms up
			return err
		}
		before, err := readProcess(os.Getpid())
		if err != nil {
			return err
		}
		sent, began := f.sent.Load(), time.Now()
		if err := f.feed(ctx, l.window/2); err != nil {
			return err
		}
		t.elapsed, t.deliveries = time.Since(began), int(f.sent.Load()-sent)
		after, err := readProcess(os.Getpid())
		t.cpu = after.used - before.used
		return err
	})
	return t, err
}

// feeder posts to a receiver with net/http.
type feeder struct {
	url    string
	client *http.Client
	n      int // at a time
	sent   atomic.Int64
}

func newFeeder(addr string, n int) *feeder {
	return &feeder{url: "http://" + addr + "/accept/", n: n, client: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: n}, Timeout: 30 * time.Second,
	}}
}

// feed posts for a while, without a pause.
func (f *feeder) feed(ctx context.Context, d time.Duration) error {
	until := time.Now().Add(d)
	errs := make(chan error, f.n)
	var posting sync.WaitGroup
	for i := range f.n {
		posting.Go(func() {
			path := fmt.Sprintf("t%02d", i/deliverInFlight+1)
			for time.Now().Before(until) {
				if err := f.post(ctx, path, rand.Text()); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	posting.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// post is one request.
func (f *feeder) post(ctx context.Context, name, id string) error {
	body := fmt.Appendf(nil, deliverBody, id)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url+name, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Kisai-Delivery", id)
	answer, err := f.client.Do(req)
	if err != nil {
		return err
	}
	f.sent.Add(1)
	return answer.Body.Close() // of a 204 there is none
}
