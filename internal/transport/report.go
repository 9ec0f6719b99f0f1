package transport

import (
	"runtime/debug"

	"github.com/rowcast/rowcast/internal/tail"
)

// reportsKept is how many reports may wait. More are in the counters alone.
const reportsKept = 256

// report is an event that a transport did not take.
type report struct {
	lane  *lane
	entry *tail.Entry
	err   error
	first bool // of a row of drops
}

// put leaves a report for whoever reports, without waiting for it: that is the
// embedder's code, and no transport and no writer may depend on it.
func (o *Outlet) put(r report) {
	select {
	case o.reports <- r:
	default:
	}
}

// report tells of what was put until all is finished.
func (o *Outlet) report(finished <-chan struct{}) {
	for {
		select {
		case r := <-o.reports:
			o.tell(r)
		case <-finished:
			for {
				select {
				case r := <-o.reports:
					o.tell(r)
				default:
					return
				}
			}
		}
	}
}

// tell calls the embedder and contains a panic.
func (o *Outlet) tell(r report) {
	defer func() {
		if p := recover(); p != nil {
			o.config.Logger.Error("OnPublishError panicked", "transport", r.lane.name, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if r.first {
		o.config.Logger.Warn("a transport does not keep up, and events for it are dropped; rowcast_transport_dropped_total counts them", "transport", r.lane.name)
	}
	o.config.OnError(r.lane.name, o.event(r.entry), r.err)
}
