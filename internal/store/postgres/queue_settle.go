package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/store"
)

// Settle implements store.Queue, in one round trip, or two where order is kept.
//
// Where the connection breaks at the commit it asks, on another one, what became
// of it: what was settled is in the attempt log under its epoch. So it is
// ErrUnknown only where the database stays out of reach; who then repeats the
// call is told of leases as lost that the first one may have settled.
func (q queue) Settle(ctx context.Context, owner string, outcomes []store.Settlement) (lost []string, err error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	left, settled := outcomes, map[store.Lease]bool{}
	for again := 0; ; again++ {
		var done map[store.Lease]bool
		if done, err = q.settle(ctx, owner, left); err == nil {
			settled = union(settled, done)
			break
		}
		if again == retries || !errors.Is(err, store.ErrUnknown) {
			return nil, err
		}
		done, asked := q.logged(context.WithoutCancel(ctx), left)
		if asked != nil {
			return nil, err
		}
		settled = union(settled, done)
		left = slices.DeleteFunc(slices.Clone(left), func(s store.Settlement) bool { return settled[s.Lease] })
		if len(left) == 0 {
			break
		}
	}
	for _, o := range outcomes {
		if !settled[o.Lease] {
			lost = append(lost, o.Lease.ID)
		}
	}
	return lost, nil
}

func union(a, b map[store.Lease]bool) map[store.Lease]bool {
	for l := range b {
		a[l] = true
	}
	return a
}

// settledRow is an ordered delivery that is gone, or one that is pending again.
type settledRow struct {
	key  rowKey
	seq  int64
	gone bool
}

// settle settles what is held and returns that.
func (q queue) settle(ctx context.Context, owner string, outcomes []store.Settlement) (settled map[store.Lease]bool, err error) {
	args, epochs := settleArgs(owner, outcomes)
	var ordered []settledRow
	e := errand{name: "settle deliveries", first: func() []ask {
		settled, ordered = map[store.Lease]bool{}, nil
		return []ask{{sql: q.store.sql.queue.settle, args: args, each: func(rows pgx.Rows) error {
			var id, target string
			var outcome store.Outcome
			var inOrder bool
			var entity, subject *string
			r := settledRow{}
			if err := rows.Scan(&id, &outcome, &target, &inOrder, &r.seq, &entity, &subject); err != nil {
				return err
			}
			settled[store.Lease{ID: id, Epoch: epochs[id]}] = true
			if inOrder {
				r.key, r.gone = rowKey{target, *entity, *subject}, outcome == store.Delivered
				ordered = append(ordered, r)
			}
			return nil
		}}}
	}}
	var after lifted
	if q.store.lanes.ordered.Load() {
		e.then = func() []ask { return q.lift(ordered, &after, false) }
	}
	if err := q.run(ctx, e); err != nil {
		return nil, err
	}
	q.lower(after)
	for _, r := range ordered {
		q.store.lanes.lower(r.key.target, r.seq)
	}
	if e.then == nil && len(ordered) > 0 { // the first that is seen here
		q.store.lanes.ordered.Store(true)
		err = q.run(ctx, errand{name: "let deliveries go on", first: func() []ask { return q.lift(ordered, &after, false) }})
		q.lower(after)
	}
	return settled, err
}

// settleArgs are the arguments of the statement, sorted by id, and the epoch of each id.
func settleArgs(owner string, outcomes []store.Settlement) (args []any, epochs map[string]int64) {
	sorted := slices.SortedFunc(slices.Values(outcomes), func(a, b store.Settlement) int { return cmp.Compare(a.Lease.ID, b.Lease.ID) })
	n := len(sorted)
	ids, epochOf, outcome, waits := make([]string, 0, n), make([]int64, 0, n), make([]int16, 0, n), make([]int64, 0, n)
	at, took, status, texts := make([]time.Time, 0, n), make([]int64, 0, n), make([]int32, 0, n), make([]string, 0, n)
	epochs = make(map[string]int64, n)
	for _, s := range sorted {
		if _, twice := epochs[s.Lease.ID]; twice || !keepable(s.Lease.ID) {
			continue
		}
		epochs[s.Lease.ID] = s.Lease.Epoch
		ids, epochOf = append(ids, s.Lease.ID), append(epochOf, s.Lease.Epoch)
		outcome, waits = append(outcome, int16(s.Outcome)), append(waits, micros(s.Wait))
		at, took = append(at, s.Attempt.At), append(took, int64(s.Attempt.Took))
		status, texts = append(status, int32(s.Attempt.Status)), append(texts, kept(s.Attempt.Error)) // #nosec G115 -- of HTTP
	}
	return []any{owner, ids, epochOf, outcome, waits, at, took, status, texts}, epochs
}

// logged returns those of the leases whose attempt is in the log.
func (q queue) logged(ctx context.Context, outcomes []store.Settlement) (map[store.Lease]bool, error) {
	args, _ := settleArgs("", outcomes)
	found := map[store.Lease]bool{}
	err := q.run(ctx, errand{name: "ask what was settled", reads: true, first: func() []ask {
		return []ask{{sql: q.store.sql.queue.settled, args: args[1:3], each: func(rows pgx.Rows) error {
			var l store.Lease
			err := rows.Scan(&l.ID, &l.Epoch)
			found[l] = true
			return err
		}}}
	}})
	return found, err
}

// lifted are deliveries that may go now, by target the lowest number.
type lifted []settledRow

func (q queue) lower(rows lifted) {
	for _, r := range rows {
		q.store.lanes.lower(r.key.target, r.seq)
	}
}

// lift lets the first of each row go whose delivery is gone. It reads the rows
// after it has locked their targets: whoever removes deliveries that are pending
// (alone) shuts out whoever settles those that were claimed, one a row at most.
func (q queue) lift(rows []settledRow, into *lifted, alone bool) []ask {
	var targets, entities, subjects []string
	locks := map[string]bool{}
	for _, r := range rows {
		if r.gone {
			targets, entities, subjects = append(targets, r.key.target), append(entities, r.key.entity), append(subjects, r.key.subject)
			locks[r.key.target] = true
		}
	}
	if len(targets) == 0 {
		return nil
	}
	lock := "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 0))"
	if alone {
		lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
	}
	var asks []ask
	for _, target := range sortedKeys(locks) {
		asks = append(asks, ask{sql: lock, args: []any{q.store.ns + "_rowcast_deliveries " + target}})
	}
	*into = nil
	return append(asks, ask{sql: q.store.sql.queue.lift, args: []any{targets, entities, subjects}, each: func(found pgx.Rows) error {
		var r settledRow
		err := found.Scan(&r.key.target, &r.seq)
		*into = append(*into, r)
		return err
	}})
}

// Free implements store.Queue.
func (q queue) Free(ctx context.Context, owner string, held []store.Lease) error {
	if len(held) == 0 {
		return nil
	}
	var ids []string
	var epochs []int64
	for _, l := range held {
		if keepable(l.ID) {
			ids, epochs = append(ids, l.ID), append(epochs, l.Epoch)
		}
	}
	var freed []settledRow
	err := q.run(ctx, errand{name: "free deliveries", first: func() []ask {
		freed = nil
		return []ask{{sql: q.store.sql.queue.free, args: []any{owner, ids, epochs}, each: pendingAgain(&freed)}}
	}})
	q.lower(freed)
	return err
}

// pendingAgain gathers ordered deliveries that a statement made pending.
func pendingAgain(into *[]settledRow) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var r settledRow
		var ordered bool
		err := rows.Scan(&r.key.target, &ordered, &r.seq)
		if ordered {
			*into = append(*into, r)
		}
		return err
	}
}
