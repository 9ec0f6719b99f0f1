package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// turn is one measurement of writes beside so many tailing instances.
type turn struct {
	rate   float64
	cpu    time.Duration // of the writing instance and the database, a write
	losses drive.Losses
	whole  bool
}

// tailing: what instances that only read, each with a stream, cost those who
// write. The turns with none, one and four are taken in rounds, back and forth,
// so that what changes meanwhile changes for all.
func tailing(ctx context.Context, l *lab) (rows []Row, err error) {
	_, url, err := l.database.create(ctx)
	if err != nil {
		return nil, err
	}
	turns := map[int][]turn{}
	err = on(ctx, func(ctx context.Context) (*server, error) { return l.startOn(ctx, url, 1) }, func(writing *server) error {
		if _, err := l.beside(ctx, writing, url, 0); err != nil { // warms up
			return err
		}
		for round := range l.pairs {
			counts := slices.Clone(l.tailing)
			if round%2 == 1 {
				slices.Reverse(counts)
			}
			for _, n := range counts {
				t, err := l.beside(ctx, writing, url, n)
				if err != nil {
					return err
				}
				l.say("  %d tailing: %.0f writes/s, %v CPU a write", n, t.rate, t.cpu)
				turns[n] = append(turns[n], t)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return tailingRows(l.tailing, turns), nil
}

// beside takes one turn: it starts n instances beside the writing one, opens a
// stream on each and has eight writers never pause.
func (l *lab) beside(ctx context.Context, writing *server, url string, n int) (t turn, err error) {
	instances := []*server{writing}
	defer func() {
		for _, s := range instances[1:] {
			err = errors.Join(err, s.stop())
		}
	}()
	for range n {
		s, err := l.startOn(ctx, url, 1)
		if err != nil {
			return t, err
		}
		instances = append(instances, s)
	}
	swarm, err := gatherOn(ctx, instances, 1, false)
	if err != nil {
		return t, err
	}
	defer swarm.Close()
	warm, err := drive.WriteApart(ctx, writingTo(writing, l.window/8))
	if err != nil {
		return t, err
	}
	l.await(ctx, swarm, len(warm.IDs)*len(instances))
	before, err := l.cpuWith(writing)
	if err != nil {
		return t, err
	}
	written, err := drive.WriteApart(ctx, writingTo(writing, l.window*3/4))
	if err != nil {
		return t, err
	}
	ids := slices.Concat(warm.IDs, written.IDs)
	t.whole = l.await(ctx, swarm, len(ids)*len(instances))
	after, err := l.cpuWith(writing)
	if err != nil {
		return t, err
	}
	swarm.Close()
	t.rate, t.losses = written.Rate(), swarm.Verify(ids)
	t.cpu = (after - before) / time.Duration(max(1, len(written.IDs)))
	return t, nil
}

// cpuWith returns the processor time of an instance and of the database.
func (l *lab) cpuWith(s *server) (time.Duration, error) {
	own, err1 := s.cpu()
	database, err2 := l.database.cpu()
	return own + database, errors.Join(err1, err2)
}

// gatherOn opens n streams on each instance.
func gatherOn(ctx context.Context, instances []*server, n int, timed bool) (*drive.Swarm, error) {
	credential := token("reader")
	return drive.Open(ctx, drive.Gathering{N: n * len(instances), Timed: timed, Opening: func(i int) drive.Opening {
		return drive.Opening{Addr: instances[i/n].addr, Path: "/subscribe/open", Token: credential}
	}})
}

// writingTo is what eight writers that never pause post.
func writingTo(s *server, window time.Duration) drive.Writing { return writing(s, "open", 8, window) }

// tailingRows makes the lines of the table. A limit judges the median of the
// pairs: each turn beside that of the same round with no tailing instance.
func tailingRows(counts []int, turns map[int][]turn) (rows []Row) {
	rate := func(t turn) float64 { return t.rate }
	cost := func(t turn) float64 { return micro(t.cpu) }
	for _, n := range counts {
		row := Row{Figure: fmt.Sprintf("creates a second on PostgreSQL, eight writers, %d tailing instances", n), Unit: "/s", Rowcast: medianOf(turns[n], rate)}
		if n > 0 {
			row.Floor = medianOf(turns[0], rate)
		}
		rows = append(rows, row)
	}
	for _, n := range counts {
		row := Row{Figure: fmt.Sprintf("CPU of server and database a write, %d tailing instances", n), Unit: "µs", Rowcast: medianOf(turns[n], cost)}
		if n > 0 {
			row.Floor = medianOf(turns[0], cost)
			row = row.atMostOfPairs(1.05, pairs(turns[n], turns[0], cost))
		}
		rows = append(rows, row)
	}
	var losses drive.Losses
	whole := true
	for _, t := range slices.Concat(turnsOf(counts, turns)...) {
		losses, whole = losses.Plus(t.losses), whole && t.whole
	}
	return append(rows, lossRow("lost, doubled or reordered, streams on all instances", losses, whole))
}

func turnsOf(counts []int, turns map[int][]turn) (all [][]turn) {
	for _, n := range counts {
		all = append(all, turns[n])
	}
	return all
}

// pairs returns how the turns compare, each with its own.
func pairs(turns, beside []turn, of func(turn) float64) []float64 {
	var ratios []float64
	for i, t := range turns {
		ratios = append(ratios, of(t)/of(beside[i]))
	}
	return ratios
}

func medianOf(turns []turn, of func(turn) float64) float64 {
	var values []float64
	for _, t := range turns {
		values = append(values, of(t))
	}
	return median(values)
}

// median returns the middle one, 0 of none.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	switch n := len(sorted); {
	case n == 0:
		return 0
	case n%2 == 0:
		return (sorted[n/2-1] + sorted[n/2]) / 2
	default:
		return sorted[n/2]
	}
}
