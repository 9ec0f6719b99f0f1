package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
)

// What publishing costs a create: the same row with one event, three events
// and row rules, and none. Eight writers share the commits.
func BenchmarkCreate(b *testing.B) {
	for _, c := range []struct{ name, entity, body string }{
		{"no events", "plain", `{"text":"some text of a usual length","rank":1}`},
		{"an event", "loud", `{"text":"some text of a usual length","rank":1}`},
		{"an event with a condition", "note", `{"text":null,"rank":0}`},
		{"two events and row rules", "order", `{"title":"ab","total":1}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := open(b)
			g, err := h.Grant(alice, c.entity, access.Create)
			if err != nil {
				b.Fatal(err)
			}
			row, err := engine.DecodeBody([]byte(c.body))
			if err != nil {
				b.Fatal(err)
			}
			var failed atomic.Int64
			b.SetParallelism(4)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := h.Create(context.Background(), g, row, engine.Options{}); err != nil {
						failed.Add(1)
					}
				}
			})
			if failed.Load() > 0 {
				b.Fatalf("%d failed", failed.Load())
			}
		})
	}
}
