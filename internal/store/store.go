// Package store is the port to a database: rows of declared entities, and the
// ordered change log that is written in the same transaction.
//
// A driver promises: a Write is acknowledged only after its transaction is
// durable; log rows are numbered so that reading by Seq sees them in an order
// in which each row's changes stand in commit order, and none appears later
// below a number already read; a View sees one snapshot. storetest proves it.
// It may import value, schema and predicate.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// Row is one row: a cell for each of Entity.Fields, in that order.
type Row = []value.Value

// Store is one open datastore. Safe for concurrent use.
type Store interface {
	// Migrate creates missing tables, columns and indexes for the model's
	// entities (given: those of this datastore), and refuses what would lose data.
	Migrate(ctx context.Context, plan Plan) (Report, error)
	// Write runs work in a transaction and returns after it is durable. ctx
	// bounds only the wait for its turn. work.Run may run more than once (a
	// retry): it must start from its inputs each time. An error from Run undoes
	// what it did, and nothing else.
	Write(ctx context.Context, work Work) error
	// View runs fn on one snapshot. fn must not wait on a client.
	View(ctx context.Context, fn func(Reader) error) error
	// Secret returns the 32 bytes kept under name in this datastore, made at first use.
	Secret(ctx context.Context, name string) ([]byte, error)
	// Prune removes up to limit log rows older than before and moves the floor in
	// the same transaction; likewise idempotency records older than 24 hours. It
	// reports whether more remain.
	Prune(ctx context.Context, before time.Time, limit int) (more bool, err error)
	// Queue is the datastore's delivery queue.
	Queue() Queue
	// Ping reports whether the datastore can be reached.
	Ping(ctx context.Context) error
	// Close finishes what is queued and releases everything.
	Close() error
}

// Plan is what Migrate makes true.
type Plan struct {
	Entities []*schema.Entity
	Indexes  map[*schema.Entity][][]int // further indexes, by field positions
}

// Report says what Migrate did and noticed.
type Report struct {
	Created  []string // tables, columns and indexes made
	Warnings []string // e.g. a column the schema no longer names
}

// Work is one unit of writing.
type Work struct {
	Run func(ctx context.Context, tx Tx) error
	// Alone asks for a transaction of its own (Go handlers, /data/transaction),
	// bounded by Deadline: past it statements fail and the work is undone with
	// ErrTimeout. Otherwise several works may share one, a savepoint each.
	Alone    bool
	Deadline time.Duration // for Alone; 0: 5 s
}

// Reader reads rows and the log on one snapshot.
type Reader interface {
	// Get returns the raw row, deleted or not. ErrNotFound.
	Get(e *schema.Entity, id value.Value) (Row, error)
	// GetMany returns the rows there are, in no set order.
	GetMany(e *schema.Entity, ids []value.Value) ([]Row, error)
	Select(e *schema.Entity, q Query) ([]Row, error)
	// Count counts what Where and Deleted select; the rest of the Query is not looked at.
	Count(e *schema.Entity, q Query) (int64, error)

	// Log returns up to limit log rows above the sequence number, ascending, and
	// none above a number that may still come to be there.
	Log(after int64, limit int) ([]*LogRow, error)
	// Head is the position of the last settled log row, pruned or not; Floor that
	// of the last one pruned. Zero when there is none. Head may be ErrUnsettled.
	Head() (Position, error)
	Floor() (Position, error)
	// Find returns the sequence number of an event id. The last row pruned is
	// still found, here and by At: a bookmark that stands there has missed nothing.
	Find(eventID string) (seq int64, found bool, err error)
	// At returns the event id at a sequence number.
	At(seq int64) (eventID string, found bool, err error)
}

