package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress says on stderr how far a long command is: a bar where that is a
// terminal, and else a line now and then. It is for one goroutine.
type progress struct {
	w     io.Writer
	bar   bool
	begun time.Time
	told  time.Time
	base  tally // what an earlier run had done
	total tally // what there is to do; 0 unknown
}

// tally counts what went through.
type tally struct {
	rows, bytes int64
}

func newProgress(w io.Writer, total tally) *progress {
	now := time.Now()
	p := &progress{w: w, begun: now, told: now, total: total}
	if f, ok := w.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		info, err := f.Stat()
		p.bar = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

// at shows that so much is done.
func (p *progress) at(done tally) {
	every := 10 * time.Second
	if p.bar {
		every = 100 * time.Millisecond
	}
	now := time.Now()
	if now.Sub(p.told) < every {
		return
	}
	p.told = now
	text := p.text(done, now.Sub(p.begun))
	if p.bar {
		_, _ = fmt.Fprintf(p.w, "\r\x1b[K%s", text) // nobody reads what cannot be written
		return
	}
	_, _ = fmt.Fprintln(p.w, text)
}

// note prints a line above the bar.
func (p *progress) note(format string, args ...any) {
	p.clear()
	_, _ = fmt.Fprintln(p.w, printable(fmt.Sprintf(format, args...)))
}

// clear removes the bar.
func (p *progress) clear() {
	if p.bar {
		_, _ = io.WriteString(p.w, "\r\x1b[K")
	}
}

// text is the line that says it.
func (p *progress) text(done tally, took time.Duration) string {
	parts := []string{fmt.Sprintf("%d rows", done.rows), size(done.bytes)}
	seconds := max(took.Seconds(), 0.001)
	parts = append(parts, fmt.Sprintf("%.0f rows/s", float64(done.rows-p.base.rows)/seconds))
	share, first := p.share(done), p.share(p.base)
	if share < 0 {
		return strings.Join(parts, "  ")
	}
	if share > first {
		left := time.Duration(float64(took) * (1 - share) / (share - first)).Round(time.Second)
		parts = append(parts, left.String()+" left")
	}
	head := fmt.Sprintf("%3.0f%%", 100*share)
	if p.bar {
		const width = 24
		full := min(int(share*width), width)
		head = "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + head
	}
	return head + "  " + strings.Join(parts, "  ")
}

// share is how much of the whole that is, from 0 to 1; -1 unknown.
func (p *progress) share(done tally) float64 {
	switch {
	case p.total.bytes > 0:
		return min(float64(done.bytes)/float64(p.total.bytes), 1)
	case p.total.rows > 0:
		return min(float64(done.rows)/float64(p.total.rows), 1)
	}
	return -1
}

// size writes a number of bytes for a person.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
