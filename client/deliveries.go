package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// The calls below are the operator's: they need the role admin.role, and see the
// deliveries of the caller's tenant alone. Each returns the answer as it came;
// docs/reference/http.md says what is in it.

// Pending returns a page of the deliveries that wait, failed ones first. The
// query may hold target, status, limit and cursor.
func (c *Client) Pending(ctx context.Context, query url.Values) (json.RawMessage, error) {
	return c.deliveries(ctx, http.MethodGet, "pending", query, nil)
}

// DeliveryStats returns how deep the queue is, counters, and the declared targets.
func (c *Client) DeliveryStats(ctx context.Context) (json.RawMessage, error) {
	return c.deliveries(ctx, http.MethodGet, "stats", nil, nil)
}

// Attempts returns the attempt log of one delivery.
func (c *Client) Attempts(ctx context.Context, id string) (json.RawMessage, error) {
	return c.deliveries(ctx, http.MethodGet, "attempts", url.Values{"id": {id}}, nil)
}

// Drain has the due deliveries attempted now. The server answers after half a
// minute at the latest, with "more" true where some remain.
func (c *Client) Drain(ctx context.Context) (json.RawMessage, error) {
	return c.deliveries(ctx, http.MethodPost, "drain", nil, nil)
}

// Requeue puts failed deliveries back.
func (c *Client) Requeue(ctx context.Context, which Failed) (json.RawMessage, error) {
	return c.deliveries(ctx, http.MethodPost, "requeue", nil, which)
}

// Skip removes failed and waiting deliveries for good: they are never sent.
func (c *Client) Skip(ctx context.Context, ids ...string) (json.RawMessage, error) {
	return c.deliveries(ctx, http.MethodPost, "skip", nil, Failed{IDs: ids})
}

// TestTarget has a signed test event sent to a target, and returns its answer.
func (c *Client) TestTarget(ctx context.Context, target string) (json.RawMessage, error) {
	return c.deliveries(ctx, http.MethodPost, "test", nil, map[string]string{"target": target})
}

func (c *Client) deliveries(ctx context.Context, method, action string, query url.Values, body any) (json.RawMessage, error) {
	return c.call(ctx, method, query, body, "admin", "data", "events", action)
}

// Failed names deliveries: by IDs alone, or those for Target that were queued
// from Since up to, but not at, Until.
type Failed struct {
	IDs    []string  `json:"ids,omitempty"`
	Target string    `json:"target,omitempty"`
	Since  time.Time `json:"since,omitzero"` // zero: without bound
	Until  time.Time `json:"until,omitzero"`
}
