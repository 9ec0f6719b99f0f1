package drive

import (
	"slices"
	"time"
)

// Quantile returns the q-th of the samples, 0 where there are none. It sorts them.
func Quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	slices.Sort(samples)
	return samples[min(int(q*float64(len(samples))), len(samples)-1)]
}
