package outbox

import (
	"time"
)

// breakAfter is how many attempts in a row must find the target not alive.
const breakAfter = 5

// breaker knows whether a target is there. While it is open one delivery, the
// probe, is attempted when it falls due by its own waits, and no other. It
// belongs to a lane, under whose lock it is used.
type breaker struct {
	failures int // in a row
	open     bool
	probe    string    // id; "" while whichever is due next is to be it
	due      time.Time // of the probe
	tried    bool      // the probe was chosen and sent: it stays the probe
	held     bool      // the probe is being claimed, is in flight, or is not settled
}

// result takes in whether an attempt found the target alive, and says whether
// that opened or closed the breaker.
func (b *breaker) result(alive bool) (opened, closed bool) {
	if alive {
		closed = b.open
		*b = breaker{}
		return false, closed
	}
	b.failures++
	if b.open || b.failures < breakAfter {
		return false, false
	}
	b.open = true
	return true, false
}

// settled takes in that an attempt was written down: retried, and due when, or
// over for good. Of those that failed in this row of failures, the one due first
// becomes the probe, so that the target is not tried later than it would have been.
func (b *breaker) settled(id string, retried bool, due time.Time) {
	switch {
	case b.failures == 0:
	case id == b.probe && !retried:
		b.probe, b.tried, b.held = "", false, false
	case id == b.probe:
		b.due, b.held = due, false
	case retried && (b.probe == "" && !b.held || !b.tried && due.Before(b.due)):
		b.probe, b.due = id, due
	}
}

// taken takes in that a delivery is about to be sent while the breaker is closed:
// when it is due next is not known until that is settled.
func (b *breaker) taken(id string) {
	if id == b.probe {
		b.probe = ""
	}
}

// claiming notes that the probe is being claimed.
func (b *breaker) claiming() { b.tried, b.held = true, true }

// claimed takes in which delivery the claim brought; "": none, the probe is
// another's by now, or gone.
func (b *breaker) claimed(id string) {
	if b.open {
		b.probe, b.tried, b.held = id, id != "", id != ""
	}
}

// unclaimed takes in that the store did not answer.
func (b *breaker) unclaimed() { b.held = false }

// forgotten takes in that nothing is leased any more.
func (b *breaker) forgotten() { b.probe, b.tried, b.held = "", false, false }

// now makes the probe due.
func (b *breaker) now(at time.Time) {
	if b.probe != "" && at.Before(b.due) {
		b.due = at
	}
}

// state names what an operator is shown.
func (b *breaker) state() string {
	switch {
	case !b.open:
		return "closed"
	case b.held:
		return "probing"
	default:
		return "open"
	}
}
