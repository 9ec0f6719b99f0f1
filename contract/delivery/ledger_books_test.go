package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// patience is how long a ledger waits for what must come: attempts with their
// waits, and the lease of a dead instance, on a busy machine.
const patience = 3 * time.Minute

// ledgerSchema has items, of which everybody is told, and notes under row rules,
// which are never deleted: so a subscriber is told of all changes of both, however
// late it comes. Whoever writes a row sets n to 0 and raises it by one with each
// change: n says which change of its row an event is. The biller may not see the
// third version of a note.
const ledgerSchema = `
entities:
  - name: item
    fields:
      - {name: id, type: string}
      - {name: n, type: int, validations: [{type: max, value: 50}]}
      - {name: code, type: string, validations: [{type: unique}]}
    events: [{name: changed}]
    subscriptions: [{name: all}]
  - name: note
    fields:
      - {name: id, type: string}
      - {name: n, type: int, validations: [{type: max, value: 50}]}
      - {name: owner_id, type: string, defaultvalue: user.id}
    rowrules:
      - {name: own, actions: [read, update, create], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read, create], language: expr, expression: '"staff" in user.roles'}
      - {name: bills, actions: [read], language: expr, expression: '"billing" in user.roles and row.n != 2'}
    events: [{name: changed}]
    subscriptions: [{name: all, rls: true}]
`

// unseen is the n that the biller may not see.
const unseen = 2

// told is an event, as the stream tells of it.
type told struct {
	id, entity, subject, operation string
	change                         int // the how manieth of its row, from 0
}

// books is what the events and the deliveries of one datastore are held against
// each other with. Which events there are is read from the stream, of a
// subscriber that comes back, after everything, with the last id it has seen.
type books struct {
	t       *testing.T
	targets map[string]target
	since   map[string]string // by entity
	marks   int
	events  []told
	changes map[string]int // of each row
}

// open begins the books of a server that nobody has written to.
func openBooks(t *testing.T, s *servertest.Server, targets map[string]target) *books {
	t.Helper()
	b := &books{t: t, targets: targets, since: map[string]string{}, changes: map[string]int{}}
	for _, entity := range []string{"item", "note"} {
		stream := s.User("root", "staff").Open("/subscribe/" + entity + "?name=all&heartbeat=1s")
		b.since[entity] = stream.Ping().ID
		stream.Close()
	}
	return b
}

// read reads the events since it did so last, up to one of its own.
func (b *books) read(s *servertest.Server) {
	b.t.Helper()
	b.marks++
	for entity := range b.since {
		mark := fmt.Sprintf("mark-%d-%s", b.marks, entity)
		s.User("root", "staff").Post("/data/"+entity, `{"id":"`+mark+`","n":0}`).Is(201)
		b.readTo(s, entity, mark)
	}
}

func (b *books) readTo(s *servertest.Server, entity, mark string) {
	b.t.Helper()
	stream := s.User("root", "staff").Resume("/subscribe/"+entity+"?name=all", b.since[entity])
	defer stream.Close()
	for {
		f := stream.Frame()
		if f.Event == "stream.gap" {
			b.t.Fatalf("the subscriber is told of a gap: %s", f.Data)
		}
		ev := decode(b.t, []byte(f.Data))
		b.events = append(b.events, told{f.ID, entity, ev.Subject, ev.Operation, b.changes[ev.Subject]})
		b.changes[ev.Subject]++
		b.since[entity] = f.ID
		if ev.Subject == mark {
			return
		}
	}
}

// wanted returns the events that a target wants; those of a row in their order.
func (b *books) wanted(target string) (wanted []told) {
	for _, e := range b.events {
		if b.targets[target].wanted(e) {
			wanted = append(wanted, e)
		}
	}
	return wanted
}

// waiting returns what is in the queue: the status of each delivery, by target.
func (b *books) waiting(s *servertest.Server) map[string]map[string]string {
	b.t.Helper()
	found := map[string]map[string]string{}
	for target := range b.targets {
		found[target] = map[string]string{}
	}
	for query := (url.Values{"limit": {"100"}}); ; {
		var page struct {
			Items []struct{ ID, Target, Status string }
			Next  string
		}
		answer := s.User("root", "admin").Get("/admin/data/events/pending?" + query.Encode()).Is(200)
		if err := json.Unmarshal([]byte(answer.Body), &page); err != nil {
			b.t.Fatal(err)
		}
		for _, d := range page.Items {
			found[d.Target][d.ID] = d.Status
		}
		if page.Next == "" {
			return found
		}
		query.Set("cursor", page.Next)
	}
}

// balance waits until the books balance: for each target there are as many
// deliveries, received or waiting, each counted once, as events that it wants. It
// returns what waits. What has gone from the queue before it was looked at was
// received before, so the receivers are asked after it. The events are read each
// time: a database may still be committing what a dead instance has asked of it.
func (b *books) balance(s *servertest.Server, when string) (queue map[string]map[string]string) {
	b.t.Helper()
	wrong := ""
	b.until(func() bool {
		b.read(s)
		queue, wrong = b.waiting(s), ""
		for _, target := range slices.Sorted(maps.Keys(b.targets)) {
			deliveries := map[string]bool{}
			for id := range queue[target] {
				deliveries[id] = true
			}
			received := servertest.IDs(b.targets[target].All())
			for _, id := range received {
				deliveries[id] = true
			}
			if want := len(b.wanted(target)); len(deliveries) != want {
				wrong += fmt.Sprintf("\n%s: %d events, %d deliveries: %d received, %d in the queue", target, want, len(deliveries), len(received), len(queue[target]))
			}
		}
		return wrong == ""
	}, func() string { return when + " the books do not balance:" + wrong })
	return queue
}

// dry lets every receiver accept, puts back what was refused, and waits until
// nothing is in the queue any more.
func (b *books) dry(s *servertest.Server) {
	b.t.Helper()
	for _, r := range b.targets {
		r.Reply()
	}
	left := ""
	b.until(func() bool {
		left = ""
		for target, ds := range b.waiting(s) {
			states := map[string]int{}
			for _, status := range ds {
				states[status]++
			}
			if states["failed"] > 0 {
				s.User("root", "admin").Post("/admin/data/events/requeue", `{"target":"`+target+`"}`).Is(200)
			}
			if len(ds) > 0 {
				left += fmt.Sprintf("\n%s: %v", target, states)
			}
		}
		return left == ""
	}, func() string { return "the queue does not run dry:" + left })
}

// until looks again and again.
func (b *books) until(is func() bool, complaint func() string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !is(); servertest.Pass(b.t.Context(), 100*time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatal(complaint())
		}
	}
}
