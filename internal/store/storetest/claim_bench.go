package storetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// claimBacklog waits for a target that is dead while another one is claimed for.
const claimBacklog = 100_000

// BenchClaims claims for a target that is well, while others write: "alone", and
// "behind" 100,000 deliveries that wait, due, for one that is dead. A round is
// eight new deliveries, their claim and their settlement. It reports how long the
// claims took: p50-ms, p99-ms and max-ms. s is an empty store.
func BenchClaims(b *testing.B, s store.Store) {
	c := &claims{store: s}
	must(b, s.Queue().Enlist(b.Context(), store.Instance{Owner: me, Targets: []string{"dead", "well"}, Lease: never}))
	b.Run("alone", c.run)
	for range claimBacklog / 1000 {
		must(b, c.put(b.Context(), c.make("dead", "", 1000)))
	}
	b.Run("behind", c.run)
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// claims measures on a store. It is safe for concurrent use.
type claims struct {
	store store.Store
	made  atomic.Int64
}

// make returns n new deliveries; with an owner they are to be born leased.
func (c *claims) make(target, owner string, n int) []*store.Delivery {
	ds := make([]*store.Delivery, n)
	for i := range ds {
		ds[i] = waiting(int(c.made.Add(1)), target)
		if ds[i].Owner = owner; owner != "" {
			ds[i].Epoch = 1
		}
	}
	return ds
}

func (c *claims) put(ctx context.Context, ds []*store.Delivery) error {
	return c.store.Write(ctx, store.Work{Run: func(_ context.Context, tx store.Tx) error { return tx.Enqueue(ds...) }})
}

func (c *claims) settle(ctx context.Context, ds []*store.Delivery) error {
	lost, err := c.store.Queue().Settle(ctx, me, settledAll(ds))
	if err == nil && len(lost) > 0 {
		err = fmt.Errorf("lost %v", lost)
	}
	return err
}

func (c *claims) run(b *testing.B) {
	ctx := b.Context()
	defer c.writeBeside(b)()
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for range b.N {
		must(b, c.put(ctx, c.make("well", "", 8)))
		began := time.Now()
		ds, err := c.store.Queue().Claim(ctx, store.Claim{Owner: me, Target: "well", Limit: 8})
		took = append(took, time.Since(began))
		if err != nil || len(ds) != 8 {
			b.Fatalf("%d were claimed, want 8; %v", len(ds), err)
		}
		must(b, c.settle(ctx, ds))
	}
	b.StopTimer()
	slices.Sort(took)
	for name, n := range map[string]int{"p50-ms": len(took) / 2, "p99-ms": len(took) * 99 / 100, "max-ms": len(took) - 1} {
		b.ReportMetric(float64(took[n])/float64(time.Millisecond), name)
	}
}

// writeBeside has somebody write to the queue until the function it returns is
// called: a delivery that is born leased a transaction, and its settlement.
func (c *claims) writeBeside(b *testing.B) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var writing sync.WaitGroup
	writing.Go(func() {
		for ctx.Err() == nil {
			ds := c.make("well", me, 1)
			err := c.put(ctx, ds)
			if err == nil {
				err = c.settle(ctx, ds)
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
