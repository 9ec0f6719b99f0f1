// Package failpoint lets tests end the process at a chosen place, as a power
// cut would.
//
// It guarantees that a binary built without the tag failpoint has none: Hit is
// then empty and is compiled away. With the tag the environment's
// ROWCAST_FAILPOINT=NAME:N (N defaults to 1) kills the process when it comes to
// the place NAME for the Nth time. Safe for concurrent use. The package imports
// nothing of rowcast.
package failpoint

// Name is a place in the code.
type Name string

// The places: around each step that a delivery takes, and those around it.
const (
	BeforeInsert     Name = "insert.before"     // of queue rows, inside the write's transaction
	AfterInsert      Name = "insert.after"      //
	BeforeCommit     Name = "commit.before"     // of any transaction that writes
	AfterCommit      Name = "commit.after"      //
	BeforeHandOver   Name = "handover.before"   // of born-leased deliveries to the relay
	AfterHandOver    Name = "handover.after"    //
	BeforeClaim      Name = "claim.before"      //
	AfterClaim       Name = "claim.after"       //
	BeforeSend       Name = "send.before"       // of an attempt's request
	AfterAnswer      Name = "answer.after"      // the status line was read
	BeforeCompletion Name = "completion.before" // of what attempts came to
	AfterCompletion  Name = "completion.after"  //
	BeforeSweep      Name = "sweep.before"      // of what dead instances hold
	AfterSweep       Name = "sweep.after"       //
	BeforeRequeue    Name = "requeue.before"    // by an operator
	AfterRequeue     Name = "requeue.after"     //
)
