package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Page is one page of a list.
type Page struct {
	Items  []json.RawMessage `json:"items"`
	Limit  int               `json:"limit"`
	Offset int               `json:"offset"`
	Total  *int64            `json:"total"` // nil unless asked for with count=true
	Next   string            `json:"next"`  // the cursor of the next page; "" on the last
}

// Create stores a row and returns it as the caller may read it. A caller that
// may not read it gets its id alone.
func (c *Client) Create(ctx context.Context, entity string, row any) (json.RawMessage, error) {
	return c.call(ctx, http.MethodPost, nil, row, "data", entity)
}

// Get returns one row as the caller may read it.
func (c *Client) Get(ctx context.Context, entity, id string) (json.RawMessage, error) {
	return c.call(ctx, http.MethodGet, nil, nil, "data", entity, id)
}

// List returns a page of rows. The query may hold filter, sort, limit, offset
// or cursor, fields and count.
func (c *Client) List(ctx context.Context, entity string, query url.Values) (Page, error) {
	return Decode[Page](c.call(ctx, http.MethodGet, query, nil, "data", entity))
}

// Patch changes the fields that changes names and returns the row; nil where
// the caller may not read the result.
func (c *Client) Patch(ctx context.Context, entity, id string, changes any) (json.RawMessage, error) {
	return c.call(ctx, http.MethodPatch, nil, changes, "data", entity, id)
}

// Replace stores row in the place of the one with that id and returns it; nil
// where the caller may not read the result.
func (c *Client) Replace(ctx context.Context, entity, id string, row any) (json.RawMessage, error) {
	return c.call(ctx, http.MethodPut, nil, row, "data", entity, id)
}

// Delete removes one row.
func (c *Client) Delete(ctx context.Context, entity, id string) error {
	_, err := c.call(ctx, http.MethodDelete, nil, nil, "data", entity, id)
	return err
}

// Decode turns the answer of a call into a T:
//
//	order, err := client.Decode[Order](c.Get(ctx, "order", id))
//
// An empty answer is the zero T.
func Decode[T any](raw json.RawMessage, err error) (T, error) {
	var value T
	if err != nil || len(raw) == 0 {
		return value, err
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return value, fmt.Errorf("client: decode the answer: %w", err)
	}
	return value, nil
}
