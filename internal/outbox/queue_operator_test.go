package outbox_test

import (
	"context"
	"slices"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

func (q *queue) List(ctx context.Context, f store.DeliveryFilter) (ds []*store.Delivery, err error) {
	err = q.call(ctx, "List", func(time.Time) {
		for _, r := range q.rows {
			if !r.gone && (f.Target == "" || f.Target == r.Target) && (f.Status == 0 || f.Status == r.Status) {
				d := r.Delivery
				d.Body = nil
				ds = append(ds, &d)
			}
		}
	})
	return ds, err
}

func (q *queue) Depths(ctx context.Context) (depths []store.Depth, err error) {
	err = q.call(ctx, "Depths", func(time.Time) {
		byTarget := map[string]*store.Depth{}
		for _, r := range q.rows {
			if r.gone {
				continue
			}
			if byTarget[r.Target] == nil {
				byTarget[r.Target] = &store.Depth{Target: r.Target}
			}
			switch d := byTarget[r.Target]; r.Status {
			case store.Claimed:
				d.Claimed++
			case store.Failed:
				d.Failed++
			case store.Pending:
				d.Pending++
			}
		}
		for _, d := range byTarget {
			depths = append(depths, *d)
		}
	})
	return depths, err
}

func (q *queue) Attempts(ctx context.Context, id string) (all []store.Attempt, err error) {
	err = q.call(ctx, "Attempts", func(time.Time) {
		for _, a := range q.attempts {
			if a.Delivery == id {
				all = append(all, a)
			}
		}
	})
	return all, err
}

func (q *queue) Requeue(ctx context.Context, w store.Requeue) (m store.Moved, err error) {
	err = q.call(ctx, "Requeue", func(now time.Time) {
		for _, r := range q.rows {
			if r.gone || r.Status != store.Failed || !slices.Contains(w.IDs, r.ID) || !slices.Contains(w.Declared, r.Target) {
				continue
			}
			m.IDs = append(m.IDs, r.ID)
			r.Status, r.Attempts, r.Due = store.Pending, 0, now.Add(time.Duration(len(m.IDs))*w.Pace)
			if !slices.Contains(m.Targets, r.Target) {
				m.Targets = append(m.Targets, r.Target)
			}
		}
	})
	return m, err
}

func (q *queue) Skip(ctx context.Context, ids []string) (m store.Moved, err error) {
	err = q.call(ctx, "Skip", func(time.Time) {
		for _, r := range q.rows {
			if r.gone || r.Status == store.Claimed || !slices.Contains(ids, r.ID) {
				continue
			}
			r.gone = true
			m.IDs = append(m.IDs, r.ID)
			if !slices.Contains(m.Targets, r.Target) {
				m.Targets = append(m.Targets, r.Target)
			}
		}
	})
	return m, err
}

func (q *queue) PruneAttempts(ctx context.Context, before time.Time, limit int) (more bool, err error) {
	err = q.call(ctx, "PruneAttempts", func(time.Time) {
		removed := 0
		q.attempts = slices.DeleteFunc(q.attempts, func(a store.Attempt) bool {
			old := a.At.Before(before)
			if old {
				removed++
			}
			return old && removed <= limit
		})
		more = removed > limit
	})
	return more, err
}

// left returns the deliveries that are in the queue, by status.
func (q *queue) left(status store.DeliveryStatus) (ds []store.Delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.rows {
		if !r.gone && (status == 0 || r.Status == status) {
			ds = append(ds, r.Delivery)
		}
	}
	return ds
}

// called returns how often a method was called.
func (q *queue) called(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.calls[name]
}

// logged returns how many attempts are in the log.
func (q *queue) logged() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.attempts)
}
