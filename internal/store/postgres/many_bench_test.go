package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// roundTrip is what the network of BenchmarkManyRows adds to a question and its
// answer together.
const roundTrip = time.Millisecond

// BenchmarkManyRows writes rows with their log rows, all in one transaction,
// over a network with a delay. It reports rows a second.
func BenchmarkManyRows(b *testing.B) {
	for _, rows := range []int{1, 1000} {
		for name, seeded := range map[string]bool{"insert": false, "insert, drawn": false, "update": true, "delete": true} {
			b.Run(fmt.Sprintf("%s %d", name, rows), func(b *testing.B) {
				p := pgtest.NewProxy(b, pgtest.Database(b))
				s := open(b, Config{URL: p.URL(), Namespace: "bench"})
				if _, err := s.Migrate(b.Context(), store.Plan{Entities: []*schema.Entity{item, drawn}}); err != nil {
					b.Fatal(err)
				}
				run := manyRows[name]
				b.ResetTimer()
				for round := range b.N {
					b.StopTimer()
					p.Delay(0)
					if seeded {
						many(b, s, round, rows, manyRows["insert"])
					}
					p.Delay(roundTrip / 2)
					b.StartTimer()
					many(b, s, round, rows, run)
				}
				b.StopTimer()
				p.Delay(0)
				b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}

var manyRows = map[string]func(tx store.Tx, id string) error{
	"insert": func(tx store.Tx, id string) error {
		return tx.Insert(item, store.Row{value.OfText(id), value.OfInt(1)})
	},
	"insert, drawn": func(tx store.Tx, _ string) error {
		return tx.Insert(drawn, store.Row{{}, value.OfInt(1)})
	},
	"update": func(tx store.Tx, id string) error {
		return tx.Update(item, store.Row{value.OfText(id), value.OfInt(2)}, []int{1})
	},
	"delete": func(tx store.Tx, id string) error { return tx.Delete(item, value.OfText(id)) },
}

// drawn has a key that the database draws.
var drawn = &schema.Entity{Name: "drawn", Table: "drawn", Fields: []*schema.Field{
	{Name: "id", Type: value.BigInt}, {Name: "n", Type: value.BigInt, Index: 1},
}}

func many(b *testing.B, s *Store, round, rows int, do func(store.Tx, string) error) {
	b.Helper()
	err := s.Write(b.Context(), store.Work{Alone: true, Deadline: time.Minute, Run: func(_ context.Context, tx store.Tx) error {
		var log []*store.LogRow
		for n := range rows {
			id := fmt.Sprintf("%d-%d", round, n)
			if err := do(tx, id); err != nil {
				return err
			}
			log = append(log, event(fmt.Sprintf("%p-%s", do, id)[2:], id))
		}
		return tx.Append(log...)
	}})
	if err != nil {
		b.Fatal(err)
	}
}
