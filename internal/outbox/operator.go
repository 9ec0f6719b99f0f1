package outbox

import (
	"context"
	"encoding/json"
	"time"

	"github.com/rowcast/rowcast/internal/failpoint"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// requeuePace is between two deliveries that are put back together.
const requeuePace = 10 * time.Millisecond

// testEvent is the event type, and the topic, of what Test sends.
const testEvent = "rowcast.test"

// List returns deliveries without their bodies; see store.Queue.
func (r *Relay) List(ctx context.Context, f store.DeliveryFilter) ([]*store.Delivery, error) {
	return r.config.Queue.List(ctx, f)
}

// Attempts returns the attempt log of a delivery; see store.Queue.
func (r *Relay) Attempts(ctx context.Context, id string) ([]store.Attempt, error) {
	return r.config.Queue.Attempts(ctx, id)
}

// Requeue puts failed deliveries back and has their lanes go on at once, an open
// breaker's with the probe. Declared and, where it is zero, Pace are filled in;
// see store.Queue.
func (r *Relay) Requeue(ctx context.Context, q store.Requeue) (store.Moved, error) {
	q.Declared = r.names
	if q.Pace == 0 {
		q.Pace = requeuePace
	}
	failpoint.Hit(failpoint.BeforeRequeue)
	moved, err := r.config.Queue.Requeue(ctx, q)
	failpoint.Hit(failpoint.AfterRequeue)
	r.moved(moved)
	return moved, err
}

// Skip removes deliveries for good; what waited behind them goes on at once. See
// store.Queue.
func (r *Relay) Skip(ctx context.Context, ids []string) (store.Moved, error) {
	moved, err := r.config.Queue.Skip(ctx, ids)
	r.moved(moved)
	return moved, err
}

// moved tells the lanes.
func (r *Relay) moved(m store.Moved) {
	now := time.Now()
	for _, target := range m.Targets {
		if l := r.lanes[target]; l != nil {
			l.probeNow(now)
		}
	}
}

// Test sends a signed test event to a target at once and returns what came of it.
// It is in no queue, is not repeated, and counts nowhere. ErrNoTarget.
func (r *Relay) Test(ctx context.Context, target string) (post.Result, error) {
	l := r.lanes[target]
	if l == nil {
		return post.Result{}, ErrNoTarget
	}
	now := r.config.Now().UTC().Truncate(time.Microsecond)
	d := &store.Delivery{ID: "U" + r.config.NewID(), Target: target, Topic: testEvent, Event: testEvent, Created: now, Due: now}
	body, err := json.Marshal(struct {
		ID     string    `json:"id"`
		Type   string    `json:"type"`
		Time   time.Time `json:"time"`
		Tenant string    `json:"tenant,omitempty"`
	}{d.ID, testEvent, now, r.config.Tenant})
	if err != nil {
		return post.Result{}, err
	}
	d.Body = body
	return l.poster.Post(ctx, d), nil
}
