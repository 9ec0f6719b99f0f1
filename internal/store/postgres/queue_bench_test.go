package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/storetest"
)

// queueing is a store with a queue for benchmarks and tests of the driver's own.
type queueing struct {
	testing.TB
	*Store
	made int
}

func newQueueing(t testing.TB, url string) *queueing {
	t.Helper()
	return &queueing{TB: t, Store: open(t, Config{URL: url, Namespace: "shop"})}
}

// deliveries makes n of a target; those of an ordered one are of the rows in turn.
func (q *queueing) deliveries(n int, target, owner string, rows int) []*store.Delivery {
	ds := make([]*store.Delivery, n)
	for i := range ds {
		q.made++
		ds[i] = &store.Delivery{
			ID: fmt.Sprintf("U%026d", q.made), Target: target, Topic: "entity.item", Event: "entity.create", EventID: fmt.Sprintf("V%025d", q.made),
			Entity: "item", Subject: fmt.Sprint(q.made), Body: fmt.Appendf(nil, `{"id":"%0500d"}`, q.made), Created: time.Now(), Owner: owner, Epoch: 1,
		}
		if rows > 0 {
			ds[i].Ordered, ds[i].Subject = true, fmt.Sprint(q.made%rows)
		}
	}
	return ds
}

func (q *queueing) put(ds ...*store.Delivery) {
	q.Helper()
	for chunk := range slices.Chunk(ds, 2000) {
		err := q.Write(context.Background(), store.Work{Run: func(_ context.Context, tx store.Tx) error { return tx.Enqueue(chunk...) }})
		if err != nil {
			q.Fatal(err)
		}
	}
}

func (q *queueing) claim(target string, ordered bool, n int) []*store.Delivery {
	q.Helper()
	ds, err := q.Queue().Claim(context.Background(), store.Claim{Owner: "me", Target: target, Ordered: ordered, Limit: n})
	if err != nil {
		q.Fatal(err)
	}
	return ds
}

func (q *queueing) settle(outcome store.Outcome, ds ...*store.Delivery) {
	q.Helper()
	lost, err := q.Queue().Settle(context.Background(), "me", settlements(outcome, ds...))
	if err != nil || len(lost) > 0 {
		q.Fatalf("lost %v, %v", lost, err)
	}
}

func settlements(outcome store.Outcome, ds ...*store.Delivery) []store.Settlement {
	made := make([]store.Settlement, len(ds))
	for i, d := range ds {
		made[i] = store.Settlement{Lease: d.Lease(), Outcome: outcome, Attempt: store.Attempt{At: time.Now(), Took: time.Millisecond, Status: 200}}
	}
	return made
}

// BenchmarkQueue takes deliveries through the queue in batches of a hundred, and
// reports how many a second. With a backlog, so many wait for a target that is dead.
func BenchmarkQueue(b *testing.B) {
	const batch = 100
	for _, c := range []struct {
		name    string
		owner   string // born leased to it; "": they are claimed
		rows    int    // of an ordered target
		backlog int
	}{
		{"born leased", "me", 0, 0}, {"claimed", "", 0, 0}, {"ordered", "", 1000, 0}, {"claimed, backlog", "", 0, 100_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			q := newQueueing(b, pgtest.Database(b))
			q.put(q.deliveries(c.backlog, "dead", "", 0)...)
			spent := map[string]time.Duration{}
			timed := func(what string, fn func()) {
				begun := time.Now()
				fn()
				spent[what] += time.Since(begun)
			}
			b.ResetTimer()
			for range b.N {
				ds := q.deliveries(batch, "alive", c.owner, c.rows)
				timed("insert", func() { q.put(ds...) })
				if c.owner == "" {
					timed("claim", func() { ds = q.claim("alive", c.rows > 0, batch) })
				}
				if len(ds) != batch {
					b.Fatalf("%d were claimed", len(ds))
				}
				timed("settle", func() { q.settle(store.Delivered, ds...) })
			}
			b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "deliveries/s")
			for what, d := range spent {
				b.ReportMetric(float64(d.Microseconds())/float64(b.N*batch), what+"-us")
			}
		})
	}
}

// BenchmarkClaims is what cmd bench shows of claims behind a dead target's
// backlog: on a server as it is installed, which syncs each commit.
func BenchmarkClaims(b *testing.B) {
	server, err := pgtest.Start()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})
	storetest.BenchClaims(b, newQueueing(b, server.URL("postgres")).Store)
}
