package postgres

import (
	"testing"
	"time"
)

// A floor rises with what was looked through, and never above what may still
// come to be there.
func TestALaneBeginsWhereSomethingMayBe(t *testing.T) {
	start := time.Date(2026, 9, 17, 2, 25, 12, 0, time.UTC)
	server := start.Add(time.Hour) // its clock is another
	var l lanes

	w := l.begin("billing", start)
	if !w.start || !w.due.IsZero() || w.seq != 0 {
		t.Fatalf("the first claim begins at %+v, want the very start", w)
	}
	l.claimed("billing", 40)
	l.learn("billing", w, floors{now: server}, true)
	w = l.begin("billing", start.Add(floorLife/2))
	if w.start || !w.due.Equal(server.Add(-floorMargin)) || w.seq > 1 {
		t.Errorf("the next begins at %+v, want the margin before the server's time, and no number: all of them are young", w)
	}
	if got := l.floorOf("billing", start.Add(floorLife/2)); !got.Equal(w.due) {
		t.Errorf("Next reads from %v, want %v", got, w.due)
	}

	w = l.begin("billing", start.Add(floorLife))
	if !w.start || w.seq != 0 {
		t.Errorf("a claim after a while begins at %+v, want the very start", w)
	}
	l.claimed("billing", 90)
	l.learn("billing", w, floors{now: server, due: server.Add(-time.Minute)}, true)
	w = l.begin("billing", start.Add(floorLife))
	if w.seq != 41 || !w.due.Equal(server.Add(-time.Minute)) || !w.others {
		t.Errorf("it begins at %+v, want above what was claimed a look ago, and at what is due first", w)
	}

	l.lower("billing", 12)
	if w = l.begin("billing", start.Add(floorLife)); w.seq != 12 {
		t.Errorf("it begins at %d, want what is pending again", w.seq)
	}
	w = l.begin("billing", start.Add(2*floorLife))
	l.lower("billing", 7) // while the claim looks
	l.learn("billing", w, floors{now: server, seq: 100}, true)
	if w = l.begin("billing", start.Add(2*floorLife)); w.seq > 7 {
		t.Errorf("it begins at %d, want what became pending meanwhile", w.seq)
	}
	l.forget("billing")
	if w = l.begin("billing", start.Add(2*floorLife)); !w.start {
		t.Errorf("after a claim that failed it begins at %+v, want the very start", w)
	}
	if got := l.floorOf("search", start); !got.IsZero() {
		t.Errorf("a target that nobody looked through is read from %v", got)
	}
}
