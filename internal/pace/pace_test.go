package pace

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// steady returns the wait that a rate comes to when each look takes what has
// gathered since the last.
func steady(rate float64) (wait time.Duration, looks int) {
	var p Pace
	now, end := time.Unix(0, 0), time.Unix(10, 0)
	gathered := 0.0
	for now.Before(end) {
		wait = p.Found(now, int(gathered))
		gathered -= float64(int(gathered))
		// Nobody looks before there is something to find.
		next := max(wait, time.Duration((1-gathered)/rate*float64(time.Second))+time.Nanosecond)
		gathered += next.Seconds() * rate
		now = now.Add(next)
		looks++
	}
	return wait, looks / 10
}

func TestTheWaitGrowsWithTheRateAndTheLooksDoNot(t *testing.T) {
	for _, test := range []struct {
		rate  float64
		least time.Duration
		most  time.Duration
		looks int // a second, at most
	}{
		{rate: 1, most: time.Millisecond, looks: 1},
		{rate: 50, most: 4 * time.Millisecond, looks: 50},
		{rate: 250, least: 20 * time.Millisecond, most: 40 * time.Millisecond, looks: 50},
		{rate: 500, least: 80 * time.Millisecond, most: 120 * time.Millisecond, looks: 14},
		{rate: 600, least: 130 * time.Millisecond, most: 170 * time.Millisecond, looks: 10},
		{rate: 800, least: 180 * time.Millisecond, most: Most, looks: 8},
		{rate: 100_000, least: Most, most: Most, looks: 6},
	} {
		wait, looks := steady(test.rate)
		if wait < test.least || wait > test.most || looks > test.looks {
			t.Errorf("%.0f a second: wait %s in %d looks a second, want between %s and %s in at most %d",
				test.rate, wait, looks, test.least, test.most, test.looks)
		}
	}
}

func TestAQuietTimeIsForgotten(t *testing.T) {
	var p Pace
	now := time.Unix(0, 0)
	if wait := p.Found(now, 100_000); wait != Most {
		t.Errorf("wait %s after very many, want %s", wait, Most)
	}
	if wait := p.Found(now.Add(10*time.Second), 1); wait > time.Millisecond {
		t.Errorf("wait %s after one in a quiet time", wait)
	}
}

func TestNoWaitIsNegativeOrLongerThanMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p Pace
		now := time.Unix(0, 0)
		for range 20 { // a clock may be set back
			now = now.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "age")))
			if wait := p.Found(now, rapid.IntRange(0, 1<<40).Draw(t, "n")); wait < 0 || wait > Most {
				t.Fatalf("wait %s", wait)
			}
		}
	})
}
