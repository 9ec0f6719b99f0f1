package outbox_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// queue is a store.Queue in memory, on the test's clock.
type queue struct {
	// fault, where set, is asked before each call (done: false) and after it (true);
	// an error is returned in place of the answer. It may block.
	fault func(ctx context.Context, call string, done bool) error

	mu        sync.Mutex
	rows      []*row // in the order in which they were queued
	byID      map[string]*row
	instances map[string]*instance
	turns     map[string]time.Time
	attempts  []store.Attempt
	calls     map[string]int
	claims    []store.Claim
}

type row struct {
	store.Delivery
	leased time.Time
	gone   bool
}

type instance struct {
	store.Instance
	until time.Time
}

var _ store.Queue = (*queue)(nil)

func newQueue() *queue {
	return &queue{byID: map[string]*row{}, instances: map[string]*instance{}, turns: map[string]time.Time{}, calls: map[string]int{}}
}

// call runs do as one transaction, with the faults around it.
func (q *queue) call(ctx context.Context, name string, do func(now time.Time)) error {
	if q.fault != nil {
		if err := q.fault(ctx, name, false); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	q.mu.Lock()
	q.calls[name]++
	do(time.Now())
	q.mu.Unlock()
	if q.fault != nil {
		return q.fault(ctx, name, true)
	}
	return nil
}

// enqueue is Tx.Enqueue, committed.
func (q *queue) enqueue(ds ...*store.Delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range ds {
		r := &row{Delivery: *d}
		r.Status, r.Due, r.Created = store.Pending, time.Now(), time.Now()
		if d.Owner != "" {
			r.Status, r.Epoch, r.leased = store.Claimed, 1, time.Now()
		}
		q.rows = append(q.rows, r)
		q.byID[r.ID] = r
	}
}

func (q *queue) Enlist(ctx context.Context, i store.Instance) error {
	return q.call(ctx, "Enlist", func(now time.Time) {
		q.instances[i.Owner] = &instance{i, now.Add(i.Lease)}
	})
}

func (q *queue) Renew(ctx context.Context, owner string) (held bool, err error) {
	err = q.call(ctx, "Renew", func(now time.Time) {
		if i := q.instances[owner]; i != nil && now.Before(i.until) {
			i.until, held = now.Add(i.Lease), true
		}
	})
	return held, err
}

func (q *queue) Resign(ctx context.Context, owner string) (freed int, err error) {
	err = q.call(ctx, "Resign", func(time.Time) {
		delete(q.instances, owner)
		freed = q.freeAll(func(r *row) bool { return r.Owner == owner })
	})
	return freed, err
}

func (q *queue) freeAll(which func(*row) bool) (n int) {
	for _, r := range q.rows {
		if !r.gone && r.Status == store.Claimed && which(r) {
			r.Status, r.Owner, r.Due = store.Pending, "", time.Now()
			n++
		}
	}
	return n
}

func (q *queue) Sweep(ctx context.Context, _ int) (s store.Swept, err error) {
	err = q.call(ctx, "Sweep", func(now time.Time) {
		declared := map[string]bool{}
		for owner, i := range q.instances {
			if !now.Before(i.until) {
				delete(q.instances, owner)
				s.Dead++
				continue
			}
			for _, target := range i.Targets {
				declared[target] = true
			}
		}
		s.Freed = q.freeAll(func(r *row) bool { return q.instances[r.Owner] == nil })
		for _, r := range q.rows {
			if !r.gone && r.Status == store.Pending && !declared[r.Target] {
				r.Status, r.LastError = store.Failed, store.TargetNotDeclared
				s.Failed++
			}
		}
	})
	return s, err
}

func (q *queue) Turn(ctx context.Context, name, _ string, d time.Duration) (mine bool, err error) {
	err = q.call(ctx, "Turn", func(now time.Time) {
		if mine = !now.Before(q.turns[name]); mine {
			q.turns[name] = now.Add(d)
		}
	})
	return mine, err
}

func (q *queue) Claim(ctx context.Context, c store.Claim) (ds []*store.Delivery, err error) {
	err = q.call(ctx, "Claim", func(now time.Time) {
		q.claims = append(q.claims, c)
		for _, r := range q.due(c.Target, c.Ordered) {
			if len(ds) == c.Limit || q.instances[c.Owner] == nil {
				break
			}
			if c.Only != "" && r.ID != c.Only || c.Only == "" && r.Due.After(now) {
				continue
			}
			r.Status, r.Owner, r.leased = store.Claimed, c.Owner, now
			r.Epoch++
			d := r.Delivery
			ds = append(ds, &d)
		}
	})
	if err != nil {
		return nil, err
	}
	return ds, nil
}

// due returns the pending rows of a target in the order in which they are claimed.
func (q *queue) due(target string, ordered bool) (rows []*row) {
	behind := map[string]bool{}
	for _, r := range q.rows {
		if r.gone || r.Target != target {
			continue
		}
		if r.Status == store.Pending && (!ordered || !behind[r.Subject]) {
			rows = append(rows, r)
		}
		behind[r.Subject] = true
	}
	if !ordered {
		slices.SortStableFunc(rows, func(a, b *row) int { return a.Due.Compare(b.Due) })
	}
	return rows
}

func (q *queue) leasedTo(owner string, l store.Lease) *row {
	r := q.byID[l.ID]
	if r == nil || r.gone || r.Epoch != l.Epoch || r.Owner != owner || r.Status != store.Claimed {
		return nil
	}
	return r
}

func (q *queue) Settle(ctx context.Context, owner string, outcomes []store.Settlement) (lost []string, err error) {
	err = q.call(ctx, "Settle", func(now time.Time) {
		q.rows = slices.DeleteFunc(q.rows, func(r *row) bool { return r.gone })
		for _, s := range outcomes {
			r := q.leasedTo(owner, s.Lease)
			if r == nil {
				lost = append(lost, s.Lease.ID)
				continue
			}
			r.Attempts, r.Owner, r.LastStatus, r.LastError = r.Attempts+1, "", s.Attempt.Status, s.Attempt.Error
			q.attempts = append(q.attempts, s.Attempt)
			switch s.Outcome {
			case store.Delivered:
				r.gone = true
			case store.Retried:
				r.Status, r.Due = store.Pending, now.Add(s.Wait)
			case store.GivenUp:
				r.Status = store.Failed
			}
		}
	})
	return lost, err
}

func (q *queue) Free(ctx context.Context, owner string, held []store.Lease) error {
	return q.call(ctx, "Free", func(now time.Time) {
		for _, l := range held {
			if r := q.leasedTo(owner, l); r != nil {
				r.Status, r.Owner, r.Due = store.Pending, "", now
			}
		}
	})
}

func (q *queue) Held(ctx context.Context, owner string, age time.Duration, limit int) (ds []*store.Delivery, err error) {
	err = q.call(ctx, "Held", func(now time.Time) {
		for _, r := range q.rows {
			if !r.gone && r.Status == store.Claimed && r.Owner == owner && now.Sub(r.leased) >= age && len(ds) < limit {
				d := r.Delivery
				ds = append(ds, &d)
			}
		}
	})
	return ds, err
}

func (q *queue) Next(ctx context.Context, lanes []store.Lane) (first map[string]time.Duration, err error) {
	first = map[string]time.Duration{}
	err = q.call(ctx, "Next", func(now time.Time) {
		for _, l := range lanes {
			for _, r := range q.due(l.Target, l.Ordered) {
				if in, known := first[l.Target]; !known || r.Due.Sub(now) < in {
					first[l.Target] = r.Due.Sub(now)
				}
			}
		}
	})
	return first, err
}
