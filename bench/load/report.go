package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// Report is what a run saw. Durations are in milliseconds.
type Report struct {
	Streams         int     `json:"streams"`
	OpenedPerSecond float64 `json:"openedpersecond"`
	Writers         int     `json:"writers"`
	Rows            int     `json:"rows"`
	RowsPerSecond   float64 `json:"rowspersecond"`
	WriteP50        float64 `json:"writep50ms"`
	WriteP99        float64 `json:"writep99ms"`
	Frames          uint64  `json:"frames"`
	FrameSeconds    float64 `json:"frameseconds"`
	FrameP50        float64 `json:"framep50ms,omitempty"`
	FrameP99        float64 `json:"framep99ms,omitempty"`

	// Complete tells whether every stream saw as many frames as rows were
	// written. It is false where row rules or a condition hide some.
	Complete bool         `json:"complete"`
	Losses   drive.Losses `json:"losses"`
}

func (r *Report) count(written drive.Written) {
	r.Rows, r.RowsPerSecond = len(written.IDs), written.Rate()
	r.WriteP50, r.WriteP99 = quantiles(written.Latencies)
}

// quantiles returns p50 and p99 in milliseconds.
func quantiles(samples []time.Duration) (p50, p99 float64) {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return ms(drive.Quantile(samples, 0.5)), ms(drive.Quantile(samples, 0.99))
}

func (r Report) text() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-18s "+format+"\n", append([]any{name}, args...)...)
	}
	line("streams", "%d, opened %.0f a second", r.Streams, r.OpenedPerSecond)
	line("rows", "%d by %d writers, %.0f a second", r.Rows, r.Writers, r.RowsPerSecond)
	line("write", "p50 %.2f ms, p99 %.2f ms", r.WriteP50, r.WriteP99)
	line("frames", "%d, %.0f a second", r.Frames, float64(r.Frames)/r.FrameSeconds)
	if r.FrameP99 > 0 {
		line("write to frame", "p50 %.2f ms, p99 %.2f ms", r.FrameP50, r.FrameP99)
	}
	if r.Streams == 0 {
		return b.String()
	}
	switch {
	case r.Complete && r.Losses.None():
		line("lost", "nothing: every stream saw every row once, all in the same order")
	default:
		line("lost", "complete %v, %+v", r.Complete, r.Losses)
	}
	return b.String()
}
