package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The names by which the database knows whose connection is whose.
const (
	writingName = "bench-writing"
	tailingName = "bench-tailing"
)

// usage is the processor time of the writing instance and of the database, by
// whom it was used for; and beside it that of the tailing instances.
type usage struct {
	instance time.Duration // the writing instance itself
	writing  time.Duration // its backends
	tailing  time.Duration // backends of the tailing instances, listeners included
	rest     time.Duration // PostgreSQL's own processes, and backends that ended meanwhile
	others   time.Duration // the tailing instances themselves: not in the sum
}

func (u usage) all() time.Duration { return u.writer() + u.tailing + u.rest }

// writer is what is used for the writes alone.
func (u usage) writer() time.Duration { return u.instance + u.writing }

// over returns what that is for each of n writes.
func (u usage) over(n int) usage {
	each := time.Duration(max(1, n))
	return usage{u.instance / each, u.writing / each, u.tailing / each, u.rest / each, u.others / each}
}

// String tells the parts in full.
func (u usage) String() string {
	return fmt.Sprintf("%.0f µs: instance %.0f, its backends %.0f, tailing backends %.0f, PostgreSQL's own %.0f",
		micro(u.all()), micro(u.instance), micro(u.writing), micro(u.tailing), micro(u.rest))
}

// used is what was used up to a moment.
type used struct {
	at                         time.Time
	instance, others, database time.Duration
	backends                   map[int]backend
}

// used returns what the instances, of which the first is written to, and the
// database have used up to now.
func (l *lab) used(ctx context.Context, instances []*server) (u used, err error) {
	u.at = time.Now()
	var errs [3]error
	u.instance, errs[0] = instances[0].cpu()
	for _, s := range instances[1:] {
		cpu, err := s.cpu()
		u.others, errs[0] = u.others+cpu, errors.Join(errs[0], err)
	}
	u.backends, errs[1] = l.database.backends(ctx)
	u.database, errs[2] = l.database.cpu()
	return u, errors.Join(errs[:]...)
}

// since returns what was used from before until u. The database's sum holds all
// its processes; what is not a backend's that is there at the end is the rest.
func (u used) since(before used) usage {
	sum := usage{instance: u.instance - before.instance, others: u.others - before.others, rest: u.database - before.database}
	for pid, b := range u.backends {
		more := b.used - before.backends[pid].used
		switch b.of {
		case writingName:
			sum.writing += more
		case tailingName:
			sum.tailing += more
		default:
			continue
		}
		sum.rest -= more
	}
	return sum
}

// usageRows say of what the CPU a write beside n tailing instances consists: what
// is used for them, and what the same writing takes more than with none.
func usageRows(n int, turns, none []turn) []Row {
	tailing := func(u usage) time.Duration { return u.tailing }
	direct := Row{Figure: fmt.Sprintf("of it, backends of the tailing instances, %d of them together", n), Unit: "µs",
		Rowcast: medianOf(turns, costOf(tailing))}
	shares := make([]float64, len(turns))
	for i, t := range turns {
		shares[i] = float64(t.cpu.tailing) / float64(none[i].cpu.all())
	}
	direct.Limit = fmt.Sprintf("none (%.3f of all with none, median of %d pairs)", median(shares), len(shares))
	return []Row{
		direct,
		writerRow(fmt.Sprintf("of it, the writing instance and its backends, %d tailing instances", n), turns, none),
		usageRow(fmt.Sprintf("of it, PostgreSQL's own processes, %d tailing instances", n), turns, none, func(u usage) time.Duration { return u.rest }),
	}
}

// standInRow says what the writing takes where nobody tails and the cores are
// as busy as beside the most tailing instances.
func standInRow(turns, none []turn) Row {
	cores := medianOf(turns, func(t turn) float64 { return t.load })
	return writerRow(fmt.Sprintf("the same, %.2f cores of arithmetic in place of the most tailing instances", cores), turns, none)
}

// writerRow compares what is used for the writes alone, turn by turn.
func writerRow(figure string, turns, none []turn) Row {
	row := usageRow(figure, turns, none, usage.writer)
	row.Limit = fmt.Sprintf("none (median of %d pairs %.3f)", len(turns), median(pairs(turns, none, costOf(usage.writer))))
	return row
}

// usageRow compares a part with the same part where nobody tails.
func usageRow(figure string, turns, none []turn, of func(usage) time.Duration) Row {
	return Row{Figure: figure, Unit: "µs", Rowcast: medianOf(turns, costOf(of)), Floor: medianOf(none, costOf(of))}
}

// costOf returns a part of a turn's CPU a write, in microseconds.
func costOf(of func(usage) time.Duration) func(turn) float64 {
	return func(t turn) float64 { return micro(of(t.cpu)) }
}
