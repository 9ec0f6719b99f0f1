// Package engine is the only door to rows: it authorises, validates, writes,
// logs and commits, and it is the only place that calls the store for rows.
package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Config is what an Engine stands on.
type Config struct {
	Tenant   string
	Origin   string // this instance
	Model    *schema.Model
	Policies map[string]*access.Policy // by entity; only entities of this datastore
	Store    store.Store
	Now      func() time.Time // defaults to time.Now
	NewID    func() string    // event and row ULIDs; strictly increasing in a process
	Secret   []byte           // seals cursors
	MaxRows  int              // defaults to 10000
	MaxQuery time.Duration    // defaults to 5 s
	Logger   *slog.Logger     // defaults to slog.Default()
}

// Engine serves the entities of one unit. Safe for concurrent use.
type Engine struct{}

// New compiles conditions and prepares an Engine. The error is document.Refusals.
func New(c Config) (*Engine, error) { panic("not written") }

// Grant judges whether the principal may take the action on the entity at all:
// fault entity_not_found, forbidden.
func (e *Engine) Grant(pr *access.Principal, entity string, a access.Action) (*access.Grant, error) {
	panic("not written")
}

// Member is one key of a JSON object as sent.
type Member struct {
	Name string
	Raw  json.RawMessage
}

// Body is a decoded JSON object, keys in the order sent.
type Body []Member

// DecodeBody reads exactly one JSON object: no duplicate key, no invalid UTF-8,
// nothing after it, at most 64 deep. Fault malformed_body.
func DecodeBody(data []byte) (Body, error) { panic("not written") }

// DecodeBodies reads a JSON array of objects, or NDJSON (ndjson true).
func DecodeBodies(data []byte, ndjson bool) ([]Body, error) { panic("not written") }

// Options go with one write.
type Options struct {
	IfMatch     string // header as sent; "" none
	IfNoneMatch string
	Key         string // Idempotency-Key; "" none (POST only)
	Request     string // hash of route and body that Key stands for
}

// Outcome is one written row. Row is nil where nothing is left to show (delete)
// or where the grant cannot read what was written.
type Outcome struct {
	Grant *access.Grant
	ID    value.Value
	Row   store.Row
	Again bool // an Idempotency-Key answered it; nothing was written
}

// Get returns the row the grant may read: fault not_found otherwise.
func (e *Engine) Get(ctx context.Context, g *access.Grant, id string) (store.Row, error) {
	panic("not written")
}

// Probe performs the read that opening a stream stands on: one row at most, under the grant.
func (e *Engine) Probe(ctx context.Context, g *access.Grant) error { panic("not written") }

// Create inserts one row.
func (e *Engine) Create(ctx context.Context, g *access.Grant, b Body, o Options) (*Outcome, error) {
	panic("not written")
}

// Replace is PUT.
func (e *Engine) Replace(ctx context.Context, g *access.Grant, id string, b Body, o Options) (*Outcome, error) {
	panic("not written")
}

// Patch merges top-level keys.
func (e *Engine) Patch(ctx context.Context, g *access.Grant, id string, b Body, o Options) (*Outcome, error) {
	panic("not written")
}

// Delete removes a row, or marks it where the entity inherits softdelete.
func (e *Engine) Delete(ctx context.Context, g *access.Grant, id string, o Options) (*Outcome, error) {
	panic("not written")
}

// Restore brings back a soft-deleted row.
func (e *Engine) Restore(ctx context.Context, g *access.Grant, id string, o Options) (*Outcome, error) {
	panic("not written")
}

// Purge removes a row for good.
func (e *Engine) Purge(ctx context.Context, g *access.Grant, id string, o Options) (*Outcome, error) {
	panic("not written")
}

// PatchMany and DeleteMany write every row that passes the filter in rawQuery and both the read and the action's row rules.
func (e *Engine) PatchMany(ctx context.Context, g *access.Grant, rawQuery string, b Body) (changed int, err error) {
	panic("not written")
}

// DeleteMany is PatchMany's sister.
func (e *Engine) DeleteMany(ctx context.Context, g *access.Grant, rawQuery string) (changed int, err error) {
	panic("not written")
}

// Bulk inserts many rows in one transaction and returns their ids in order.
func (e *Engine) Bulk(ctx context.Context, g *access.Grant, bs []Body, o Options) (ids []value.Value, again bool, err error) {
	panic("not written")
}

// Step is one write of a transaction.
type Step struct {
	Op     string // create, update, delete
	Entity string
	ID     string
	Data   Body
}

// Transaction takes all steps or none. A fault names the step as writes[i].
func (e *Engine) Transaction(ctx context.Context, pr *access.Principal, steps []Step, o Options) ([]*Outcome, error) {
	panic("not written")
}

// ListRequest is the query of a list.
type ListRequest struct {
	RawQuery string // filter…, sort, limit, offset, cursor, fields, count, deleted; anything else is bad_parameter
}

// Page is one page of a list.
type Page struct {
	Rows   []store.Row
	Keep   func(field int) bool // fields=; nil: all
	Limit  int
	Offset *int   // nil with a cursor
	Total  *int64 // nil without count=true
	Next   string // sealed cursor; "" at the end
}

// List returns the rows the grant may read.
func (e *Engine) List(ctx context.Context, g *access.Grant, r ListRequest) (*Page, error) {
	panic("not written")
}
