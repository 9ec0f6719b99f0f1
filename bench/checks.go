package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// rowRule: every stream is another user's, and every row is shown to one.
func rowRule(ctx context.Context, l *lab) ([]Row, error) {
	const writers = 4
	callers := make([]drive.Caller, l.streams)
	for i := range callers {
		name := "user-" + strconv.Itoa(i)
		callers[i] = drive.Caller{Name: name, Token: token(name)}
	}
	var cpu time.Duration
	var rows int
	var frames uint64
	err := on(ctx, l.start, func(s *server) error {
		swarm, err := drive.Open(ctx, drive.Gathering{N: l.streams, Opening: func(i int) drive.Opening {
			return drive.Opening{Addr: s.addr, Path: "/subscribe/owned", Token: callers[i].Token}
		}})
		if err != nil {
			return err
		}
		defer swarm.Close()
		w := writing(s, "owned", writers, l.window)
		w.Callers = callers
		before, err := s.cpu()
		if err != nil {
			return err
		}
		written, err := drive.WriteApart(ctx, w)
		if err != nil {
			return err
		}
		l.await(ctx, swarm, len(written.IDs))
		after, err := s.cpu()
		cpu, rows, frames = after-before, len(written.IDs), swarm.Frames()
		return err
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		Row{Figure: fmt.Sprintf("server CPU a write, row rule, each row shown to 1 of %d streams", l.streams), Unit: "ms",
			Rowcast: milli(cpu) / float64(max(1, rows))}.atMost(2),
		Row{Figure: "frames less rows, row rule", Rowcast: float64(frames) - float64(rows)}.exactly(0),
	}, nil
}

// memory: what an idle stream holds, and how fast streams open.
func memory(ctx context.Context, l *lab) ([]Row, error) {
	held, opened := map[string]float64{}, map[string]float64{}
	err := l.both(ctx, func(s *server) error {
		if err := wait(ctx, l.settle/4); err != nil {
			return err
		}
		before, err := s.memory()
		if err != nil {
			return err
		}
		start := time.Now()
		swarm, err := gather(ctx, s, l.idle, false)
		if err != nil {
			return err
		}
		defer swarm.Close()
		opened[s.name] += float64(l.idle) / time.Since(start).Seconds() / float64(l.rounds)
		if err := wait(ctx, l.settle); err != nil {
			return err
		}
		after, err := s.memory()
		held[s.name] += float64(after-before) / float64(l.idle) / 1024 / float64(l.rounds)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []Row{
		Row{Figure: fmt.Sprintf("memory an idle stream, N = %d", l.idle), Unit: "KiB", Rowcast: held["rowcast"], Floor: held["floor"]}.atMostOfFloor(1.2),
		Row{Figure: "streams opened a second", Unit: "/s", Rowcast: opened["rowcast"], Floor: opened["floor"]}.atLeastOfFloor(0.5),
	}, nil
}

// wait lets a server settle, or returns the reason why ctx ended.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// order: with one sequential writer, frames come in the order of its writes.
func order(ctx context.Context, l *lab) ([]Row, error) {
	var losses drive.Losses
	var whole, same bool
	err := on(ctx, l.start, func(s *server) error {
		swarm, err := gather(ctx, s, l.streams, false)
		if err != nil {
			return err
		}
		defer swarm.Close()
		written, err := drive.WriteApart(ctx, writing(s, "open", 1, l.window))
		if err != nil {
			return err
		}
		whole = l.await(ctx, swarm, len(written.IDs)*l.streams)
		swarm.Close()
		losses = swarm.Verify(written.IDs)
		same = slices.EqualFunc(swarm.Kept(), written.IDs, func(f drive.Frame, id string) bool { return f.Subject == id })
		return nil
	})
	if err != nil {
		return nil, err
	}
	row := lossRow("lost, doubled or reordered, one sequential writer", losses, whole && same)
	row.Rowcast += float64(losses.Descending)
	return []Row{
		row.exactly(0),
	}, nil
}

// publishing: the same rows with and without events, in turn on one server.
func publishing(ctx context.Context, l *lab) ([]Row, error) {
	rows, seconds := map[string]float64{}, map[string]float64{}
	err := on(ctx, l.start, func(s *server) error {
		for turn := range 2*l.publishings + 2 {
			entity := []string{"plain", "told"}[turn%2]
			written, err := drive.WriteApart(ctx, writing(s, entity, 8, l.window/2))
			if err != nil {
				return err
			}
			if turn < 2 {
				continue // the first turn of each warms up
			}
			rows[entity] += float64(len(written.IDs))
			seconds[entity] += written.Elapsed.Seconds()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	plain, told := rows["plain"]/seconds["plain"], rows["told"]/seconds["told"]
	row := Row{Figure: "creates a second with events, beside the same without", Unit: "/s", Rowcast: told, Floor: plain}
	return []Row{row.atLeastOfFloor(0.8)}, nil
}
