package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
)

// Claim implements store.Queue, in one round trip. Whether a delivery keeps the
// order of its row is frozen in it: where a target's order was switched on or
// off, those of the other kind are claimed as they were queued.
//
// Two claims never get deliveries of one row of an ordered target: the later one
// may go only when the earlier is gone, and then it is gone for everybody.
func (q queue) Claim(ctx context.Context, c store.Claim) ([]*store.Delivery, error) {
	if c.Limit < 1 || !keepable(c.Only) || !keepable(c.Target) {
		return nil, nil
	}
	l := &q.store.lanes
	if c.Ordered {
		l.ordered.Store(true)
	}
	if c.Only != "" {
		var found []numberedDelivery
		err := q.run(ctx, errand{name: "claim a delivery", first: func() []ask {
			found = nil
			return []ask{{sql: q.store.sql.queue.claimOne, args: []any{c.Owner, c.Target, c.Only}, each: deliveries(&found)}}
		}})
		return bare(found), err
	}
	w := l.begin(c.Target, time.Now())
	found, err := q.claim(ctx, c, w)
	if err != nil && w.start {
		l.forget(c.Target)
	}
	return found, err
}

func (q queue) claim(ctx context.Context, c store.Claim, w where) ([]*store.Delivery, error) {
	l, sql := &q.store.lanes, &q.store.sql.queue
	var plain, ordered []numberedDelivery
	var f floors
	claimPlain := ask{sql: sql.claim, args: []any{c.Owner, c.Target, c.Limit, floorArg(w.due)}, each: deliveries(&plain)}
	claimOrdered := ask{sql: sql.claimOrdered, args: []any{c.Owner, c.Target, c.Limit, w.seq}, each: deliveries(&ordered)}
	own, other := claimPlain, claimOrdered
	if c.Ordered {
		own, other = claimOrdered, claimPlain
	}
	err := q.run(ctx, errand{name: "claim deliveries", first: func() []ask {
		plain, ordered = nil, nil
		asks := []ask{own}
		if w.others {
			asks = append(asks, other)
		}
		if w.start {
			asks = append(asks, ask{sql: sql.floors, args: []any{c.Target}, each: f.scan})
		}
		return asks
	}})
	if err != nil {
		return nil, err
	}
	if w.start {
		l.learn(c.Target, w, f, c.Ordered)
	}
	slices.SortFunc(plain, byDue)
	slices.SortFunc(ordered, bySeq)
	if len(ordered) > 0 {
		l.ordered.Store(true)
		l.claimed(c.Target, ordered[len(ordered)-1].seq)
	}
	if c.Ordered {
		return bare(append(ordered, plain...)), nil
	}
	return bare(append(plain, ordered...)), nil
}

// floorArg is the beginning of time where there is no floor.
func floorArg(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t
}

func (f *floors) scan(rows pgx.Rows) error {
	var due *time.Time
	var seq *int64
	err := rows.Scan(&f.now, &due, &seq)
	if due != nil {
		f.due = *due
	}
	if seq != nil {
		f.seq = *seq
	}
	return err
}

// Next implements store.Queue.
func (q queue) Next(ctx context.Context, targets []store.Lane) (map[string]time.Duration, error) {
	var names []string
	var from []time.Time
	now := time.Now()
	for _, t := range targets {
		if keepable(t.Target) {
			names, from = append(names, t.Target), append(from, floorArg(q.store.lanes.floorOf(t.Target, now)))
		}
	}
	next := map[string]time.Duration{}
	if len(names) == 0 {
		return next, nil
	}
	err := q.run(ctx, errand{name: "look for what is due", reads: true, first: func() []ask {
		return []ask{{sql: q.store.sql.queue.next, args: []any{names, from}, each: func(rows pgx.Rows) error {
			var target string
			var seconds float64
			if err := rows.Scan(&target, &seconds); err != nil {
				return err
			}
			wait := time.Duration(seconds * float64(time.Second))
			if known, there := next[target]; !there || wait < known {
				next[target] = wait
			}
			return nil
		}}}
	}})
	return next, err
}

// Held implements store.Queue.
func (q queue) Held(ctx context.Context, owner string, age time.Duration, limit int) ([]*store.Delivery, error) {
	var found []numberedDelivery
	err := q.run(ctx, errand{name: "read what is held", reads: true, first: func() []ask {
		found = nil
		return []ask{{sql: q.store.sql.queue.held, args: []any{owner, micros(age), max(0, limit)}, each: deliveries(&found)}}
	}})
	if slices.ContainsFunc(found, func(d numberedDelivery) bool { return d.Ordered }) {
		q.store.lanes.ordered.Store(true)
	}
	return bare(found), err
}
