package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// How many deliveries a second are sustained, and what is written for them.
const (
	deliverTargets = 4    // of each event
	deliverRows    = 100  // of a write
	deliverWriters = 2    // connections
	deliverAhead   = 1600 // deliveries that may be outstanding before a writer waits
	deliverLeast   = 3000 // deliveries a second
)

// deliveriesOn: how many a second are delivered while as many come, and how fast
// a backlog goes.
func deliveriesOn(d driver) func(context.Context, *lab) ([]Row, error) {
	return func(ctx context.Context, l *lab) (rows []Row, err error) {
		floor, err := l.deliverFloor(ctx)
		if err != nil {
			return nil, err
		}
		var steady, drained throughput
		err = l.delivering(ctx, d, accepting(deliverTargets), func(s *delivering) (err error) {
			if steady, err = s.steady(ctx); err != nil {
				return err
			}
			drained, err = s.drain(ctx, steady.sent)
			return err
		})
		if err != nil {
			return nil, err
		}
		var single throughput
		err = l.delivering(ctx, d, accepting(1), func(s *delivering) (err error) {
			single, err = s.single(ctx)
			return err
		})
		if err != nil {
			return nil, err
		}
		l.say("  %s: sustained %v; backlog %v; single %v; floor %v", d.name, steady, drained, single, floor)
		figure := fmt.Sprintf("deliveries a second on %s, sustained, %d targets, written %d rows at a time", d.name, deliverTargets, deliverRows)
		backlog := fmt.Sprintf("deliveries a second on %s, backlog of %d", d.name, l.backlog)
		return []Row{
			Row{Figure: figure, Unit: "/s", Rowcast: steady.rate(), Floor: floor.rate(), Note: fmt.Sprintf("at most %d outstanding", steady.outstanding)}.atLeast(deliverLeast),
			{Figure: "of it, CPU of server and database a delivery, its write included", Unit: "µs", Rowcast: steady.cost(), Floor: floor.cost()},
			Row{Figure: backlog, Unit: "/s", Rowcast: drained.rate(), Floor: floor.rate()}.atLeast(deliverLeast),
			{Figure: "of it, CPU of server and database a delivery", Unit: "µs", Rowcast: drained.cost(), Floor: floor.cost()},
			{Figure: fmt.Sprintf("deliveries a second on %s, one target, eight writers of a row at a time that never pause", d.name), Unit: "/s", Rowcast: single.rate(), Floor: floor.rate()},
			Row{Figure: "lost or doubled deliveries on " + d.name, Rowcast: float64(steady.wrong + drained.wrong + single.wrong)}.exactly(0),
		}, nil
	}
}

// throughput is what was delivered in a time.
type throughput struct {
	deliveries  int
	elapsed     time.Duration
	cpu         time.Duration
	outstanding int // at most, as far as was seen
	wrong       int // deliveries that did not come, or came again
	sent        int // deliveries up to the end, warming up included
}

func (t throughput) rate() float64 { return float64(t.deliveries) / t.elapsed.Seconds() }
func (t throughput) cost() float64 { return micro(t.cpu) / float64(max(1, t.deliveries)) }

// String tells it in full.
func (t throughput) String() string {
	return fmt.Sprintf("%.0f/s for %.1f s, %.0f µs CPU each, %d outstanding, %d wrong", t.rate(), t.elapsed.Seconds(), t.cost(), t.outstanding, t.wrong)
}

// steady writes as fast as deliveries arrive, and no faster: what is outstanding
// stays below a bound.
func (s *delivering) steady(ctx context.Context) (t throughput, err error) {
	w := s.write(ctx, deliverAhead)
	t, err = s.window(ctx)
	t.sent = w.stop() * len(s.targets)
	if err == nil {
		err = w.err
	}
	t.outstanding = w.outstanding()
	if err != nil {
		return t, err
	}
	t.wrong, err = s.wrong(ctx, t.sent)
	return t, err
}

// window counts what arrives within the window, once the server is warm.
func (s *delivering) window(ctx context.Context) (t throughput, err error) {
	if err := wait(ctx, s.lab.window/2); err != nil {
		return t, err
	}
	cpu, err := s.work()
	if err != nil {
		return t, err
	}
	before, err := s.receiver.counts(ctx)
	began := time.Now()
	if err != nil {
		return t, err
	}
	if err := wait(ctx, 3*s.lab.window/2); err != nil {
		return t, err
	}
	after, err := s.receiver.counts(ctx)
	t.elapsed, t.deliveries = time.Since(began), after.Distinct-before.Distinct
	if err != nil {
		return t, err
	}
	t.cpu, err = s.work()
	t.cpu -= cpu
	return t, err
}

// drain has a backlog gather behind a receiver that does not answer, and then
// measures how it goes; sent is what was delivered before.
func (s *delivering) drain(ctx context.Context, sent int) (t throughput, err error) {
	if err := s.receiver.hold(ctx); err != nil {
		return t, err
	}
	if err := s.bulk(ctx, s.lab.backlog/len(s.targets)); err != nil {
		return t, err
	}
	cpu, err := s.work()
	if err != nil {
		return t, err
	}
	began := time.Now()
	if err := s.receiver.letGo(ctx); err != nil {
		return t, err
	}
	all := sent + s.lab.backlog
	end, err := s.receiver.await(ctx, all)
	if err != nil {
		return t, err
	}
	t.deliveries, t.elapsed, t.outstanding = s.lab.backlog, end.Sub(began), s.lab.backlog
	if t.cpu, err = s.work(); err != nil {
		return t, err
	}
	t.cpu -= cpu
	t.wrong, err = s.wrong(ctx, all)
	return t, err
}

// single has eight writers write a row at a time, without a pause, and counts up
// to the last of what they wrote.
func (s *delivering) single(ctx context.Context) (t throughput, err error) {
	began := time.Now()
	written, err := drive.WriteApart(ctx, writing(s.server, "told", 8, s.lab.window/2))
	if err != nil {
		return t, err
	}
	t.deliveries = len(written.IDs)
	end, err := s.receiver.await(ctx, t.deliveries)
	if err != nil {
		return t, err
	}
	t.elapsed = end.Sub(began)
	t.wrong, err = s.wrong(ctx, t.deliveries)
	return t, err
}

// wrong waits for what is still to come, and counts the deliveries that did not,
// and the requests that were one too many.
func (s *delivering) wrong(ctx context.Context, want int) (int, error) {
	if _, err := s.receiver.await(ctx, want); err != nil {
		return 0, err
	}
	c, err := s.receiver.counts(ctx)
	return max(0, want-c.Distinct) + max(0, c.Distinct-want) + c.Requests - c.Distinct, err
}
