package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// figure is one question of the table.
type figure struct {
	name     string
	measure  func(context.Context, *lab) ([]Row, error)
	postgres bool // it needs the database
}

var figures = []figure{
	{name: "fanout", measure: fanout},
	{name: "latency", measure: latency},
	{name: "rowrule", measure: rowRule},
	{name: "creates", measure: creates},
	{name: "memory", measure: memory},
	{name: "order", measure: order},
	{name: "publishing", measure: publishing},
	{name: "tailing", measure: tailing, postgres: true},
	{name: "across", measure: across, postgres: true},
	{name: "connections", measure: connections, postgres: true},
	{name: "deliveries", measure: deliveriesOn(onSQLite)},
	{name: "deliverlatency", measure: deliverLatencyOn(onSQLite)},
	{name: "claims", measure: claimsOn(onSQLite, "./internal/store/sqlite")},
	{name: "isolation", measure: isolationOn(onSQLite)},
	{name: "deliveriespg", measure: deliveriesOn(onPostgres), postgres: true},
	{name: "deliverlatencypg", measure: deliverLatencyOn(onPostgres), postgres: true},
	{name: "claimspg", measure: claimsOn(onPostgres, "./internal/store/postgres"), postgres: true},
	{name: "isolationpg", measure: isolationOn(onPostgres), postgres: true},
}

// quantiles of what is told of a latency.
var quantiles = []struct {
	name string
	at   float64
}{{"p50", 0.5}, {"p99", 0.99}}

func figureNames() []string {
	names := make([]string, 0, len(figures))
	for _, f := range figures {
		names = append(names, f.name)
	}
	return names
}

// withoutPostgres names the figures that need no PostgreSQL.
func withoutPostgres() []string {
	var names []string
	for _, f := range figures {
		if !f.postgres {
			names = append(names, f.name)
		}
	}
	return names
}

// chosen returns the figures of those names; all where none is given.
func chosen(only []string) []figure {
	return slices.DeleteFunc(slices.Clone(figures), func(f figure) bool {
		return len(only) > 0 && !slices.Contains(only, f.name)
	})
}

// fanout: what a frame costs the server while four writers never pause.
func fanout(ctx context.Context, l *lab) ([]Row, error) {
	cpu, frames := map[string]time.Duration{}, map[string]uint64{}
	err := l.both(ctx, func(s *server) error {
		swarm, err := gather(ctx, s, l.streams, false)
		if err != nil {
			return err
		}
		defer swarm.Close()
		before, err := s.cpu()
		if err != nil {
			return err
		}
		written, err := drive.WriteApart(ctx, writing(s, "open", 4, l.window))
		if err != nil {
			return err
		}
		whole := l.await(ctx, swarm, len(written.IDs)*l.streams)
		after, err := s.cpu()
		if err != nil {
			return err
		}
		l.say("  %s: %d rows, %d frames (all: %v), %v CPU", s.name, len(written.IDs), swarm.Frames(), whole, after-before)
		cpu[s.name] += after - before
		frames[s.name] += swarm.Frames()
		return nil
	})
	if err != nil {
		return nil, err
	}
	per := func(name string) float64 { return micro(cpu[name]) / float64(max(1, frames[name])) }
	return []Row{Row{
		Figure: fmt.Sprintf("server CPU a frame, open stream, N = %d, four writers that never pause", l.streams), Unit: "µs",
		Rowcast: per("rowcast"), Floor: per("floor"),
	}.atMostOfFloor(1.0)}, nil
}

// await waits for frames, but no longer than the drain allows.
func (l *lab) await(ctx context.Context, swarm *drive.Swarm, want int) bool {
	ctx, cancel := context.WithTimeout(ctx, l.drain)
	defer cancel()
	return swarm.Await(ctx, uint64(want), 5*time.Second)
}

// latency: from the start of a write to each of its frames.
func latency(ctx context.Context, l *lab) ([]Row, error) {
	samples := map[string][]time.Duration{}
	err := l.both(ctx, func(s *server) error {
		swarm, err := gather(ctx, s, l.streams, true)
		if err != nil {
			return err
		}
		defer swarm.Close()
		w := writing(s, "open", 1, l.window)
		w.Every = 200 * time.Millisecond
		written, err := drive.WriteApart(ctx, w)
		if err != nil {
			return err
		}
		if !l.await(ctx, swarm, len(written.IDs)*l.streams) {
			return fmt.Errorf("%s: %d of %d frames came", s.name, swarm.Frames(), len(written.IDs)*l.streams)
		}
		swarm.Close()
		samples[s.name] = append(samples[s.name], swarm.Latencies(written)...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, q := range quantiles {
		rows = append(rows, Row{
			Figure: fmt.Sprintf("write to frame, %s, N = %d, 5 writes/s", q.name, l.streams), Unit: "ms",
			Rowcast: milli(drive.Quantile(samples["rowcast"], q.at)), Floor: milli(drive.Quantile(samples["floor"], q.at)),
		}.atMostOfFloor(1.5))
	}
	return rows, nil
}

// creates: how many rows a second, with more and more streams open.
func creates(ctx context.Context, l *lab) ([]Row, error) {
	var rows []Row
	for _, n := range l.creates {
		rate, lost := map[string]float64{}, drive.Losses{}
		whole := true
		measure := func(s *server) error {
			swarm, err := gather(ctx, s, n, false)
			if err != nil {
				return err
			}
			defer swarm.Close()
			written, err := drive.WriteApart(ctx, writing(s, "open", 8, l.window))
			if err != nil {
				return err
			}
			rate[s.name] = written.Rate()
			if n == 0 || s.name == "floor" {
				return nil
			}
			whole = l.await(ctx, swarm, len(written.IDs)*n)
			swarm.Close()
			lost = swarm.Verify(written.IDs)
			return nil
		}
		for _, start := range []func(context.Context) (*server, error){l.startFloor, l.start} {
			if err := on(ctx, start, measure); err != nil {
				return nil, err
			}
		}
		row := Row{Figure: fmt.Sprintf("creates a second, eight writers, %d streams", n), Unit: "/s", Rowcast: rate["rowcast"], Floor: rate["floor"]}
		switch n {
		case 0:
			row = row.atLeast(3000)
		case slices.Max(l.creates):
			row = row.atLeast(0.2 * rows[0].Rowcast)
			row.Limit += fmt.Sprintf(" (0.2 of that with none; kept %.2f)", row.Rowcast/rows[0].Rowcast)
		}
		rows = append(rows, row)
		if n > 0 {
			rows = append(rows, lossRow(fmt.Sprintf("lost, doubled or reordered, %d streams", n), lost, whole))
		}
	}
	return rows, nil
}
