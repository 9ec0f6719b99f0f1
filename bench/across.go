package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// across: from the start of a write to its frames, on the instance that wrote
// and on another one of the same database, at a rate that leaves both idle
// most of the time.
func across(ctx context.Context, l *lab) ([]Row, error) {
	const every = 20 * time.Millisecond
	n := max(1, l.streams/20)
	samples := map[string][]time.Duration{}
	take := func(name string, writingOn, readingOn *server) error {
		swarm, err := gatherOn(ctx, []*server{readingOn}, n, true)
		if err != nil {
			return err
		}
		defer swarm.Close()
		w := writing(writingOn, "open", 1, l.window)
		w.Every = every
		written, err := drive.WriteApart(ctx, w)
		if err != nil {
			return err
		}
		if !l.await(ctx, swarm, len(written.IDs)*n) {
			return fmt.Errorf("%s: %d of %d frames came", name, swarm.Frames(), len(written.IDs)*n)
		}
		swarm.Close()
		samples[name] = append(samples[name], swarm.Latencies(written)...)
		return nil
	}
	for range l.rounds {
		err := on(ctx, l.startFloor, func(s *server) error { return take("floor", s, s) })
		if err != nil {
			return nil, err
		}
		err = l.twoInstances(ctx, func(one, other *server) error {
			return errors.Join(take("the writing instance", one, one), take("another instance", one, other))
		})
		if err != nil {
			return nil, err
		}
	}
	var rows []Row
	for _, name := range []string{"the writing instance", "another instance"} {
		for _, q := range quantiles {
			rows = append(rows, Row{
				Figure: fmt.Sprintf("write to frame on PostgreSQL, %s, %s, N = %d, 50 writes/s", name, q.name, n), Unit: "ms",
				Rowcast: milli(drive.Quantile(samples[name], q.at)), Floor: milli(drive.Quantile(samples["floor"], q.at)),
			})
		}
	}
	return rows, nil
}

// twoInstances runs measure on two instances of an empty database.
func (l *lab) twoInstances(ctx context.Context, measure func(one, other *server) error) error {
	_, url, err := l.database.create(ctx)
	if err != nil {
		return err
	}
	start := func(ctx context.Context) (*server, error) { return l.startOn(ctx, url, 1) }
	return on(ctx, start, func(one *server) error {
		return on(ctx, start, func(other *server) error { return measure(one, other) })
	})
}

// connections: how many an instance opens to one database, for one tenant and
// for twenty, while all of them are written to.
func connections(ctx context.Context, l *lab) ([]Row, error) {
	var rows []Row
	for _, tenants := range []int{1, 20} {
		name, url, err := l.database.create(ctx)
		if err != nil {
			return nil, err
		}
		var all, listening int
		err = on(ctx, func(ctx context.Context) (*server, error) { return l.startOn(ctx, url, tenants) }, func(s *server) error {
			w := writing(s, "open", 4*poolSize, l.window/4)
			w.Callers = nil
			for i := range tenants {
				w.Callers = append(w.Callers, drive.Caller{Name: "writer", Token: tokenOf("writer", tenantName(i))})
			}
			if _, err := drive.WriteApart(ctx, w); err != nil {
				return err
			}
			all, listening, err = l.database.connections(ctx, name)
			return err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			Row{Figure: fmt.Sprintf("connections to one database, %d tenants, 40 writers, a pool of %d", tenants, poolSize), Rowcast: float64(all)}.atMost(poolSize+1),
			Row{Figure: fmt.Sprintf("of them listening, %d tenants", tenants), Rowcast: float64(listening)}.exactly(1))
	}
	return rows, nil
}
