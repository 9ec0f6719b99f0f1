package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// idleEvery is the time between two writes of a server that is idle most of the time.
const idleEvery = 50 * time.Millisecond

// deliverLatencyOn: from a write until the receiver has read its delivery, at a
// rate that leaves all idle most of the time.
func deliverLatencyOn(d driver) func(context.Context, *lab) ([]Row, error) {
	return func(ctx context.Context, l *lab) ([]Row, error) {
		floor, err := l.deliverFloorLatency(ctx)
		if err != nil {
			return nil, err
		}
		var took latencies
		err = l.delivering(ctx, d, accepting(1), func(s *delivering) (err error) {
			took, err = s.paced(ctx, 2*l.window, l.window/4)
			return err
		})
		if err != nil {
			return nil, err
		}
		var rows []Row
		for _, from := range []struct {
			name  string
			took  []time.Duration
			floor []time.Duration
		}{{"write sent to receipt", took.sent, floor}, {"commit (the write's answer) to receipt", took.answered, nil}} {
			for _, q := range quantiles {
				row := Row{Figure: fmt.Sprintf("%s on %s, idle, %s, 20 writes/s", from.name, d.name, q.name), Unit: "ms", Rowcast: milli(drive.Quantile(from.took, q.at))}
				if from.floor != nil {
					row.Floor = milli(drive.Quantile(from.floor, q.at))
				}
				rows = append(rows, row)
			}
		}
		return append(rows, Row{Figure: "lost or doubled of these", Rowcast: float64(took.wrong)}.exactly(0)), nil
	}
}

// latencies are how long deliveries took, of all targets that accept.
type latencies struct {
	sent     []time.Duration // from just before the write was sent
	answered []time.Duration // from its answer: a delivery may be there before
	wrong    int

	deliveries int // warming up included
}

// paced writes a row at a time, and returns how long its deliveries took; not
// those of the time in which the server warms up.
func (s *delivering) paced(ctx context.Context, d, warm time.Duration) (took latencies, err error) {
	w := writing(s.server, "told", 1, d)
	w.Every = idleEvery
	written, err := drive.WriteApart(ctx, w)
	if err != nil {
		return took, err
	}
	want := 0
	for _, t := range s.targets {
		if t.way == "accept" {
			want += len(written.IDs)
		}
	}
	if took.wrong, err = s.wrong(ctx, want); err != nil {
		return took, err
	}
	number := make(map[string]int, len(written.IDs))
	for i, id := range written.IDs {
		number[id] = i
	}
	arrivals, err := s.receiver.arrivals(ctx)
	for _, a := range arrivals {
		i, known := number[a.Subject]
		if !known {
			took.wrong++
			continue
		}
		took.deliveries++
		if written.Starts[i]-written.Starts[0] < warm.Nanoseconds() {
			continue
		}
		since := time.Duration(a.At - written.Starts[i])
		took.sent = append(took.sent, since)
		took.answered = append(took.answered, since-written.Latencies[i])
	}
	return took, err
}

// deliverFloorLatency posts to the receiver at the same pace, with nothing between.
func (l *lab) deliverFloorLatency(ctx context.Context) (took []time.Duration, err error) {
	err = l.receiving(ctx, func(r *receiver) error {
		f := newFeeder(r.addr, 1)
		defer f.client.CloseIdleConnections()
		starts := map[string]int64{}
		for until := time.Now().Add(l.window / 2); time.Now().Before(until); {
			if err := wait(ctx, idleEvery); err != nil {
				return err
			}
			id := rand.Text()
			starts[id] = time.Now().UnixNano()
			if err := f.post(ctx, "t01", id); err != nil {
				return err
			}
		}
		arrivals, err := r.arrivals(ctx)
		for _, a := range arrivals {
			took = append(took, time.Duration(a.At-starts[a.Subject]))
		}
		return err
	})
	return took, err
}
