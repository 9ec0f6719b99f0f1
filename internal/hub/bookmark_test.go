package hub

import (
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/schema"
)

// A heartbeat's position is that of the last frame written or beyond: one that
// lay before it would have a client that resumes there told twice.
func TestPositionIsNotBehindTheFramesTaken(t *testing.T) {
	w := newWorld(t)
	s := w.listen()
	first := w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))
	w.hub.Publish([]*tail.Entry{first})
	// The hub is in the middle of a batch: offered to this one, not to everybody.
	second := w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))
	w.hub.offer(lane{topic: "entity.bell"}, []*tail.Entry{second}, second.Log.Seq, nil)
	due := s.Take(nil)
	if want := position(second); len(due.Frames) != 2 || due.Upto != want {
		t.Errorf("%d frames up to %v, want 2 up to %v", len(due.Frames), due.Upto, want)
	}
}

// A position is a number with the event id that stands there, also where a
// subscriber starts to catch up: without the id it is taken for one of another log.
func TestCatchingUpStartsAtAPositionOfTheLog(t *testing.T) {
	fill := func(w *world, n int) (batch []*tail.Entry) {
		for range n {
			batch = append(batch, w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1)))
		}
		return batch
	}
	for _, c := range []struct {
		name    string
		publish func(w *world) (want store.Position)
	}{
		{"overflow inside a batch", func(w *world) store.Position {
			batch := fill(w, Buffer+10)
			w.hub.Publish(batch)
			return position(batch[Buffer-1])
		}},
		{"overflow at the start of a batch", func(w *world) store.Position {
			batch := fill(w, Buffer)
			w.hub.Publish(batch)
			w.hub.Publish(fill(w, 1))
			return position(batch[Buffer-1])
		}},
		{"overflow after a batch of another topic", func(w *world) store.Position {
			w.hub.Publish(fill(w, Buffer))
			other := w.entry("note", schema.Create, nil, w.row("note", "x", "bob", "hi"))
			w.hub.Publish([]*tail.Entry{other})
			w.hub.Publish(fill(w, 1))
			return position(other)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			s := w.listen()
			want := c.publish(w)
			if due := s.Take(nil); !due.Lagging || due.After != want {
				t.Errorf("lagging %v after %v, want %v", due.Lagging, due.After, want)
			}
		})
	}
}

// A position from which a subscriber begins has no hole after it, also where
// something was published between the reading of the position and the
// registration: the subscriber then begins after that.
func TestTheFirstPositionHasNoHoleAfterIt(t *testing.T) {
	w := newWorld(t)
	w.ring()
	at := *w.hub.position.Load()
	w.ring()
	meanwhile := *w.hub.position.Load()
	s, _ := w.hub.Register(w.view("bell", "rings", "bob"), Start{From: at}, time.Minute)
	if got := s.From(); got != meanwhile {
		t.Errorf("begins at %v, want %v, after what it is not offered", got, meanwhile)
	}
	behind, _ := w.hub.Register(w.view("bell", "rings", "bob"), Start{From: at, CatchUp: true}, time.Minute)
	if got := behind.From(); got != at {
		t.Errorf("one that catches up begins at %v, want %v", got, at)
	}
}

// Who has just registered stands where it was told to start, however far the
// hub is.
func TestPositionOfAQuietSubscriber(t *testing.T) {
	w := newWorld(t)
	at := store.Position{Seq: 7, EventID: "E00007"}
	s, _ := w.hub.Register(w.view("bell", "rings", "bob"), Start{From: at}, time.Minute)
	if due := s.Take(nil); due.Upto != at {
		t.Errorf("stands at %v, want %v", due.Upto, at)
	}
}

func position(e *tail.Entry) store.Position {
	return store.Position{Seq: e.Log.Seq, EventID: e.Log.EventID}
}
