package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// turn is one measurement of writes beside so many tailing instances.
type turn struct {
	rate   float64
	cpu    usage   // a write
	load   float64 // cores that the tailing instances kept busy, backends included
	losses drive.Losses
	whole  bool
}

// standIns is, in the place of a number of tailing instances, a turn with none
// in which the bench keeps the processor as busy as the most of them did: what
// the writes cost more then is the price of sharing the cores, not of tailing.
const standIns = -1

// tailing: what instances that only read, each with a stream, cost those who
// write. The turns with none, one, four and their stand-ins are taken in rounds,
// back and forth, so that what changes meanwhile changes for all.
func tailing(ctx context.Context, l *lab) (rows []Row, err error) {
	_, url, err := l.database.create(ctx)
	if err != nil {
		return nil, err
	}
	turns := map[int][]turn{}
	start := func(ctx context.Context) (*server, error) { return l.startOn(ctx, named(url, writingName), 1) }
	err = on(ctx, start, func(writing *server) error {
		if _, err := l.beside(ctx, writing, url, 0, 0); err != nil { // warms up
			return err
		}
		for round := range l.pairs {
			steps := append(slices.Clone(l.tailing), standIns)
			if round%2 == 1 {
				slices.Reverse(steps)
			}
			for _, n := range steps {
				t, err := l.beside(ctx, writing, url, n, loadOf(turns[slices.Max(l.tailing)]))
				if err != nil {
					return err
				}
				l.say("  %s: %.0f writes/s, %.2f cores, CPU a write %v", company(n), t.rate, t.load, t.cpu)
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

// company names what a turn is beside.
func company(n int) string {
	if n == standIns {
		return "stand-ins"
	}
	return fmt.Sprintf("%d tailing", n)
}

// loadOf returns how busy the last turn's tailing instances were.
func loadOf(turns []turn) float64 {
	if len(turns) == 0 {
		return 0
	}
	return turns[len(turns)-1].load
}

// beside takes one turn: it starts n instances beside the writing one, or burns
// a load in their stead, opens a stream on each and has eight writers never pause.
func (l *lab) beside(ctx context.Context, writing *server, url string, n int, load float64) (t turn, err error) {
	instances := []*server{writing}
	defer func() {
		for _, s := range instances[1:] {
			err = errors.Join(err, s.stop())
		}
	}()
	for range n { // none of stand-ins
		s, err := l.startOn(ctx, named(url, tailingName), 1)
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
	if n == standIns {
		defer burn(ctx, load, slices.Max(l.tailing))()
	}
	if t, err = l.write(ctx, instances, swarm); n == standIns {
		t.load = load
	}
	return t, err
}

// write measures the writers of a turn, once they are warm.
func (l *lab) write(ctx context.Context, instances []*server, swarm *drive.Swarm) (t turn, err error) {
	warm, err := drive.WriteApart(ctx, writingTo(instances[0], l.window/8))
	if err != nil {
		return t, err
	}
	l.await(ctx, swarm, len(warm.IDs)*len(instances))
	before, err := l.used(ctx, instances)
	if err != nil {
		return t, err
	}
	written, err := drive.WriteApart(ctx, writingTo(instances[0], l.window*3/4))
	if err != nil {
		return t, err
	}
	ids := slices.Concat(warm.IDs, written.IDs)
	t.whole = l.await(ctx, swarm, len(ids)*len(instances))
	after, err := l.used(ctx, instances)
	if err != nil {
		return t, err
	}
	swarm.Close()
	t.rate, t.losses = written.Rate(), swarm.Verify(ids)
	sum := after.since(before)
	t.cpu = sum.over(len(written.IDs))
	t.load = float64(sum.others+sum.tailing) / float64(after.at.Sub(before.at))
	return t, nil
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
	cost := costOf(usage.all)
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
	for _, n := range counts {
		if n > 0 {
			rows = append(rows, usageRows(n, turns[n], turns[0])...)
		}
	}
	rows = append(rows, standInRow(turns[standIns], turns[0]))
	var losses drive.Losses
	whole := true
	for _, t := range slices.Concat(slices.Collect(maps.Values(turns))...) {
		losses, whole = losses.Plus(t.losses), whole && t.whole
	}
	return append(rows, lossRow("lost, doubled or reordered, streams on all instances", losses, whole))
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
