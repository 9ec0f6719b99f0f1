package store

import (
	"context"
	"time"
)

// Queue is the delivery queue of a datastore: one Delivery for each event and
// target that wants it, put there by Tx.Enqueue in the transaction of the change.
//
// A driver promises: what Claim returns is leased to nobody else until it is
// settled, freed, or its owner's lease has run out; Settle and Free change only
// what is still leased to that owner in that epoch; of an ordered target no
// delivery is claimed while an earlier one of the same row is in the queue, in
// whatever state. Times are of the datastore's clock (PostgreSQL: the server's).
// Every method is one transaction. Safe for concurrent use. Errors are those of
// Store.Write and Store.View.
type Queue interface {
	// Enlist registers an instance under a new owner name: its lease lasts for
	// i.Lease. A datastore that one process owns forgets all others at that.
	Enlist(ctx context.Context, i Instance) error
	// Renew prolongs the owner's lease. false: it is not registered any more, or ran
	// out; what it held may be another's, and it must enlist under another name.
	Renew(ctx context.Context, owner string) (held bool, err error)
	// Resign removes the owner, and frees at once what it holds.
	Resign(ctx context.Context, owner string) (freed int, err error)
	// Sweep removes instances whose lease has run out, frees what is leased to an
	// owner that is not registered, and fails (TargetNotDeclared) what is pending
	// for a target that no registered instance declares. It works in steps of at
	// most limit deliveries; more reports whether some remain.
	Sweep(ctx context.Context, limit int) (s Swept, err error)
	// Turn takes the named lease for d, if nobody has it: of a fleet one has its turn.
	Turn(ctx context.Context, name, owner string, d time.Duration) (mine bool, err error)

	// Claim leases due, pending deliveries of one target to an owner, the earliest
	// due first (an ordered target: in the order of the queue), and returns them whole.
	Claim(ctx context.Context, c Claim) ([]*Delivery, error)
	// Settle writes down what attempts came to, in one transaction, with a row of
	// the attempt log each. lost holds the ids whose lease was no longer the
	// owner's: nothing was changed for those, and no attempt logged.
	Settle(ctx context.Context, owner string, outcomes []Settlement) (lost []string, err error)
	// Free gives leased deliveries back untried: pending, and due at once.
	Free(ctx context.Context, owner string, held []Lease) error
	// Held returns, whole, what has been leased to the owner for at least age.
	Held(ctx context.Context, owner string, age time.Duration, limit int) ([]*Delivery, error)
	// Next returns for each of the targets that has pending deliveries in how long
	// the first is due; zero or less: it is now. Deliveries of an ordered target
	// that wait for an earlier one of their row do not count.
	Next(ctx context.Context, targets []Lane) (map[string]time.Duration, error)

	// List returns deliveries without their bodies: failed ones first, then the
	// others, each by id.
	List(ctx context.Context, f DeliveryFilter) ([]*Delivery, error)
	// Depths counts, a Depth for each target that has deliveries.
	Depths(ctx context.Context) ([]Depth, error)
	// Attempts returns the attempt log of a delivery, in order, those of an earlier
	// life before a requeue included. It is kept as long as the change log is.
	Attempts(ctx context.Context, id string) ([]Attempt, error)
	// Requeue makes failed deliveries pending again: attempts start again, and the
	// n-th is due n times Pace from now.
	Requeue(ctx context.Context, r Requeue) (Moved, error)
	// Skip removes failed and pending deliveries for good; what waited behind them
	// in an ordered target may go on.
	Skip(ctx context.Context, ids []string) (Moved, error)
	// PruneAttempts removes up to limit rows of the attempt log older than before.
	PruneAttempts(ctx context.Context, before time.Time, limit int) (more bool, err error)
}

// Instance is one process that works on the queue.
type Instance struct {
	Owner   string // drawn anew for each Enlist
	Targets []string
	Lease   time.Duration
}

// DeliveryStatus is where a delivery stands.
type DeliveryStatus uint8

// The states; a delivery that was accepted is no longer there.
const (
	Pending DeliveryStatus = 1 + iota // waits until it is due
	Claimed                           // leased to an instance
	Failed                            // waits for an operator
)

