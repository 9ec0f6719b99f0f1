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
// whom it was used for.
type usage struct {
	instance time.Duration // the writing instance itself
	writing  time.Duration // its backends
	tailing  time.Duration // backends of the tailing instances, listeners included
	rest     time.Duration // PostgreSQL's own processes, and backends that ended meanwhile
}

func (u usage) all() time.Duration { return u.writer() + u.tailing + u.rest }

// writer is what is used for the writes alone.
func (u usage) writer() time.Duration { return u.instance + u.writing }

func (u usage) plus(v usage) usage {
	return usage{u.instance + v.instance, u.writing + v.writing, u.tailing + v.tailing, u.rest + v.rest}
}

// over returns what that is for each of n writes.
func (u usage) over(n int) usage {
	each := time.Duration(max(1, n))
	return usage{u.instance / each, u.writing / each, u.tailing / each, u.rest / each}
}

// String tells the parts in full.
func (u usage) String() string {
	return fmt.Sprintf("%.0f µs: instance %.0f, its backends %.0f, tailing backends %.0f, PostgreSQL's own %.0f",
		micro(u.all()), micro(u.instance), micro(u.writing), micro(u.tailing), micro(u.rest))
}

// used is what was used up to a moment.
type used struct {
	instance, database time.Duration
	backends           map[int]backend
}

// used returns what the writing instance and the database have used up to now.
func (l *lab) used(ctx context.Context, writing *server) (u used, err error) {
	var errs [3]error
	u.instance, errs[0] = writing.cpu()
	u.backends, errs[1] = l.database.backends(ctx)
	u.database, errs[2] = l.database.cpu()
	return u, errors.Join(errs[:]...)
}

// since returns what was used from before until u. The database's sum holds all
// its processes; what is not a backend's that is there at the end is the rest.
func (u used) since(before used) usage {
	sum := usage{instance: u.instance - before.instance, rest: u.database - before.database}
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
	tailing := costOf(paced, func(u usage) time.Duration { return u.tailing })
	all := costOf(paced, usage.all)
	direct := Row{Figure: fmt.Sprintf("of it, backends of the tailing instances, %d of them together", n), Unit: "µs", Rowcast: medianOf(turns, tailing)}
	shares := make([]float64, len(turns))
	for i, t := range turns {
		shares[i] = tailing(t) / all(none[i])
	}
	direct.Limit = fmt.Sprintf("none (%.3f of all with none, median of %d pairs)", median(shares), len(shares))
	own := func(u usage) time.Duration { return u.rest }
	return []Row{
		direct,
		costRow(fmt.Sprintf("of it, the writing instance and its backends, %d tailing instances", n), turns, none, costOf(paced, usage.writer)),
		costRow(fmt.Sprintf("of it, PostgreSQL's own processes, %d tailing instances", n), turns, none, costOf(paced, own)),
	}
}

// costRow compares a cost with the same where nobody tails, turn by turn, and
// judges nothing.
func costRow(figure string, turns, none []turn, of func(turn) float64) Row {
	return Row{Figure: figure, Unit: "µs", Rowcast: medianOf(turns, of), Floor: medianOf(none, of),
		Limit: fmt.Sprintf("none (median of %d pairs %.3f)", len(turns), median(pairs(turns, none, of)))}
}

// costOf returns a part of the CPU a write in a phase of a turn, in microseconds.
func costOf(in func(turn) phase, of func(usage) time.Duration) func(turn) float64 {
	return func(t turn) float64 { return micro(of(in(t).cpu)) }
}

func paced(t turn) phase { return t.paced }
func free(t turn) phase  { return t.free }