// Tx reads what it wrote, and writes.
type Tx interface {
	Reader
	// Insert adds a row. Where the id of an int or bigint key is NULL the store
	// draws it, never one used before, and sets it in row. *ConflictError; a
	// *fault.Fault with code invalid where a text is too long for an index.
	Insert(e *schema.Entity, row Row) error
	// Update sets the named cells of the row with that id. *ConflictError,
	// ErrNotFound, and the fault of Insert.
	Update(e *schema.Entity, row Row, fields []int) error
	// Delete removes the row for good. ErrNotFound.
	Delete(e *schema.Entity, id value.Value) error
	// Append writes log rows, in order, and sets their Seq.
	Append(rows ...*LogRow) error
	// Enqueue puts deliveries into the queue, in order: Pending and due at once, or
	// Claimed, in their first epoch, where they name an Owner. Where they cannot be written the work fails.
	Enqueue(deliveries ...*Delivery) error
	// Recall returns the record kept under (principal, key) in the last 24 hours.
	Recall(principal, key string) (*Record, error) // nil: none
	// Remember keeps a record. *ConflictError where one is there.
	Remember(r *Record) error
}

// Record is a POST remembered by its Idempotency-Key.
type Record struct {
	Principal, Key string
	Request        string // hash of route and body
	Result         []byte // what to render anew, as JSON of the engine
	Created        time.Time
}

// Position is a place in the log: a number and the event id that stands there.
type Position struct {
	Seq     int64
	EventID string
}

// LogRow is one (change, topic): docs/adr/0001-one-log-behind-every-event.md.
type LogRow struct {
	Seq       int64
	EventID   string // ULID, unique
	Entity    string
	Operation schema.Op
	Fine      string    // created, updated, patched, deleted, restored
	Topic     string    // "" is the channel event
	Subject   string    // the row's id as text
	Actor     string    // principal id, "" when anonymous
	Time      time.Time // UTC, microseconds
	Sent      []string  // field names in the payload
	Differs   []string  // field names whose values differ
	Origin    string    // instance
	Guard     Guard
	// Row is the row as of this change's commit where the writer handed it on in
	// memory; nil when read from the log.
	Row Row
}

// Guard keeps the cells that row rules and filters name, before and after the
// change. Cells are by field position; a cell that was not kept is Unknown. A
// nil Row knows nothing (before a create; after a delete).
type Guard struct {
	Before, After Row
}

// Deleted says which rows of a soft-delete entity a Query sees.
type Deleted uint8

// What a Query sees.
const (
	Live Deleted = iota
	OnlyDeleted
	All
)

// Query selects rows.
type Query struct {
	Where   []*predicate.Predicate // all must be True
	Deleted Deleted
	Sort    []SortKey     // nulls last either way; the id, ascending, breaks ties and is added by the driver
	After   []value.Value // keyset: the cells of Sort and then the id of the last row seen; nil: from the start
	Limit   int           // 0: all
	Offset  int
}

// SortKey is one key of an order.
type SortKey struct {
	Field int
	Desc  bool
}

// Errors of drivers.
var (
	ErrNotFound    = errors.New("row not found")
	ErrUnavailable = errors.New("datastore unavailable")
	ErrClosed      = errors.New("datastore closed")
	ErrTimeout     = errors.New("query took too long")
	// ErrUnsettled is returned by Head while a transaction that is still open may
	// add a row below the last number: ask again shortly.
	ErrUnsettled = errors.New("the end of the log is not settled yet")
	// ErrUnknown is returned by Write where the connection broke while the work
	// was being committed: it stands or it does not. Asking for what it wrote, or
	// repeating it under the same Idempotency-Key, tells.
	ErrUnknown = errors.New("whether the write stands is not known")
)

// ConflictError is a unique constraint that refused a row, a soft-deleted one included: until it is purged it keeps its values.
type ConflictError struct {
	Entity *schema.Entity // nil for a Record
	Field  int            // the position of the unique field; the id's for a taken primary key; -1 for another index
}

// Error implements error. It names the field, never the value.
func (c *ConflictError) Error() string {
	switch {
	case c.Entity == nil:
		return "a record with that idempotency key exists"
	case c.Field < 0:
		return fmt.Sprintf("%s: a row with that combination exists", c.Entity.Name)
	}
	return fmt.Sprintf("%s: a row with that %s exists", c.Entity.Name, c.Entity.Fields[c.Field].Name)
}

// RefusedError is everything Migrate would not do, because it loses data or
// would leave rows that the schema forbids. Each problem names the table and
// column and ends with what the operator must run. Nothing was changed.
type RefusedError struct{ Problems []string }

// Error implements error, a problem a line.
func (r *RefusedError) Error() string { return strings.Join(r.Problems, "\n") }