// TargetNotDeclared is the LastError of a delivery whose target is gone.
const TargetNotDeclared = "target_not_declared"

// Delivery is one event for one target. Body is what is posted, byte for byte,
// at each attempt: it is frozen in the transaction of the change.
type Delivery struct {
	ID      string // U and a ULID
	Target  string
	Topic   string
	Event   string // type, such as entity.create
	EventID string
	Entity  string
	Subject string // the row's id as text
	Ordered bool   // the target keeps the order of a row's events
	Body    []byte
	Created time.Time // UTC, microseconds

	Status     DeliveryStatus
	Attempts   int // made since it was queued, or requeued
	Due        time.Time
	LastStatus int    // of the last answer; 0 where none came
	LastError  string // of the last attempt
	Owner      string // to whom it is leased; "" unless Claimed
	Epoch      int64  // how often it was leased so far
}

// Lease returns the lease that the delivery is under.
func (d *Delivery) Lease() Lease { return Lease{ID: d.ID, Epoch: d.Epoch} }

// Lease names a delivery and the epoch in which it was leased: what comes of an
// earlier one is stale.
type Lease struct {
	ID    string
	Epoch int64
}

// Claim says what an owner wants.
type Claim struct {
	Owner  string
	Target string
	// Ordered: at most one delivery of a row, the first of those in the queue.
	Ordered bool
	Limit   int
	// Only names the one delivery that may be claimed, due or not; "" any that is due.
	Only string
}

// Lane names a target, for Next.
type Lane struct {
	Target  string
	Ordered bool
}

// Outcome is what an attempt came to.
type Outcome uint8

// The outcomes.
const (
	Delivered Outcome = 1 + iota // accepted: the delivery is removed
	Retried                      // pending again, due after Settlement.Wait
	GivenUp                      // failed: it waits for an operator
)

// Settlement is the outcome of one attempt at a leased delivery.
type Settlement struct {
	Lease   Lease
	Outcome Outcome
	Wait    time.Duration // for Retried
	Attempt Attempt
}

// Attempt is one POST, as the attempt log keeps it. Its status and error are also
// the delivery's last.
type Attempt struct {
	Delivery string
	Target   string
	Number   int       // from 1, of those since it was queued or requeued
	At       time.Time // of its start, UTC, microseconds
	Took     time.Duration
	Status   int // 0: no answer
	Error    string
	Outcome  Outcome
}

// Swept says what Sweep did.
type Swept struct {
	Freed  int // deliveries of dead instances
	Failed int // deliveries of targets that nobody declares
	Dead   int // instances removed
	More   bool
}

// DeliveryFilter selects for List.
type DeliveryFilter struct {
	Target string         // "": all
	Status DeliveryStatus // 0: all
	Limit  int
	// After is the last delivery seen: its status (Failed or not counts) and id;
	// zero: from the start.
	After     string
	AfterLive bool // the last one seen was not Failed
}

// Depth counts the deliveries of one target.
type Depth struct {
	Target                   string
	Pending, Claimed, Failed int64
	Blocked                  int64     // pending, ordered, and behind an earlier one of their row
	OldestDue                time.Time // of the pending; zero: none
}

// Requeue selects failed deliveries: by ids, or those of a target that were
// queued in [Since, Until), either of which may be zero.
type Requeue struct {
	IDs      []string
	Target   string
	Since    time.Time
	Until    time.Time
	Declared []string // targets; a delivery of another is not moved
	Pace     time.Duration
	Limit    int // of a range, the oldest first
}

// Moved says which deliveries an operator's wish moved, and why others not.
type Moved struct {
	IDs     []string
	Refused []Unmoved
	Targets []string // of those moved, each once
	More    bool     // the limit was reached
}

// Unmoved is a delivery that stays as it is.
type Unmoved struct {
	ID     string
	Reason string // one of the Reason constants
}

// Why a delivery was not moved.
const (
	ReasonUnknown = "unknown" // there is none of that id: delivered, skipped, or never there
	ReasonPending = "pending" // it would lose its backoff
	ReasonClaimed = "claimed" // it is in flight
	ReasonTarget  = TargetNotDeclared
)
