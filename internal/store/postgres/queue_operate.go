package postgres

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
)

// List implements store.Queue.
func (q queue) List(ctx context.Context, f store.DeliveryFilter) ([]*store.Delivery, error) {
	if f.Limit < 1 || !keepable(f.Target) || !keepable(f.After) {
		return nil, nil
	}
	var failed, live []numberedDelivery
	err := q.run(ctx, errand{name: "list deliveries", reads: true, first: func() (asks []ask) {
		failed, live = nil, nil
		if !f.AfterLive && (f.Status == 0 || f.Status == store.Failed) {
			asks = append(asks, ask{sql: q.store.sql.queue.listFailed, args: []any{f.Target, f.After, f.Limit}, each: deliveries(&failed)})
		}
		if f.Status != store.Failed {
			after := f.After
			if !f.AfterLive {
				after = "" // the live ones come after all that failed
			}
			asks = append(asks, ask{sql: q.store.sql.queue.listLive, args: []any{f.Target, after, f.Limit, int16(f.Status)}, each: deliveries(&live)})
		}
		return asks
	}})
	all := bare(append(failed, live...))
	return all[:min(len(all), f.Limit)], err
}

// Depths implements store.Queue.
func (q queue) Depths(ctx context.Context) ([]store.Depth, error) {
	var found map[string]*store.Depth
	err := q.run(ctx, errand{name: "count deliveries", reads: true, first: func() []ask {
		found = map[string]*store.Depth{}
		return []ask{{sql: q.store.sql.queue.depths, each: func(rows pgx.Rows) error { return addDepth(found, rows) }}}
	}})
	if err != nil {
		return nil, err
	}
	depths := make([]store.Depth, 0, len(found))
	for _, target := range slices.Sorted(maps.Keys(found)) {
		depths = append(depths, *found[target])
	}
	return depths, nil
}

// addDepth adds what was counted of one target in one state.
func addDepth(found map[string]*store.Depth, rows pgx.Rows) error {
	var target string
	var status store.DeliveryStatus
	var n, blocked int64
	var due *time.Time
	if err := rows.Scan(&target, &status, &n, &blocked, &due); err != nil {
		return err
	}
	d := found[target]
	if d == nil {
		d = &store.Depth{Target: target}
		found[target] = d
	}
	switch status {
	case store.Pending:
		d.Pending, d.Blocked = d.Pending+n, d.Blocked+blocked
		if first := due.UTC(); d.OldestDue.IsZero() || first.Before(d.OldestDue) {
			d.OldestDue = first
		}
	case store.Claimed:
		d.Claimed = n
	case store.Failed:
		d.Failed = n
	}
	return nil
}

// Attempts implements store.Queue.
func (q queue) Attempts(ctx context.Context, id string) ([]store.Attempt, error) {
	if !keepable(id) {
		return nil, nil
	}
	var log []store.Attempt
	err := q.run(ctx, errand{name: "read the attempt log", reads: true, first: func() []ask {
		log = nil
		return []ask{{sql: q.store.sql.queue.attempts, args: []any{id}, each: func(rows pgx.Rows) error {
			var a store.Attempt
			err := rows.Scan(&a.Delivery, &a.Target, &a.Number, &a.At, &a.Took, &a.Status, &a.Error, &a.Outcome)
			a.At = a.At.UTC()
			log = append(log, a)
			return err
		}}}
	}})
	return log, err
}

// PruneAttempts implements store.Queue.
func (q queue) PruneAttempts(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	if limit < 1 {
		return false, nil
	}
	n, err := q.one(ctx, "prune the attempt log", q.store.sql.queue.pruneAttempts, before, limit)
	return n >= limit, err
}
