package outbox

import (
	"container/heap"
	"time"
)

// maxDues bounds how many of its own retries a lane keeps in mind; the look at
// the queue every second finds the others.
const maxDues = 256

// dues is a heap of times, the earliest first.
type dues []time.Time

// Len implements heap.Interface, as the others do.
func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return d[i].Before(d[j]) }
func (d dues) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }

// Push implements heap.Interface; add is what to call.
func (d *dues) Push(x any) {
	if t, ok := x.(time.Time); ok {
		*d = append(*d, t)
	}
}

// Pop implements heap.Interface; reached is what to call.
func (d *dues) Pop() any {
	last := len(*d) - 1
	t := (*d)[last]
	*d = (*d)[:last]
	return t
}

// add keeps t in mind, if there is room.
func (d *dues) add(t time.Time) {
	if len(*d) < maxDues {
		heap.Push(d, t)
	}
}

// reached removes the times that have come, and reports whether there were any.
func (d *dues) reached(now time.Time) (some bool) {
	for len(*d) > 0 && !now.Before((*d)[0]) {
		heap.Pop(d)
		some = true
	}
	return some
}

// first returns the earliest time; zero: there is none.
func (d dues) first() time.Time {
	if len(d) == 0 {
		return time.Time{}
	}
	return d[0]
}
