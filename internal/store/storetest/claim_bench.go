package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// What waits for a target that is dead while another one is claimed for.
const claimBacklog = 100_000

// BenchClaims claims for a target that is well while 100,000 deliveries wait,
// due, for one that is dead, and while others write. A round is eight new
// deliveries, their claim and their settlement. It reports how long the claims
// took: p50-ms, p99-ms and max-ms. s is an empty store.
func BenchClaims(b *testing.B, s store.Store) {
	ctx, q := b.Context(), s.Queue()
	made := 0
	put := func(target string, n int) {
		ds := make([]*store.Delivery, n)
		for i := range ds {
			made++
			ds[i] = waiting(made, target)
		}
		if err := s.Write(ctx, store.Work{Run: func(_ context.Context, tx store.Tx) error { return tx.Enqueue(ds...) }}); err != nil {
			b.Fatal(err)
		}
	}
	if err := q.Enlist(ctx, store.Instance{Owner: me, Targets: []string{"dead", "well"}, Lease: never}); err != nil {
		b.Fatal(err)
	}
	for range claimBacklog / 1000 {
		put("dead", 1000)
	}
	defer writeBeside(b, s)()
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for range b.N {
		put("well", 8)
		began := time.Now()
		ds, err := q.Claim(ctx, store.Claim{Owner: me, Target: "well", Limit: 8})
		took = append(took, time.Since(began))
		if err != nil || len(ds) != 8 {
			b.Fatalf("%d were claimed, want 8; %v", len(ds), err)
		}
		if lost, err := q.Settle(ctx, me, settledAll(ds)); err != nil || len(lost) > 0 {
			b.Fatalf("lost %v, %v", lost, err)
		}
	}
	b.StopTimer()
	slices.Sort(took)
	report := func(d time.Duration, name string) { b.ReportMetric(float64(d)/float64(time.Millisecond), name) }
	report(took[len(took)/2], "p50-ms")
	report(took[min(len(took)*99/100, len(took)-1)], "p99-ms")
	report(took[len(took)-1], "max-ms")
}

// writeBeside has somebody write to the queue until the function it returns is
// called: a delivery that is born leased a transaction, and its settlement.
func writeBeside(b *testing.B, s store.Store) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			d := waiting(n, "well")
			d.ID, d.Owner, d.Epoch = fmt.Sprintf("UB%025d", n), me, 1
			err := s.Write(ctx, store.Work{Run: func(_ context.Context, tx store.Tx) error { return tx.Enqueue(d) }})
			if err == nil {
				_, err = s.Queue().Settle(ctx, me, settledAll([]*store.Delivery{d}))
			}
			if err != nil && ctx.Err() == nil {
				b.Error(err)
				return
			}
		}
	})
	return func() {
		cancel()
		writing.Wait()
	}
}

// waiting returns the n-th delivery, of a row of its own.
func waiting(n int, target string) *store.Delivery {
	return &store.Delivery{
		ID: fmt.Sprintf("U%026d", n), Target: target, Topic: "entity.order", Event: "entity.create", EventID: fmt.Sprintf("V%025d", n),
		Entity: "order", Subject: fmt.Sprintf("row-%d", n), Body: fmt.Appendf(nil, `{"n":"%0300d"}`, n), Created: epoch,
	}
}

// settledAll says that all were delivered.
func settledAll(ds []*store.Delivery) []store.Settlement {
	all := make([]store.Settlement, len(ds))
	for i, d := range ds {
		all[i] = store.Settlement{Lease: d.Lease(), Outcome: store.Delivered, Attempt: store.Attempt{
			Delivery: d.ID, Target: d.Target, Number: 1, At: epoch, Took: time.Millisecond, Status: 204, Outcome: store.Delivered,
		}}
	}
	return all
}
