package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/rowcast/rowcast/internal/store"
)

// queue implements store.Queue.
type queue struct{ store *Store }

var _ store.Queue = queue{}

var errUnbuilt = errors.New("the delivery queue is not built yet")

// Queue implements store.Store.
func (s *Store) Queue() store.Queue { return queue{s} }

// Enqueue implements store.Tx.
func (t *tx) Enqueue(...*store.Delivery) error { return errUnbuilt }

func (q queue) Enlist(context.Context, store.Instance) error    { return errUnbuilt }
func (q queue) Renew(context.Context, string) (bool, error)     { return false, errUnbuilt }
func (q queue) Resign(context.Context, string) (int, error)     { return 0, errUnbuilt }
func (q queue) Sweep(context.Context, int) (store.Swept, error) { return store.Swept{}, errUnbuilt }
func (q queue) Turn(context.Context, string, string, time.Duration) (bool, error) {
	return false, errUnbuilt
}
func (q queue) Claim(context.Context, store.Claim) ([]*store.Delivery, error) { return nil, errUnbuilt }
func (q queue) Settle(context.Context, string, []store.Settlement) ([]string, error) {
	return nil, errUnbuilt
}
func (q queue) Free(context.Context, string, []store.Lease) error { return errUnbuilt }
func (q queue) Held(context.Context, string, time.Duration, int) ([]*store.Delivery, error) {
	return nil, errUnbuilt
}
func (q queue) Next(context.Context, []store.Lane) (map[string]time.Duration, error) {
	return nil, errUnbuilt
}
func (q queue) List(context.Context, store.DeliveryFilter) ([]*store.Delivery, error) {
	return nil, errUnbuilt
}
func (q queue) Depths(context.Context) ([]store.Depth, error)             { return nil, errUnbuilt }
func (q queue) Attempts(context.Context, string) ([]store.Attempt, error) { return nil, errUnbuilt }
func (q queue) Requeue(context.Context, store.Requeue) (store.Moved, error) {
	return store.Moved{}, errUnbuilt
}
func (q queue) Skip(context.Context, []string) (store.Moved, error)         { return store.Moved{}, errUnbuilt }
func (q queue) PruneAttempts(context.Context, time.Time, int) (bool, error) { return false, errUnbuilt }
