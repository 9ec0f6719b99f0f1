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

// turn is one measurement of writes beside so many tailing instances. What a
// write costs is compared at one rate: the faster the writes come the more of
// them share a commit, and the cheaper is each. How fast they can come, and what
// each costs then, is measured apart from it.
type turn struct {
	paced, free phase
	losses      drive.Losses
	whole       bool
}

// phase is a stretch of a turn.
type phase struct {
	rate float64
	cpu  usage // a write
}

// with returns what two turns come to together.
func (t turn) with(other turn) turn {
	return turn{paced: t.paced.with(other.paced), free: t.free.with(other.free), losses: t.losses.Plus(other.losses), whole: t.whole && other.whole}
}

func (p phase) with(other phase) phase {
	return phase{rate: (p.rate + other.rate) / 2, cpu: p.cpu.plus(other.cpu).over(2)}
}

// beat is the time between two writes of each of the eight writers whose rate is
// the same in every turn: less than half of what one instance takes.
const beat = 12 * time.Millisecond

// tailing: what instances that only read, each with a stream, cost those who
// write. Each round takes a turn with none, one and four, and then the same back
// again, so that what changes meanwhile changes for all.
func tailing(ctx context.Context, l *lab) (rows []Row, err error) {
	_, url, err := l.database.create(ctx)
	if err != nil {
		return nil, err
	}
	turns := map[int][]turn{}
	start := func(ctx context.Context) (*server, error) { return l.startOn(ctx, named(url, writingName), 1) }
	err = on(ctx, start, func(writing *server) error {
		if _, err := l.beside(ctx, writing, url, 0); err != nil { // warms up
			return err
		}
		for range l.pairs {
			round := map[int]turn{}
			for i := range 2 * len(l.tailing) {
				n := l.tailing[min(i, 2*len(l.tailing)-1-i)]
				t, err := l.beside(ctx, writing, url, n)
				if err != nil {
					return err
				}
				l.say("  %d tailing: %.0f writes/s, CPU a write %v; %.0f writes/s without a pause, %v", n, t.paced.rate, t.paced.cpu, t.free.rate, t.free.cpu)
				if first, back := round[n]; back {
					t = first.with(t)
				}
				round[n] = t
			}
			for n, t := range round {
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
// stream on each, and writes. Before that the database tidies up: what is left to
// do would be done in the midst of some turn.
func (l *lab) beside(ctx context.Context, writing *server, url string, n int) (t turn, err error) {
	if err := tidy(ctx, url); err != nil {
		return t, err
	}
	instances := []*server{writing}
	defer func() {
		for _, s := range instances[1:] {
			err = errors.Join(err, s.stop())
		}
	}()
	for range n {
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
	return l.write(ctx, instances, swarm)
}

// write takes the phases of a turn, after one that warms up: a statement has its
// plan when it has run a few times.
func (l *lab) write(ctx context.Context, instances []*server, swarm *drive.Swarm) (t turn, err error) {
	var ids []string
	t.whole = true
	take := func(window, every time.Duration) (p phase, err error) {
		before, err := l.used(ctx, instances[0])
		if err != nil {
			return p, err
		}
		w := writing(instances[0], "open", 8, window)
		w.Every = every
		written, err := drive.WriteApart(ctx, w)
		if err != nil {
			return p, err
		}
		ids = append(ids, written.IDs...)
		t.whole = l.await(ctx, swarm, len(ids)*len(instances)) && t.whole
		after, err := l.used(ctx, instances[0])
		return phase{rate: written.Rate(), cpu: after.since(before).over(len(written.IDs))}, err
	}
	if _, err = take(l.window*5/16, beat); err != nil {
		return t, err
	}
	if t.paced, err = take(l.window*9/16, beat); err != nil {
		return t, err
	}
	if t.free, err = take(l.window/8, 0); err != nil {
		return t, err
	}
	swarm.Close()
	t.losses = swarm.Verify(ids)
	return t, nil
}

// gatherOn opens n streams on each instance.
func gatherOn(ctx context.Context, instances []*server, n int, timed bool) (*drive.Swarm, error) {
	credential := token("reader")
	return drive.Open(ctx, drive.Gathering{N: n * len(instances), Timed: timed, Opening: func(i int) drive.Opening {
		return drive.Opening{Addr: instances[i/n].addr, Path: "/subscribe/open", Token: credential}
	}})
}

// tailingRows makes the lines of the table. A limit judges the median of the
// pairs: what was measured beside that of the same round with no tailing instance.
func tailingRows(counts []int, turns map[int][]turn) (rows []Row) {
	none := turns[0]
	for _, n := range counts {
		rate := func(t turn) float64 { return t.free.rate }
		row := Row{Figure: fmt.Sprintf("creates a second on PostgreSQL, eight writers, %d tailing instances", n), Unit: "/s", Rowcast: medianOf(turns[n], rate)}
		if n > 0 {
			row.Floor = medianOf(none, rate)
		}
		rows = append(rows, row)
	}
	rows = append(rows, costRows(counts, turns)...)
	for _, n := range counts {
		if n > 0 {
			rows = append(rows, usageRows(n, turns[n], none)...)
		}
	}
	for _, n := range counts {
		if n > 0 {
			rows = append(rows, costRow(fmt.Sprintf("CPU a write where the eight writers never pause, %d tailing instances", n), turns[n], none, costOf(free, usage.all)))
		}
	}
	var losses drive.Losses
	whole := true
	for _, t := range slices.Concat(slices.Collect(maps.Values(turns))...) {
		losses, whole = losses.Plus(t.losses), whole && t.whole
	}
	return append(rows, lossRow("lost, doubled or reordered, streams on all instances", losses, whole))
}

// costRows are those that have a limit.
func costRows(counts []int, turns map[int][]turn) (rows []Row) {
	cost := costOf(paced, usage.all)
	for _, n := range counts {
		rate := medianOf(turns[n], func(t turn) float64 { return t.paced.rate })
		row := Row{Figure: fmt.Sprintf("CPU of server and database a write at %.0f writes/s, %d tailing instances", rate, n), Unit: "µs", Rowcast: medianOf(turns[n], cost)}
		if n > 0 {
			row.Floor = medianOf(turns[0], cost)
			row = row.atMostOfPairs(1.05, pairs(turns[n], turns[0], cost))
		}
		rows = append(rows, row)
	}
	return rows
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
