package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// BenchmarkWrite writes a row and its log row in each transaction, from eight
// callers, while so many other instances read the log. It reports writes a
// second, and how long the first reader took to have an event.
func BenchmarkWrite(b *testing.B) {
	for _, readers := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("%d readers", readers), func(b *testing.B) {
			url := pgtest.Database(b)
			s := open(b, Config{URL: url, Namespace: "bench"})
			if _, err := s.Migrate(b.Context(), store.Plan{Entities: []*schema.Entity{item}}); err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(b.Context())
			defer stop()
			var ended []chan []time.Duration
			for range readers {
				ended = append(ended, benchReader(ctx, b, url))
			}
			var n atomic.Int64
			b.SetParallelism(4)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					id := fmt.Sprint(n.Add(1))
					err := s.Write(context.Background(), store.Work{Run: func(_ context.Context, tx store.Tx) error {
						if err := tx.Insert(item, store.Row{value.OfText(id), value.OfInt(1)}); err != nil {
							return err
						}
						return tx.Append(event(id, id))
					}})
					if err != nil {
						b.Error(err)
					}
				}
			})
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
			stop()
			for i, e := range ended {
				waited := <-e
				if slices.Sort(waited); i == 0 && len(waited) > 0 {
					b.ReportMetric(float64(waited[len(waited)/2].Microseconds()), "p50-us")
					b.ReportMetric(float64(waited[len(waited)*99/100].Microseconds()), "p99-us")
				}
			}
		})
	}
}

// benchReader follows the log on an instance of its own and measures from each
// event's time until it is read.
func benchReader(ctx context.Context, b *testing.B, url string) chan []time.Duration {
	looked, ended := make(chan struct{}, 1), make(chan []time.Duration, 1)
	s := open(b, Config{URL: url, Namespace: "bench", Look: func() {
		select {
		case looked <- struct{}{}:
		default:
		}
	}})
	go func() {
		var waited []time.Duration
		defer func() { ended <- waited }()
		for after := int64(0); ; {
			select {
			case <-ctx.Done():
				return
			case <-looked:
			}
			_ = s.View(ctx, func(r store.Reader) error {
				rows, err := r.Log(after, 1000)
				for _, row := range rows {
					after = row.Seq
					waited = append(waited, time.Since(row.Time))
				}
				return err
			})
		}
	}()
	return ended
}
