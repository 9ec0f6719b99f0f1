package event

import (
	"sync"
	"testing"
	"time"
)

// Frames: members stand in the printed order, on one line, and data is
// there only when the stream carries rows.
func TestAppendJSON(t *testing.T) {
	e := Event{
		ID: "01M2P1R18V26CMVBZ1DC0AS1Z1", Type: Created, Entity: "order", Operation: Create,
		Subject: "a\nb<c>\u2028", Time: time.Date(2026, 9, 17, 2, 25, 12, 500_000_000, time.UTC), Tenant: "acme:test:shop:t1",
	}
	want := `{"id":"01M2P1R18V26CMVBZ1DC0AS1Z1","type":"entity.create","entity":"order","operation":"create",` +
		`"subject":"a\nb<c>\u2028","time":"2026-09-17T02:25:12.5Z","tenant":"acme:test:shop:t1"}`
	if got := string(e.AppendJSON(nil)); got != want {
		t.Errorf("without data:\n got %s\nwant %s", got, want)
	}
	e.Data = []byte(`{"id":"x"}`)
	want = want[:len(want)-1] + `,"data":{"id":"x"}}`
	if got := string(e.AppendJSON(nil)); got != want {
		t.Errorf("with data:\n got %s\nwant %s", got, want)
	}
}

// Ids strictly increase in a process, also when the clock
// goes back and when many goroutines draw at once.
func TestSourceStrictlyIncreases(t *testing.T) {
	clock := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := NewSource(func() time.Time { return clock })
	last := s.Next()
	for _, back := range []time.Duration{0, -time.Hour, time.Millisecond, -time.Second} {
		clock = clock.Add(back)
		for range 1000 {
			next := s.Next()
			if next <= last {
				t.Fatalf("after %v: %s does not follow %s", back, next, last)
			}
			last = next
		}
	}
}

func TestSourceConcurrent(t *testing.T) {
	s := NewSource(nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for range 8 {
		wg.Go(func() {
			last := ""
			for range 2000 {
				id := s.Next()
				if id <= last {
					t.Errorf("%s does not follow %s", id, last)
				}
				last = id
				mu.Lock()
				if seen[id] {
					t.Errorf("%s drawn twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func BenchmarkSource(b *testing.B) {
	s := NewSource(nil)
	for b.Loop() {
		s.Next()
	}
}
