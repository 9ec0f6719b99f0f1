package outbox_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// nothing is a queue that agrees to all.
type nothing struct{ *queue }

func (nothing) Settle(context.Context, string, []store.Settlement) ([]string, error) { return nil, nil }

// counter is a target that accepts, and counts.
type counter struct{ n atomic.Int64 }

func (c *counter) Post(context.Context, *store.Delivery) post.Result {
	c.n.Add(1)
	return post.Result{Class: post.Accepted, Status: 204, Alive: true, At: time.Now()}
}

func (c *counter) Close() {}

// BenchmarkDelivery is the relay's own part of a delivery that is accepted: from
// the reservation to the settlement, without the store and the request.
func BenchmarkDelivery(b *testing.B) {
	target := &counter{}
	var ids atomic.Int64
	r := outbox.New(outbox.Config{
		Queue:   nothing{newQueue()},
		Targets: []outbox.Target{{Name: "a"}},
		Poster:  func(string) outbox.Poster { return target },
		NewID:   func() string { return fmt.Sprint(ids.Add(1)) },
		Logger:  slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	ds := make([]store.Delivery, b.N)
	for i := range ds {
		ds[i] = store.Delivery{ID: fmt.Sprintf("U%026d", i), Target: "a", Epoch: 1}
	}
	one := make([]*store.Delivery, 1)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range ds {
		for ok := false; !ok; {
			if ds[i].Owner, ok = r.Reserve("a"); !ok {
				<-time.After(10 * time.Microsecond)
			}
		}
		one[0] = &ds[i]
		r.Committed(one)
	}
	for r.Counters().Delivered < uint64(b.N) {
		<-time.After(10 * time.Microsecond)
	}
	b.StopTimer()
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
