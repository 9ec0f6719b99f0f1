package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
)

// candidate is a delivery that an operator wants moved.
type candidate struct {
	id      string
	status  store.DeliveryStatus
	ordered bool
	row     settledRow
}

func candidates(into *[]candidate) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var c candidate
		err := rows.Scan(&c.id, &c.status, &c.ordered, &c.row.seq, &c.row.key.target, &c.row.key.entity, &c.row.key.subject)
		*into = append(*into, c)
		return err
	}
}

// Requeue implements store.Queue.
func (q queue) Requeue(ctx context.Context, r store.Requeue) (m store.Moved, err error) {
	sql := &q.store.sql.queue
	look := ask{sql: sql.moveIDs, args: []any{keptIDs(r.IDs)}}
	if len(r.IDs) == 0 {
		if r.Limit < 1 || !keepable(r.Target) || !slices.Contains(r.Declared, r.Target) {
			return m, nil
		}
		look = ask{sql: sql.moveRange, args: []any{r.Target, orNull(r.Since), orNull(r.Until), r.Limit + 1}}
	}
	var found []candidate
	var pending []settledRow
	look.each = candidates(&found)
	err = q.run(ctx, errand{
		name:  "requeue deliveries",
		first: func() []ask { found, pending = nil, nil; return []ask{look} },
		then: func() []ask {
			m = requeueable(r, found)
			if len(m.IDs) == 0 {
				return nil
			}
			waits := make([]int64, len(m.IDs))
			for i := range waits {
				waits[i] = micros(time.Duration(i+1) * r.Pace)
			}
			return []ask{{sql: sql.requeue, args: []any{m.IDs, waits}, each: pendingAgain(&pending)}}
		},
	})
	if err != nil {
		return store.Moved{}, err
	}
	q.lower(pending)
	return m, nil
}

// orNull is NULL for a bound that is not given.
func orNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// requeueable sorts out what a requeue moves: of ids in the order in which they
// were given, of a range up to its limit.
func requeueable(r store.Requeue, found []candidate) (m store.Moved) {
	refuse := func(c candidate) string {
		switch {
		case c.status == store.Failed && !slices.Contains(r.Declared, c.row.key.target):
			return store.ReasonTarget
		case c.status == store.Failed:
			return ""
		}
		return inState(c.status)
	}
	if len(r.IDs) > 0 {
		return sortOut(r.IDs, found, refuse)
	}
	if m.More = len(found) > r.Limit; m.More {
		found = found[:r.Limit]
	}
	ids := make([]string, len(found))
	for i, c := range found {
		ids[i] = c.id
	}
	more := m.More
	m = sortOut(ids, found, refuse)
	m.More = more
	return m
}

// inState is the reason of a state.
func inState(s store.DeliveryStatus) string {
	if s == store.Claimed {
		return store.ReasonClaimed
	}
	return store.ReasonPending
}

// sortOut goes through the ids, each once; refuse returns why one is not moved.
func sortOut(ids []string, found []candidate, refuse func(candidate) string) (m store.Moved) {
	known := make(map[string]candidate, len(found))
	for _, c := range found {
		known[c.id] = c
	}
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			continue
		}
		seen[id] = true
		c, there := known[id]
		reason := store.ReasonUnknown
		if there {
			reason = refuse(c)
		}
		if reason != "" {
			m.Refused = append(m.Refused, store.Unmoved{ID: id, Reason: reason})
			continue
		}
		m.IDs = append(m.IDs, id)
		if !slices.Contains(m.Targets, c.row.key.target) {
			m.Targets = append(m.Targets, c.row.key.target)
		}
	}
	return m
}

// Skip implements store.Queue.
func (q queue) Skip(ctx context.Context, ids []string) (m store.Moved, err error) {
	sql := &q.store.sql.queue
	var found []candidate
	var after lifted
	err = q.run(ctx, errand{
		name: "skip deliveries",
		first: func() []ask {
			found, after = nil, nil
			return []ask{{sql: sql.moveIDs, args: []any{keptIDs(ids)}, each: candidates(&found)}}
		},
		then: func() []ask {
			m = sortOut(ids, found, func(c candidate) string {
				if c.status == store.Claimed {
					return store.ReasonClaimed
				}
				return ""
			})
			if len(m.IDs) == 0 {
				return nil
			}
			var gone []settledRow
			for _, c := range found {
				if c.ordered && c.status != store.Claimed {
					c.row.gone = true
					gone = append(gone, c.row)
				}
			}
			return append([]ask{{sql: sql.skip, args: []any{m.IDs}}}, q.lift(gone, &after, true)...)
		},
	})
	if err != nil {
		return store.Moved{}, err
	}
	q.lower(after)
	return m, nil
}
