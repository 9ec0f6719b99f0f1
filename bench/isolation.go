package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rowcast/rowcast/bench/drive"
)

// isolationWell is how many targets are well.
const isolationWell = 17

// misbehaving targets: one that never answers, one that does after ten seconds,
// and one that says 500.
var misbehaving = []target{{"hole", "hole"}, {"late", "late"}, {"fail", "fail"}}

// isolated is what seventeen targets got in a turn.
type isolated struct {
	rate  float64 // deliveries a second to all of them
	p99   float64 // from the answer to the write, ms
	wrong int
}

// isolationOn: what seventeen targets get beside three that misbehave, and
// without these, in turn.
func isolationOn(d driver) func(context.Context, *lab) ([]Row, error) {
	return func(ctx context.Context, l *lab) ([]Row, error) {
		var with, without []isolated
		for pair := range l.pairs {
			turns := []bool{false, true}
			if pair%2 == 1 {
				slices.Reverse(turns)
			}
			for _, beside := range turns {
				t, err := l.isolation(ctx, d, beside)
				if err != nil {
					return nil, err
				}
				l.say("  beside three that misbehave %v: %.0f/s, p99 %.2f ms, %d wrong", beside, t.rate, t.p99, t.wrong)
				if beside {
					with = append(with, t)
				} else {
					without = append(without, t)
				}
			}
		}
		return isolationRows(d, with, without), nil
	}
}

// isolationRows compares each turn with that of its own pair.
func isolationRows(d driver, with, without []isolated) []Row {
	of := func(turns []isolated, value func(isolated) float64) (values []float64) {
		for _, t := range turns {
			values = append(values, value(t))
		}
		return values
	}
	compare := func(value func(isolated) float64) (row Row, ratio float64) {
		a, b := of(with, value), of(without, value)
		ratios := make([]float64, len(a))
		for i := range a {
			ratios[i] = a[i] / b[i]
		}
		return Row{Rowcast: median(a), Floor: median(b)}, median(ratios)
	}
	rate, kept := compare(func(t isolated) float64 { return t.rate })
	rate.Figure, rate.Unit = fmt.Sprintf("deliveries a second on %s to 17 targets beside 3 that misbehave; the floor is without these", d.name), "/s"
	p99, grown := compare(func(t isolated) float64 { return t.p99 })
	p99.Figure, p99.Unit = fmt.Sprintf("commit to receipt on %s, p99, 17 targets beside 3 that misbehave; the floor is without these", d.name), "ms"
	wrong := 0
	for _, t := range slices.Concat(with, without) {
		wrong += t.wrong
	}
	return []Row{
		rate.judge(kept >= 0.9, "≥ 0.9 of it (median of %d pairs %.3f)", len(with), kept),
		p99.judge(grown <= 1.5, "≤ 1.5 of it (median of %d pairs %.3f)", len(with), grown),
		Row{Figure: "lost or doubled of the 17", Rowcast: float64(wrong)}.exactly(0),
	}
}

// isolation takes one turn: rows at a slow pace for the p99, and then many at
// once for the rate.
func (l *lab) isolation(ctx context.Context, d driver, beside bool) (t isolated, err error) {
	targets := accepting(isolationWell)
	if beside {
		targets = append(targets, misbehaving...)
	}
	err = l.delivering(ctx, d, targets, func(s *delivering) error {
		took, err := s.paced(ctx, l.window, l.window/4)
		if err != nil {
			return err
		}
		t.p99 = milli(drive.Quantile(took.answered, 0.99))
		before, began := took.deliveries, time.Now()
		if err := s.bulk(ctx, l.burst); err != nil {
			return err
		}
		end, err := s.receiver.await(ctx, before+l.burst*isolationWell)
		if err != nil {
			return err
		}
		t.rate = float64(l.burst*isolationWell) / end.Sub(began).Seconds()
		wrong, err := s.wrong(ctx, before+l.burst*isolationWell)
		t.wrong = took.wrong + wrong
		return err
	})
	return t, err
}
