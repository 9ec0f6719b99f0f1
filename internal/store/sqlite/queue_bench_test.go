package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/store/storetest"
)

// benchDelivery returns the n-th delivery to a target.
func benchDelivery(n int, target string) *store.Delivery {
	id := fmt.Sprintf("U01M2P1R18W%016d", n)
	return &store.Delivery{
		ID: id, Target: target, Topic: "entity.order", Event: "entity.create", EventID: id[1:], Entity: "order",
		Subject: id[1:], Created: time.UnixMicro(1789245912000000 + int64(n)), Status: store.Pending,
		Body: fmt.Appendf(nil, `{"id":%q,"type":"entity.create","entity":"order","data":{"note":%q}}`, id, strings.Repeat("x", 250)),
	}
}

// enqueue puts n deliveries into the queue, some hundreds a transaction.
func enqueue(tb testing.TB, s *Store, n int, each func(n int) *store.Delivery) {
	tb.Helper()
	for from := 0; from < n; from += 500 {
		err := s.Write(tb.Context(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
			for i := from; i < min(from+500, n); i++ {
				if err := tx.Enqueue(each(i)); err != nil {
					return err
				}
			}
			return nil
		}})
		if err != nil {
			tb.Fatal(err)
		}
	}
}

// accepted settles what is held as a receiver that takes everything has it.
func accepted(ds []*store.Delivery) []store.Settlement {
	settlements := make([]store.Settlement, len(ds))
	for i, d := range ds {
		settlements[i] = store.Settlement{Lease: store.Lease{ID: d.ID, Epoch: 1}, Outcome: store.Delivered, Attempt: store.Attempt{
			Delivery: d.ID, Target: d.Target, Number: 1, At: d.Created, Took: time.Millisecond, Status: 200, Outcome: store.Delivered,
		}}
	}
	return settlements
}

// BenchmarkDelivery is the queue's part of a delivery that is accepted at once:
// born leased, and settled; 100 a transaction.
func BenchmarkDelivery(b *testing.B) {
	s := open(b, Config{Path: filepath.Join(benchDir(b), "t.db")})
	ctx, q := b.Context(), s.Queue()
	const batch = 100
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += batch {
		ds := make([]*store.Delivery, batch)
		for i := range ds {
			ds[i] = benchDelivery(n+i, "billing")
			ds[i].Owner = "me"
		}
		err := s.Write(ctx, store.Work{Run: func(_ context.Context, tx store.Tx) error { return tx.Enqueue(ds...) }})
		if err != nil {
			b.Fatal(err)
		}
		if lost, err := q.Settle(ctx, "me", accepted(ds)); err != nil || len(lost) > 0 {
			b.Fatal(lost, err)
		}
	}
}

// BenchmarkBacklog claims while 100,000 deliveries wait behind a dead target,
// each way in which they may wait.
func BenchmarkBacklog(b *testing.B) {
	for _, kind := range []struct {
		name    string
		ordered bool
		rows    int // that the deliveries are about
	}{{"plain", false, 100_000}, {"ordered by row", true, 100_000}, {"ordered, one row", true, 1}} {
		b.Run(kind.name, func(b *testing.B) {
			s := open(b, Config{Path: filepath.Join(benchDir(b), "t.db")})
			enqueue(b, s, 100_000, func(n int) *store.Delivery {
				d := benchDelivery(n, "dead")
				d.Ordered, d.Subject = kind.ordered, fmt.Sprint(n%kind.rows)
				return d
			})
			enqueue(b, s, 100, func(n int) *store.Delivery { return benchDelivery(100_000+n, "billing") })
			benchClaims(b, s.Queue(), kind.ordered)
		})
	}
}

func benchClaims(b *testing.B, q store.Queue, ordered bool) {
	ctx := b.Context()
	for _, c := range []store.Claim{{Target: "dead", Ordered: ordered}, {Target: "billing"}, {Target: "nobody"}} {
		c.Owner, c.Limit = "me", 8
		b.Run("claim of "+c.Target, func(b *testing.B) {
			for range b.N {
				ds, err := q.Claim(ctx, c)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				leases := make([]store.Lease, len(ds))
				for i, d := range ds {
					leases[i] = d.Lease()
				}
				if err := q.Free(ctx, "me", leases); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
	reads := map[string]func() error{
		"next":   func() error { _, err := q.Next(ctx, []store.Lane{{Target: "dead", Ordered: ordered}}); return err },
		"depths": func() error { _, err := q.Depths(ctx); return err },
		"sweep":  func() error { _, err := q.Sweep(ctx, 1000); return err },
		"list":   func() error { _, err := q.List(ctx, store.DeliveryFilter{Limit: 100}); return err },
		"list of another target": func() error {
			_, err := q.List(ctx, store.DeliveryFilter{Target: "billing", Limit: 100})
			return err
		},
	}
	for name, read := range reads {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if err := read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkClaims is what cmd bench shows of claims behind a dead target's backlog.
func BenchmarkClaims(b *testing.B) {
	storetest.BenchClaims(b, open(b, Config{Path: filepath.Join(benchDir(b), "t.db")}))
}
