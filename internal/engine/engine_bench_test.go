package engine_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/schema"
)

// What publishing costs a create: the same row with one event, three events
// and row rules, one with a channel, and none. Eight writers share the commits.
func BenchmarkCreate(b *testing.B) {
	on, filterable := &schema.Realtime{}, &schema.Realtime{Filterable: true}
	for _, c := range []struct {
		name, entity, body string
		realtime           *schema.Realtime
	}{
		{"no events", "plain", `{"text":"some text of a usual length","rank":1}`, nil},
		{"a channel", "plain", `{"text":"some text of a usual length","rank":1}`, on},
		{"a channel with filters", "plain", `{"text":"some text of a usual length","rank":1}`, filterable},
		{"an event", "loud", `{"text":"some text of a usual length","rank":1}`, nil},
		{"an event and a channel", "loud", `{"text":"some text of a usual length","rank":1}`, on},
		{"an event with a condition", "note", `{"text":null,"rank":0}`, nil},
		{"two events and row rules", "order", `{"title":"ab","total":1}`, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := channels(b, nil, map[string]*schema.Realtime{c.entity: c.realtime})
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
