package browsertest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Kind is what an EventSource tells of.
type Kind string

// The kinds of signals.
const (
	Opened  Kind = "open"
	Errored Kind = "error" // it lost the connection and tries again, or has given up: see State
	Evented Kind = "event"
)

// State is an EventSource's readyState.
type State int

// The states.
const (
	Connecting State = iota
	Open
	Closed // it has given up, or was closed
)

// Signal is what an EventSource told once.
type Signal struct {
	Kind  Kind
	Name  string  // of an event, as after event: on the wire
	ID    string  // lastEventId
	Data  string  // as after data: on the wire
	State State   // just then
	At    float64 // milliseconds since the page was opened, on the browser's clock
}

// Subject returns the id of the row that an event names, or "".
func (s Signal) Subject() string {
	var doc struct{ Subject string }
	_ = json.Unmarshal([]byte(s.Data), &doc) // what is no JSON names no row
	return doc.Subject
}

// Row returns the bytes of an event's data member, or "" where it has none.
func (s Signal) Row() string {
	var doc struct{ Data json.RawMessage }
	_ = json.Unmarshal([]byte(s.Data), &doc) // what is no JSON holds no row
	return string(doc.Data)
}

// Follower is an EventSource in a page, with all that it has told.
type Follower struct {
	t    testing.TB
	page *Page
	url  string
	key  int

	news
	signals []Signal
	framed  int // signals that Frame has passed
}

// Follow follows a path of the instances, which are given by URL and stand behind
// a Balancer, in a browser of its own and in the session of a token. It returns
// when the browser has a position from which on it misses nothing, and ends with
// the test.
func Follow(t testing.TB, token, path string, instances ...string) *Follower {
	t.Helper()
	b := Balance(t, instances...)
	page := Start(t).Open(t, b.URL+"/page")
	page.SignIn("", token)
	f := page.Follow(path)
	f.Await(Opened, 1)
	b.AwaitStream("told a position", func(p Passage) bool { return strings.Contains(p.Text(), "\nid: ") })
	return f
}

// Signals returns all that it told, in order.
func (f *Follower) Signals() (all []Signal) {
	f.look(func() { all = slices.Clone(f.signals) })
	return all
}

// Events returns the events that it told, in order.
func (f *Follower) Events() []Signal { return of(Evented, f.Signals()) }

// IDs returns the ids of the events that it told, in order.
func (f *Follower) IDs() (ids []string) {
	for _, e := range f.Events() {
		ids = append(ids, e.ID)
	}
	return ids
}

// Count returns how often it told of a kind.
func (f *Follower) Count(kind Kind) int { return len(of(kind, f.Signals())) }

func of(kind Kind, signals []Signal) (those []Signal) {
	for _, s := range signals {
		if s.Kind == kind {
			those = append(those, s)
		}
	}
	return those
}

// Await waits until it has told of a kind n times, counted from the beginning.
func (f *Follower) Await(kind Kind, n int) {
	f.t.Helper()
	f.until(string(kind)+", "+strconv.Itoa(n)+" times", func() bool { return len(of(kind, f.signals)) >= n })
}

// Until waits until an event of a row has come.
func (f *Follower) Until(id string) {
	f.t.Helper()
	seen := 0
	f.until("an event of row "+id, func() bool {
		fresh := f.signals[seen:]
		seen = len(f.signals)
		return slices.ContainsFunc(fresh, func(s Signal) bool { return s.Kind == Evented && s.Subject() == id })
	})
}

// Frame waits for the next event that it has not returned yet, and returns it.
func (f *Follower) Frame() (next Signal) {
	f.t.Helper()
	f.until("another event", func() bool {
		for ; f.framed < len(f.signals); f.framed++ {
			if f.signals[f.framed].Kind == Evented {
				next = f.signals[f.framed]
				f.framed++
				return true
			}
		}
		return false
	})
	return next
}

func (f *Follower) until(what string, there func() bool) {
	f.t.Helper()
	f.await(f.t, there, func() string {
		all := f.Signals()
		return fmt.Sprintf("%s: waited in vain for %s; of %d signals the last are %+v", f.url, what, len(all), all[max(0, len(all)-5):])
	})
}

// State returns the EventSource's readyState now.
func (f *Follower) State() (state State) {
	f.t.Helper()
	f.page.Eval("followed["+strconv.Itoa(f.key)+"].readyState", &state)
	return state
}

// Close closes the EventSource, as its page would.
func (f *Follower) Close() {
	f.t.Helper()
	f.page.Eval("followed["+strconv.Itoa(f.key)+"].close()", nil)
}
