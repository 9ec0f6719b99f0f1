package delivery

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/rowcast/rowcast/internal/servertest"
)

// judge holds what was received against the events, when all is delivered.
func (b *books) judge(s *servertest.Server, w *ledgerWriters) {
	b.t.Helper()
	for target, r := range b.targets {
		b.judgeTarget(target, r.All())
	}
	stored := b.stored(s, "item")
	maps.Copy(stored, b.stored(s, "note"))
	last := map[string]told{}
	for _, e := range b.events {
		if strings.HasPrefix(e.subject, never) {
			b.t.Errorf("the stream tells of %s, which was rolled back", e.subject)
		}
		last[e.subject] = e
	}
	for id, e := range last {
		n, there := stored[id]
		if there != (e.operation != "delete") || there && n != e.change {
			b.t.Errorf("%s: there %v, n=%d, and its last event is %+v", id, there, n, e)
		}
	}
	for id := range stored {
		if _, is := last[id]; !is {
			b.t.Errorf("%s is there, and no event tells of it", id)
		}
	}
	for id, row := range w.rows() {
		if got := b.changes[id]; got < row.done || got > row.sent {
			b.t.Errorf("%s: %d events; %d changes were acknowledged and %d sent", id, got, row.done, row.sent)
		}
	}
}

// judgeTarget: every event that the target wants was received, under one id, and
// nothing else was; each time with the same bytes; an ordered target's events of
// a row came in the order of their commits.
func (b *books) judgeTarget(target string, all []servertest.Received) {
	b.t.Helper()
	delivered := map[string]string{} // delivery id by event id
	first := map[string]servertest.Received{}
	order := map[string][]string{}
	for _, got := range all {
		ev := decode(b.t, got.Body)
		before, again := first[got.ID]
		switch {
		case again && string(before.Body) != string(got.Body):
			b.t.Errorf("%s: delivery %s was sent as %s and as %s", target, got.ID, before.Body, got.Body)
		case again && (before.Topic != got.Topic || before.Event != got.Event):
			b.t.Errorf("%s: delivery %s was sent as %s of %s and as %s of %s", target, got.ID, before.Event, before.Topic, got.Event, got.Topic)
		case !again && delivered[ev.ID] != "":
			b.t.Errorf("%s: event %s was sent as %s and as %s", target, ev.ID, delivered[ev.ID], got.ID)
		case !again:
			first[got.ID], delivered[ev.ID] = got, got.ID
			order[ev.Subject] = append(order[ev.Subject], ev.ID)
		}
	}
	wanted := map[string][]string{}
	for _, e := range b.wanted(target) {
		if delivered[e.id] == "" {
			b.t.Errorf("%s: %+v was never received", target, e)
			continue
		}
		b.judgeBody(target, e, first[delivered[e.id]])
		delete(delivered, e.id)
		wanted[e.subject] = append(wanted[e.subject], e.id)
	}
	for event, id := range delivered {
		b.t.Errorf("%s: received %s, and no event is wanted that has its id %s: %s", target, id, event, first[id].Body)
	}
	for subject, want := range wanted {
		if strings.Contains(b.targets[target].keys, "order: row") && !slices.Equal(order[subject], want) {
			b.t.Errorf("%s: the events of %s came in the order %v, want %v", target, subject, order[subject], want)
		}
	}
	b.t.Logf("%s: %d events, %d requests", target, len(first), len(all))
}

// judgeBody: the body is of the event, with the row as that change left it where
// the target may see it, and without where it is nobody.
func (b *books) judgeBody(target string, e told, got servertest.Received) {
	b.t.Helper()
	ev := decode(b.t, got.Body)
	if ev.Subject != e.subject || ev.Operation != e.operation || got.Event != "entity."+e.operation {
		b.t.Errorf("%s: %+v was sent as %s: %s", target, e, got.Event, got.Body)
	}
	switch n, shown := ev.Data["n"]; {
	case !b.targets[target].reads():
		if ev.Data != nil {
			b.t.Errorf("%s: %+v was sent with values: %s", target, e, got.Body)
		}
	case !shown || n != float64(e.change):
		b.t.Errorf("%s: %+v was sent with n=%v", target, e, n)
	}
}

// stored returns n of each row there is.
func (b *books) stored(s *servertest.Server, entity string) map[string]int {
	b.t.Helper()
	found := map[string]int{}
	for query := (url.Values{"limit": {"100"}, "fields": {"id,n"}}); ; {
		var page struct {
			Items []struct {
				ID string
				N  int
			}
			Next string
		}
		if err := json.Unmarshal([]byte(s.User("root", "staff").Get("/data/"+entity+"?"+query.Encode()).Is(200).Body), &page); err != nil {
			b.t.Fatal(err)
		}
		for _, row := range page.Items {
			found[row.ID] = row.N
		}
		if page.Next == "" {
			return found
		}
		query.Set("cursor", page.Next)
	}
}
