package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// Enqueue implements store.Tx. The rows are sent with COMMIT: they cost no round
// trip, and their numbers are drawn after every lock that the work takes, which
// puts the deliveries of one row into the order of its changes.
func (t *tx) Enqueue(deliveries ...*store.Delivery) error {
	if t.conn == nil {
		return errReaderEnded
	}
	for _, d := range deliveries {
		for _, text := range []string{d.ID, d.Target, d.Topic, d.Event, d.EventID, d.Entity, d.Subject, d.Owner} {
			if !keepable(text) {
				return fmt.Errorf("queue delivery %q: a text with NUL or not in UTF-8, which PostgreSQL cannot keep", d.ID)
			}
		}
		if d.ID == "" {
			return errors.New("queue a delivery: it has no id")
		}
	}
	t.queued = append(t.queued, deliveries...)
	return t.lost
}

// rowKey names the row of an ordered delivery.
type rowKey struct{ target, entity, subject string }

func keyOf(d *store.Delivery) rowKey { return rowKey{d.Target, d.Entity, d.Subject} }

// queueInsert is what inserts deliveries, in their order.
func (s *Store) queueInsert(deliveries []*store.Delivery) []statement {
	if len(deliveries) == 0 {
		return nil
	}
	var ids, targets, topics, events, eventIDs, entities, subjects, owners []string
	var ordered, after []bool
	var bodies [][]byte
	var created []time.Time
	seen := map[rowKey]bool{}
	for _, d := range deliveries {
		ids, targets, topics = append(ids, d.ID), append(targets, d.Target), append(topics, d.Topic)
		events, eventIDs = append(events, d.Event), append(eventIDs, d.EventID)
		entities, subjects = append(entities, d.Entity), append(subjects, d.Subject)
		owners, created = append(owners, d.Owner), append(created, d.Created)
		bodies = append(bodies, append([]byte{}, d.Body...)) // nil would be NULL
		ordered, after = append(ordered, d.Ordered), append(after, d.Ordered && seen[keyOf(d)])
		if d.Ordered {
			seen[keyOf(d)] = true
		}
	}
	insert := statement{sql: s.sql.queue.enqueue, args: []any{ids, targets, topics, events, eventIDs, entities, subjects, ordered, bodies, created, owners, after}}
	if len(seen) == 0 {
		return []statement{insert}
	}
	s.lanes.ordered.Store(true)
	insert.sql = s.sql.queue.enqueueOrdered
	return []statement{{sql: pinOrdered}, insert}
}

// pinOrdered is pinned for the end of a work.
const pinOrdered = `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`
