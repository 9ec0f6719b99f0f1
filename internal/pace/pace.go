// Package pace says how long to leave something alone that grows and costs as
// much to look at as it has grown, or more: the change log, and those who wait
// to be told of it.
//
// Guarantees. After a quiet time nothing is waited for: the first look is at
// once. The more is found the longer the next wait, so that under a steady load
// a look finds many at a time and their number a second does not grow with it.
// No wait is longer than Most.
//
// It is arithmetic: it reads no clock, starts nothing, and imports nothing of
// rowcast. A Pace belongs to one goroutine.
package pace

import (
	"math"
	"time"
)

const (
	// Most bounds every wait.
	Most = 200 * time.Millisecond
	// full is how many things a second make the wait Most. Half as many make a
	// quarter of it: at 50 a second it is 1 ms, which delays nobody, at 500 about
	// 100 ms, and from full on there are five looks a second, whatever comes.
	full = 700
	// window is over how long the rate is averaged, so that a few things at once
	// are no load yet.
	window = 250 * time.Millisecond
)

// Pace knows how fast something grows. The zero value has seen nothing.
type Pace struct {
	recent float64 // things found, each fading with its age
	last   time.Time
}

// Found notes that a look at a time found n new ones, and returns how long to
// wait before the next.
func (p *Pace) Found(now time.Time, n int) time.Duration {
	age := float64(max(0, now.Sub(p.last))) / float64(window)
	p.recent = p.recent*math.Exp(-age) + float64(n)*faded(min(age, 1))
	p.last = now
	load := min(1, p.recent/window.Seconds()/full)
	return time.Duration(load * load * float64(Most))
}

// faded is what is left, on average, of things that came evenly over a time, in
// windows. Those of a long time came all at once, for all one knows.
func faded(age float64) float64 {
	if age == 0 {
		return 1
	}
	return (1 - math.Exp(-age)) / age
}
