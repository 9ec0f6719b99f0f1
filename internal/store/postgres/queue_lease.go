package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// Enlist implements store.Queue. It also mends what a release before may have
// left behind, when the order of a target was switched.
func (q queue) Enlist(ctx context.Context, i store.Instance) error {
	targets := slices.DeleteFunc(append([]string{}, i.Targets...), func(t string) bool { return !keepable(t) })
	return q.run(ctx, errand{name: "enlist an instance", first: func() []ask {
		return []ask{
			{sql: q.store.sql.queue.mend, args: []any{targets}},
			{sql: q.store.sql.queue.enlist, args: []any{i.Owner, targets, micros(i.Lease)}},
		}
	}})
}

// Renew implements store.Queue. It is exact: a lease that has run out is not
// renewed, even if nobody has swept yet.
func (q queue) Renew(ctx context.Context, owner string) (bool, error) {
	n, err := q.one(ctx, "renew a lease", q.store.sql.queue.renew, owner)
	return n > 0, err
}

// one runs one statement and returns how many rows it changed.
func (q queue) one(ctx context.Context, attempt, sql string, args ...any) (n int, err error) {
	err = q.run(ctx, errand{name: attempt, first: func() []ask { return []ask{{sql: sql, args: args, count: &n}} }})
	return n, err
}

// Resign implements store.Queue.
func (q queue) Resign(ctx context.Context, owner string) (freed int, err error) {
	var pending []settledRow
	err = q.run(ctx, errand{name: "resign", first: func() []ask {
		pending = nil
		return []ask{
			{sql: q.store.sql.queue.release, args: []any{owner}, each: pendingAgain(&pending), count: &freed},
			{sql: q.store.sql.queue.resign, args: []any{owner}},
		}
	}})
	q.lower(pending)
	return freed, err
}

// Sweep implements store.Queue. It reads nothing that waits: owners and targets
// are found by leaps through the indexes. Targets are those of the instances
// that live, of whichever release. Where none lives, as when the one that sweeps
// was itself stopped for too long, nothing is failed: nobody says what is declared.
func (q queue) Sweep(ctx context.Context, limit int) (s store.Swept, err error) {
	if limit < 1 {
		return s, nil
	}
	var freed []settledRow
	sql := &q.store.sql.queue
	err = q.run(ctx, errand{
		name: "sweep the queue",
		first: func() []ask {
			freed, s = nil, store.Swept{}
			return []ask{{sql: sql.sweepOwners, args: []any{limit}, each: pendingAgain(&freed), count: &s.Freed}}
		},
		then: func() []ask {
			asks := []ask{{sql: sql.sweepDead, count: &s.Dead}}
			if left := limit - s.Freed; left > 0 {
				asks = append(asks, ask{sql: sql.sweepTargets, args: []any{left, store.TargetNotDeclared}, count: &s.Failed})
			}
			return asks
		},
	})
	if err != nil {
		return store.Swept{}, err
	}
	q.lower(freed)
	s.More = s.Freed+s.Failed >= limit
	return s, nil
}

// Turn implements store.Queue.
func (q queue) Turn(ctx context.Context, name, owner string, d time.Duration) (bool, error) {
	n, err := q.one(ctx, "take a turn", q.store.sql.queue.turn, name, owner, micros(d))
	return n > 0, err
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
