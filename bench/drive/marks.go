package drive

import (
	"slices"
	"sync/atomic"
	"time"
)

// Marks holds when each write began, so that a reader of the k-th frame knows
// how long ago that was. It serves one writer at a time.
type Marks struct {
	start time.Time
	at    []atomic.Int64
}

// NewMarks returns room for n writes; later ones are measured against the last.
func NewMarks(n int) *Marks { return &Marks{start: time.Now(), at: make([]atomic.Int64, n)} }

func (m *Marks) begin(k uint64) { m.at[min(k, uint64(len(m.at)-1))].Store(int64(time.Since(m.start))) }

func (m *Marks) since(k uint64) time.Duration {
	return time.Since(m.start) - time.Duration(m.at[min(k, uint64(len(m.at)-1))].Load())
}

// Quantile returns the q-th of the samples, 0 where there are none. It sorts them.
func Quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	return samples[min(int(q*float64(len(samples))), len(samples)-1)]
}
