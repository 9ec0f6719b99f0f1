package drive

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Gathering says which streams a Swarm opens.
type Gathering struct {
	N int

	// Opening returns how to open the i-th stream. Required.
	Opening func(i int) Opening

	// Parallel is how many are opened at a time. Defaults to 16.
	Parallel int

	// Timed makes every stream note when each frame came.
	Timed bool
}

// Swarm is many open streams. The first one keeps its frames, the others a
// digest to compare with it.
type Swarm struct {
	streams []*Stream
	readers sync.WaitGroup
}

// Open opens the streams and returns once every one is subscribed.
func Open(ctx context.Context, g Gathering) (*Swarm, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if g.Parallel == 0 {
		g.Parallel = 16
	}
	swarm := &Swarm{streams: make([]*Stream, g.N)}
	var next atomic.Int64
	var openers sync.WaitGroup
	for range g.Parallel {
		openers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= g.N {
					return
				}
				stream, err := openStream(ctx, g.Opening(i), g.Timed, i == 0)
				if err != nil {
					cancel(fmt.Errorf("stream %d of %d: %w", i+1, g.N, err))
					return
				}
				swarm.streams[i] = stream
				swarm.readers.Go(stream.run)
			}
		})
	}
	openers.Wait()
	if err := context.Cause(ctx); err != nil {
		swarm.Close()
		return nil, err
	}
	return swarm, nil
}

// Frames returns how many frames all streams have read.
func (s *Swarm) Frames() uint64 {
	var sum uint64
	for _, stream := range s.streams {
		sum += stream.frames.Load()
	}
	return sum
}

// Await waits until all streams together have read want frames, or nothing
// came for the time of patience. It reports whether they have.
func (s *Swarm) Await(ctx context.Context, want uint64, patience time.Duration) bool {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	seen, since := s.Frames(), time.Now()
	for seen < want {
		select {
		case <-ctx.Done():
			return false
		case now := <-ticker.C:
			if frames := s.Frames(); frames != seen {
				seen, since = frames, now
			} else if now.Sub(since) > patience {
				return false
			}
		}
	}
	return true
}

// Close ends the streams and waits for their readers. Only then may Verify,
// Latencies and Kept be called.
func (s *Swarm) Close() {
	for _, stream := range s.streams {
		if stream != nil {
			_ = stream.conn.Close()
		}
	}
	s.readers.Wait()
}

// Kept returns the frames of the first stream.
func (s *Swarm) Kept() []Frame { return s.streams[0].kept }

// Latencies returns, of a timed swarm, how long after the start of the k-th
// write the k-th frame came, for every stream. It needs one sequential writer.
func (s *Swarm) Latencies(written Written) []time.Duration {
	var all []time.Duration
	for _, stream := range s.streams {
		for k := range min(len(stream.arrivals), len(written.Starts)) {
			all = append(all, time.Duration(stream.arrivals[k]-written.Starts[k]))
		}
	}
	return all
}

// Losses says what is wrong with what the streams saw.
type Losses struct {
	Missing    int `json:"missing"`    // acknowledged rows without a frame on the first stream
	Doubled    int `json:"doubled"`    // rows with more than one
	Unlike     int `json:"unlike"`     // streams that saw other ids, or the same in another order, than the first
	Descending int `json:"descending"` // ids, over all streams, not above the one before
	Gaps       int `json:"gaps"`       // stream.gap frames
	Ended      int `json:"ended"`      // streams that ended before Close
}

// Verify compares the streams with each other, and the first with the rows
// that were acknowledged (nil: with nothing). Descending is for the caller to
// judge: only where one writer wrote must ids grow.
func (s *Swarm) Verify(acknowledged []string) Losses {
	var losses Losses
	first := s.streams[0]
	for _, stream := range s.streams {
		if stream.digest != first.digest || stream.frames.Load() != first.frames.Load() {
			losses.Unlike++
		}
		losses.Descending += int(stream.descending)
		losses.Gaps += int(stream.scan.gaps)
		if stream.scan.closing || errors.Is(stream.err, errEnded) {
			losses.Ended++
		}
	}
	seen := make(map[string]int, len(first.kept))
	for _, frame := range first.kept {
		seen[frame.Subject]++
		if seen[frame.Subject] == 2 {
			losses.Doubled++
		}
	}
	for _, id := range acknowledged {
		if seen[id] == 0 {
			losses.Missing++
		}
	}
	return losses
}

// Plus adds two counts up.
func (l Losses) Plus(o Losses) Losses {
	return Losses{
		Missing: l.Missing + o.Missing, Doubled: l.Doubled + o.Doubled, Unlike: l.Unlike + o.Unlike,
		Descending: l.Descending + o.Descending, Gaps: l.Gaps + o.Gaps, Ended: l.Ended + o.Ended,
	}
}

// None reports whether nothing was lost, doubled or reordered between streams.
func (l Losses) None() bool {
	return l.Missing == 0 && l.Doubled == 0 && l.Unlike == 0 && l.Gaps == 0 && l.Ended == 0
}
