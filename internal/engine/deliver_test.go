package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/schema"
)

// Durable delivery: each event of a topic is queued once for each target that
// wants it, in order, and for nobody else.
func TestEachTargetGetsItsTopics(t *testing.T) {
	h := deliver(t, []engine.Target{to("a", "entity.order", "orders.paid"), to("b", "orders.paid"), to("c", "entity.loud")})
	id := h.given(alice, "order", `{"title":"one"}`)
	h.wantSent("a entity.order entity.create " + id)
	if _, err := h.patch(alice, "order", id, `{"status":"paid"}`); err != nil {
		t.Fatal(err)
	}
	h.wantSent("a entity.order entity.update "+id, "a orders.paid entity.update "+id, "b orders.paid entity.update "+id)
	if err := h.remove(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	h.wantSent("a entity.order entity.delete " + id)
	if _, err := h.restore(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	h.wantSent("a entity.order entity.update " + id)
	if err := h.purge(staff, id); err != nil {
		t.Fatal(err)
	}
	h.wantSent("a entity.order entity.delete " + id)
	calls := h.queue.calls
	h.given(alice, "plain", `{"text":"x"}`)
	if h.wantSent(); h.queue.calls != calls {
		t.Error("a row that nobody is told of touched the queue")
	}
}

// Every way of writing queues, and a publisher's bulk: false and condition hold.
func TestEveryWayOfWritingQueues(t *testing.T) {
	h := deliver(t, []engine.Target{to("all", "entity.order", "orders.quiet"), to("strict", "entity.note")})
	ids, _, err := h.bulk(alice, "order", engine.Options{}, `{"title":"one","total":1}`, `{"title":"two","total":2}`)
	if err != nil {
		t.Fatal(err)
	}
	first, second := ids[0].Text(), ids[1].Text()
	h.wantSent("all entity.order entity.create "+first, "all entity.order entity.create "+second)
	if _, err := h.patchMany(alice, "order", "filter[total][gt]=1", `{"total":3}`); err != nil {
		t.Fatal(err)
	}
	h.wantSent("all entity.order entity.update "+second, "all orders.quiet entity.update "+second)
	note := h.given(alice, "note", `{"text":"a","rank":0}`)
	h.wantSent()
	if _, err := h.patch(alice, "note", note, `{"rank":1}`); err != nil {
		t.Fatal(err)
	}
	h.wantSent("strict entity.note entity.update " + note)
}

// The body is the event as a frame shows it, frozen; without as it holds no value.
func TestABodyIsTheEventOfTheLog(t *testing.T) {
	h := deliver(t, []engine.Target{to("a", "entity.order"), as(staff, to("b", "entity.order"))})
	id := h.given(alice, "order", `{"title":"one"}`)
	row := h.events("entity.order")[0]
	head := fmt.Sprintf(`{"id":%q,"type":"entity.create","entity":"order","operation":"create","subject":%q,"time":"2026-09-17T02:25:12.345678Z","tenant":"t"`, row.EventID, id)
	plain, rich := h.queue.kept[0], h.queue.kept[1]
	if got := string(plain.Body); got != head+"}" {
		t.Errorf("the notification is %s", got)
	}
	if got := string(rich.Body); !strings.HasPrefix(got, head+`,"data":{"id":"`+id+`","title":"one",`) {
		t.Errorf("with data it is %s", got)
	}
	want := &store.Delivery{
		Target: "a", Topic: "entity.order", Event: "entity.create", EventID: row.EventID, Entity: "order", Subject: id,
		Body: plain.Body, Created: row.Time, Status: store.Claimed, Owner: "me", Epoch: 1,
	}
	want.ID = plain.ID
	if diff := cmp.Diff(want, plain); diff != "" {
		t.Error(diff)
	}
	if plain.ID[0] != 'U' || len(plain.ID) != 27 || plain.ID == rich.ID || plain.EventID != rich.EventID {
		t.Errorf("ids %s and %s of events %s and %s", plain.ID, rich.ID, plain.EventID, rich.EventID)
	}
}

// With as a target gets what that principal may read: no row that the read rules
// hide, no field it may not read, and masked what it sees masked.
func TestATargetReadsAsItsPrincipal(t *testing.T) {
	h := deliver(t, []engine.Target{as(bob, to("bob", "entity.order")), as(staff, to("staff", "entity.order")), as(writer, to("none", "entity.order"))})
	id := h.given(alice, "order", `{"title":"one","card":"4242","status":"draft"}`)
	h.wantSent("staff entity.order entity.create " + id) // a draft of alice's
	if _, err := h.patch(alice, "order", id, `{"status":"open"}`); err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, d := range h.queue.kept {
		bodies[d.Target] = string(d.Body)
	}
	if got := bodies["bob"]; !strings.Contains(got, `"card":"**42"`) || strings.Contains(got, `"notes"`) || strings.Contains(got, "4242") {
		t.Errorf("bob is sent %s", got)
	}
	if got := bodies["staff"]; !strings.Contains(got, `"card":"4242"`) || !strings.Contains(got, `"notes":null`) {
		t.Errorf("staff is sent %s", got)
	}
	if _, there := bodies["none"]; there {
		t.Error("one who may not read was sent a row")
	}
	h.queue.kept = nil
	if err := h.remove(alice, "order", id); err != nil {
		t.Fatal(err)
	}
	for _, d := range h.queue.kept {
		if strings.Contains(string(d.Body), `"data"`) {
			t.Errorf("a delete carries values: %s", d.Body)
		}
	}
	h.wantSent("bob entity.order entity.delete "+id, "staff entity.order entity.delete "+id)
	if err := h.purge(staff, id); err != nil { // seen by nobody just before
		t.Fatal(err)
	}
	h.wantSent()
}

// The publisher's include and exclude shape data, as they shape a frame's.
func TestAPublishersSelectionHoldsForTargets(t *testing.T) {
	d := &delivering{post: &post{}}
	d.house = build(t, `
entities:
  - name: doc
    fields: [{name: id, type: string}, {name: title, type: string}, {name: secret, type: string}]
    events: [{name: some, topic: some, include: [id, title]}, {name: rest, topic: rest, exclude: [secret]}]
`, func(c *engine.Config) {
		d.queue = &queued{Store: c.Store}
		c.Store, c.Outbox, c.Targets = d.queue, d.post, []engine.Target{as(alice, to("a", "some", "rest"))}
	})
	d.given(alice, "doc", `{"id":"x","title":"one","secret":"no"}`)
	for _, q := range d.queue.kept {
		if !strings.HasSuffix(string(q.Body), `"data":{"id":"x","title":"one"}}`) {
			t.Errorf("%s: %s", q.Topic, q.Body)
		}
	}
	if len(d.queue.kept) != 2 {
		t.Errorf("%d deliveries", len(d.queue.kept))
	}
}

// A body shows each row as the transaction leaves it, and a target with as is
// told of no state between two steps.
func TestABodyShowsWhatATransactionLeaves(t *testing.T) {
	h := deliver(t, []engine.Target{as(bob, to("bob", "entity.order")), to("any", "entity.order")})
	step := func(op, id, data string) engine.Step {
		s := engine.Step{Op: op, Entity: "order", ID: id}
		if data != "" {
			s.Data = body(t, data)
		}
		return s
	}
	const id, gone = "01M2P1R18V26CMVBZ1DC0AS1Z1", "01M2P1R18V26CMVBZ1DC0AS1Z2"
	_, err := h.Transaction(context.Background(), alice, []engine.Step{
		step("create", "", `{"id":"`+id+`","title":"one","status":"open"}`),
		step("update", id, `{"title":"two"}`),
		step("create", "", `{"id":"`+gone+`","title":"three","status":"open"}`),
		step("update", gone, `{"status":"draft"}`), // out of bob's sight when all is done
	}, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range h.queue.kept {
		if strings.Contains(string(q.Body), `"title":"one"`) {
			t.Errorf("a state between two steps: %s", q.Body)
		}
	}
	h.wantSent("bob entity.order entity.create "+id, "any entity.order entity.create "+id,
		"bob entity.order entity.update "+id, "any entity.order entity.update "+id,
		"any entity.order entity.create "+gone, "any entity.order entity.update "+gone)
}

// Handlers in Go and operations queue as any write, the rows beside theirs
// included; what channels are told is queued for nobody.
func TestOperationsQueueAndChannelsDoNot(t *testing.T) {
	d := &delivering{post: &post{}}
	d.house = build(t, desk, func(c *engine.Config) {
		d.queue = &queued{Store: c.Store}
		c.Store, c.Outbox, c.Targets = d.queue, d.post, []engine.Target{to("a", "entity.invoice", "entity.entry")}
		c.Handlers = []engine.Handler{write(func(_ context.Context, tx *engine.Tx) error {
			_, err := tx.Create("entry", body(t, `{"note":"n1","invoice":"i1"}`))
			return errors.Join(err, tx.Set(body(t, `{"title":"done"}`)))
		})}
	})
	d.given(alice, "invoice", `{"id":"i1","title":"a"}`)
	d.wantSent("a entity.invoice entity.create i1")
	for _, operation := range []string{"markPaidOne", "work"} {
		if _, err := d.operate(alice, operation, "i1"); err != nil {
			t.Fatal(err)
		}
	}
	channels := len(d.events(""))
	entry := d.only("entity.entry").Subject
	d.wantSent("a entity.invoice entity.update i1", "a entity.entry entity.create "+entry, "a entity.invoice entity.update i1")
	if channels == 0 {
		t.Error("no channel was told")
	}
}

// Only unordered targets are born leased, as long as there is room, and what is
// committed is handed over whole.
func TestDeliveriesAreBornLeasedWhileThereIsRoom(t *testing.T) {
	ordered := to("ordered", "entity.loud")
	ordered.Ordered = true
	h := deliver(t, []engine.Target{ordered, to("a", "entity.loud"), to("b", "entity.loud")})
	h.post.room = 1
	h.given(alice, "loud", `{"text":"x"}`)
	var got []string
	for _, d := range h.queue.kept {
		got = append(got, fmt.Sprintf("%s %v %d %q %d", d.Target, d.Ordered, d.Status, d.Owner, d.Epoch))
	}
	want := []string{`ordered true 1 "" 0`, `a false 2 "me" 1`, `b false 1 "" 0`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(h.post.committed, h.queue.kept) || len(h.post.dropped)+len(h.post.unknown) > 0 {
		t.Errorf("committed %d, dropped %d, unknown %d", len(h.post.committed), len(h.post.dropped), len(h.post.unknown))
	}
}

// A queue that cannot be written fails the write, and nothing of it remains.
func TestAQueueThatCannotBeWrittenFailsTheWrite(t *testing.T) {
	h := deliver(t, []engine.Target{to("a", "entity.loud")})
	h.queue.broken = errors.New("no room for /secret")
	_, err := h.create(alice, "loud", `{"text":"x"}`)
	wantFault(t, err, fault.Unavailable)
	if strings.Contains(err.Error(), "secret") || !errors.Is(err, h.queue.broken) {
		t.Errorf("got %v", err)
	}
	if rows := h.list(alice, "loud", "").Rows; len(rows) != 0 {
		t.Errorf("%d rows remain", len(rows))
	}
	if len(h.log) != 0 || len(h.post.committed) != 0 || len(h.post.dropped) != 1 || h.post.reserved != 1 {
		t.Errorf("%d events, %d handed over, %d of %d given back", len(h.log), len(h.post.committed), len(h.post.dropped), h.post.reserved)
	}
	h.given(alice, "plain", `{"text":"x"}`) // touches no queue
}

// A work that runs again gives back what its first run reserved, and one that
// may stand or not says so.
func TestReservationsOfRunsThatDoNotCountAreGivenBack(t *testing.T) {
	targets := []engine.Target{to("a", "entity.loud")}
	h := deliver(t, targets, func(c *engine.Config) { c.Store = &again{c.Store} })
	h.given(alice, "loud", `{"text":"x"}`)
	if p := h.post; p.reserved != 2 || len(p.dropped) != 1 || len(p.committed) != 1 || p.committed[0] == p.dropped[0] {
		t.Errorf("reserved %d, dropped %d, committed %d", p.reserved, len(p.dropped), len(p.committed))
	}
	h = deliver(t, targets, func(c *engine.Config) { c.Store = &lost{c.Store} })
	_, err := h.create(alice, "loud", `{"text":"x"}`)
	wantFault(t, err, fault.Unavailable)
	if p := h.post; p.reserved != 1 || len(p.unknown) != 1 || len(p.dropped)+len(p.committed) != 0 {
		t.Errorf("reserved %d, unknown %d", p.reserved, len(p.unknown))
	}
}

// A write that is undone leaves nothing to deliver.
func TestAnUndoneWriteQueuesNothing(t *testing.T) {
	h := deliver(t, []engine.Target{to("a", "entity.order", "entity.note")})
	_, _, err := h.bulk(alice, "note", engine.Options{}, `{"text":"a","rank":1}`, `{"text":"a","rank":1}`)
	wantFault(t, err, fault.Conflict)
	if h.wantSent(); h.post.reserved != 0 {
		t.Errorf("%d reserved", h.post.reserved)
	}
}

func TestTargetsNeedAnOutbox(t *testing.T) {
	h := open(t)
	_, err := engine.New(engine.Config{
		Model: &schema.Model{}, Store: h.Store(), NewID: ids(), Secret: []byte("0123456789abcdef0123456789abcdef"), Targets: []engine.Target{to("a", "b")},
	})
	if err == nil {
		t.Error("an Engine without an Outbox was made")
	}
}
