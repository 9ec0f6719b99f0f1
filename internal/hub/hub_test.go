package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

const model = `
entities:
  - name: note
    fields:
      - {name: id, type: string}
      - {name: owner_id, type: string}
      - {name: text, type: string}
    rowrules:
      - {name: own, actions: [read], language: expr, expression: row.owner_id == user.id}
    events:
      - {name: changed}
    subscriptions:
      - {name: mine, rls: true}
  - name: bell
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: text, type: string}
      - {name: level, type: int}
    events:
      - {name: changed}
    subscriptions:
      - {name: rings}
      - {name: rows, rls: true}
      - {name: own, scope: user}
      - {name: loud, filter: {language: expr, expression: payload.level > 5}}
  - name: card
    fields:
      - {name: id, type: string}
      - {name: title, type: string}
      - {name: pin, type: string, mask: {keeplast: 1}}
      - {name: note, type: string}
    access:
      actions: {language: expr, expression: '"clear" in user.roles ? true : ["read"]'}
      read: {language: expr, expression: '"clear" in user.roles ? true : ["id", "title", "pin"]'}
`

// world is a schema with a hub, and numbers for log rows.
type world struct {
	t     *testing.T
	model *schema.Model
	hub   *Hub
	seq   int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{t: t, model: schematest.Model(t, model), hub: New(nil)}
}

func (w *world) entity(name string) *schema.Entity {
	w.t.Helper()
	e, ok := w.model.Entity(name)
	if !ok {
		w.t.Fatalf("no entity %s", name)
	}
	return e
}

// view opens a subscription of an entity for a user.
func (w *world) view(entity, subscription, user string) *Declared {
	w.t.Helper()
	e := w.entity(entity)
	policy, refusals := access.Compile(e)
	if len(refusals) > 0 {
		w.t.Fatal(refusals)
	}
	pr := &access.Principal{ID: user, Anonymous: user == "", Tenant: "t"}
	grant, err := policy.Grant(pr)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range e.Subscriptions {
		if sub := &e.Subscriptions[i]; sub.Name == subscription {
			v := &Declared{Tenant: "t", Entity: e, Subscription: sub, Topic: sub.Source, Ops: sub.Operations, Principal: pr}
			v.See(Source{Publisher: &e.Events[0], Grant: grant, Filter: compileFilter(w.t, e, sub)})
			return v
		}
	}
	w.t.Fatalf("no subscription %s", subscription)
	return nil
}

// entry is a change as the log tells it: rows before and after, nil for none.
func (w *world) entry(entity string, op schema.Op, before, after store.Row) *tail.Entry {
	w.seq++
	e := w.entity(entity)
	return &tail.Entry{
		Log: &store.LogRow{
			Seq: w.seq, EventID: fmt.Sprintf("E%05d", w.seq), Entity: entity, Operation: op, Topic: "entity." + entity,
			Subject: "x", Actor: "ann", Time: time.Unix(0, 0).UTC(), Guard: store.Guard{Before: before, After: after},
		},
		Entity: e, Row: after, Own: true,
	}
}

func (w *world) row(entity string, cells ...any) store.Row {
	row := make(store.Row, len(w.entity(entity).Fields))
	for i, c := range cells {
		switch c := c.(type) {
		case string:
			row[i] = value.OfText(c)
		case int:
			row[i] = value.OfInt(int64(c))
		}
	}
	return row
}

func take(s *Subscriber) (frames int, lagging bool) {
	due := s.Take(nil)
	return len(due.Frames), due.Lagging
}

// Delivery contract: with room the event is enqueued and counted as
// delivered; with a full buffer it is dropped for that subscriber only and
// counted; the others are unaffected. Beyond the contract: the subscriber then catches up.
func TestFullBufferDropsForThatSubscriberOnly(t *testing.T) {
	w := newWorld(t)
	slow, _ := w.hub.Register(w.view("bell", "rings", "bob"), Start{}, time.Minute)
	quick, _ := w.hub.Register(w.view("bell", "rings", "cid"), Start{}, time.Minute)
	for range Buffer + 10 {
		w.hub.Publish([]*tail.Entry{w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))})
		if n, lagging := take(quick); n != 1 || lagging {
			t.Fatalf("the quick subscriber got %d frames, lagging %v; want 1 and not", n, lagging)
		}
	}
	if got := slow.Account(); got.Delivered != Buffer || got.Dropped != 10 || !got.Lagging {
		t.Errorf("slow subscriber: got %+v, want %d delivered, 10 dropped, lagging", got, Buffer)
	}
	if got := quick.Account(); got.Delivered != Buffer+10 || got.Dropped != 0 {
		t.Errorf("quick subscriber: got %+v, want all delivered", got)
	}
	due := slow.Take(nil)
	if len(due.Frames) != Buffer || !due.Lagging || due.After.Seq != Buffer {
		t.Errorf("got %d frames, lagging %v after %d; want %d, true, %d", len(due.Frames), due.Lagging, due.After.Seq, Buffer, Buffer)
	}
	if c := w.hub.Counters(); c.Published != Buffer+10 || c.Delivered != 2*Buffer+10 || c.Dropped != 10 || c.Subscribers != 2 || c.Topics != 1 {
		t.Errorf("hub's counters: %+v", c)
	}
}

// A subscriber rejoins the live stream only where nothing that it dropped lies
// behind it, and is then told nothing twice.
func TestRejoinLeavesNoSeam(t *testing.T) {
	w := newWorld(t)
	s, _ := w.hub.Register(w.view("bell", "rings", "bob"), Start{CatchUp: true}, time.Minute)
	publish := func() *tail.Entry {
		e := w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))
		w.hub.Publish([]*tail.Entry{e})
		return e
	}
	publish()
	last := publish()
	if s.Rejoin(store.Position{Seq: 1, EventID: "E00001"}) {
		t.Fatal("rejoined below an entry that was offered and dropped")
	}
	if !s.Rejoin(store.Position{Seq: last.Log.Seq + 1, EventID: "E00003"}) {
		t.Fatal("did not rejoin at an entry beyond all that was offered")
	}
	publish() // number 3 was replayed already
	publish()
	if n, lagging := take(s); n != 1 || lagging {
		t.Errorf("after rejoining at 3 got %d frames, lagging %v; want the one of number 4", n, lagging)
	}
}

// What was published before a subscriber came is not offered to it, so one that
// catches up rejoins only when it has read that far.
func TestRejoinNotBelowWhatWasPublishedBefore(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.hub.Publish([]*tail.Entry{w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))})
	}
	s, _ := w.hub.Register(w.view("bell", "rings", "bob"), Start{CatchUp: true}, time.Minute)
	if s.Rejoin(store.Position{Seq: 2, EventID: "E00002"}) {
		t.Fatal("rejoined at 2 with 3 never seen")
	}
	if !s.Rejoin(store.Position{Seq: 3, EventID: "E00003"}) {
		t.Fatal("did not rejoin with everything read")
	}
}

// Delivery contract: who has unsubscribed is skipped; its counters stay in the sum.
func TestUnregisteredIsSkipped(t *testing.T) {
	w := newWorld(t)
	s, _ := w.hub.Register(w.view("bell", "rings", "bob"), Start{}, time.Minute)
	w.hub.Publish([]*tail.Entry{w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))})
	w.hub.Unregister(s)
	w.hub.Unregister(s)
	w.hub.Publish([]*tail.Entry{w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))})
	if got := s.Account().Delivered; got != 1 {
		t.Errorf("delivered %d, want 1", got)
	}
	if c := w.hub.Counters(); c.Subscribers != 0 || c.Topics != 0 || c.Delivered != 1 || c.Published != 2 {
		t.Errorf("hub's counters: %+v", c)
	}
}

// wantVerdict judges a change of a row that is now as it is read again.
func wantVerdict(t *testing.T, v View, e *tail.Entry, now store.Row, want Verdict) {
	t.Helper()
	e.Row, e.Own = now, false
	if got := v.Judge(e); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// DESIGN.md, "Judged in memory", on rows that only their owner may read.
func TestWhoIsToldWithRowRules(t *testing.T) {
	w := newWorld(t)
	ann := func(text string) store.Row { return w.row("note", "x", "ann", text) }
	bob := func(text string) store.Row { return w.row("note", "x", "bob", text) }
	unknown := make(store.Row, 3)
	for i := range unknown {
		unknown[i] = value.NotAtHand()
	}
	cases := []struct {
		name          string
		op            schema.Op
		before, after store.Row
		now           store.Row // the row as read; Own is false where it differs from after
		leave         bool
		want          Verdict
	}{
		{"create of her own", schema.Create, nil, ann("a"), ann("a"), false, Tell},
		{"create of another's", schema.Create, nil, bob("a"), bob("a"), true, Nothing},
		{"update of her own", schema.Update, ann("a"), ann("b"), ann("b"), false, Tell},
		{"comes into sight", schema.Update, bob("a"), ann("a"), ann("a"), false, Tell},
		{"goes out of sight", schema.Update, ann("a"), bob("a"), bob("a"), false, Nothing},
		{"goes out of sight, leave asked for", schema.Update, ann("a"), bob("a"), bob("a"), true, TellLeave},
		{"never in sight, leave asked for", schema.Update, bob("a"), bob("b"), bob("b"), true, Nothing},
		{"visible after, no longer as read", schema.Update, ann("a"), ann("b"), bob("c"), true, Nothing},
		{"not visible after, visible as read", schema.Update, bob("a"), bob("b"), ann("c"), true, Nothing},
		{"gone as read", schema.Update, ann("a"), ann("b"), nil, true, Nothing},
		{"delete of her own", schema.Delete, ann("a"), nil, nil, false, Tell},
		{"delete of another's", schema.Delete, bob("a"), nil, nil, true, Nothing},
		{"delete of which nothing is known", schema.Delete, nil, nil, nil, true, Nothing},
		{"guard of another schema", schema.Update, unknown, unknown, ann("a"), true, Nothing},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := w.view("note", "mine", "ann")
			v.Leave = c.leave
			wantVerdict(t, v, w.entry("note", c.op, c.before, c.after), c.now, c.want)
		})
	}
}

// Without row rules: a delete reaches everybody; a row that is gone has no
// values left, so an rls stream is not told of its earlier changes.
func TestWhoIsToldWithoutRowRules(t *testing.T) {
	w := newWorld(t)
	row := w.row("bell", "x", "hi", 1)
	deleted := w.row("bell", "x", "hi", 1, "ann", 1)
	cases := []struct {
		name, subscription, user string
		op                       schema.Op
		before, after, now       store.Row
		want                     Verdict
	}{
		{"notification", "rings", "bob", schema.Create, nil, row, row, Tell},
		{"notification of a row gone since", "rings", "bob", schema.Create, nil, row, nil, Tell},
		{"row", "rows", "bob", schema.Create, nil, row, row, Tell},
		{"row gone since", "rows", "bob", schema.Create, nil, row, nil, Nothing},
		{"row soft-deleted since", "rows", "bob", schema.Update, row, row, deleted, Nothing},
		{"delete", "rows", "bob", schema.Delete, nil, nil, nil, Tell},
		{"scope user, her own write", "own", "ann", schema.Create, nil, row, row, Tell},
		{"scope user, another's write", "own", "bob", schema.Create, nil, row, row, Nothing},
		{"scope user, anonymous", "own", "", schema.Create, nil, row, row, Nothing},
		{"filter refuses", "loud", "bob", schema.Create, nil, row, row, Nothing},
		{"filter accepts", "loud", "bob", schema.Create, nil, w.row("bell", "x", "hi", 9), row, Tell},
		{"filter fails", "loud", "bob", schema.Create, nil, w.row("bell", "x", "hi"), row, Failed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := w.view("bell", c.subscription, c.user)
			wantVerdict(t, v, w.entry("bell", c.op, c.before, c.after), c.now, c.want)
		})
	}
}

// One encode serves all who see the same.
func TestSameViewSharesOneEncoding(t *testing.T) {
	w := newWorld(t)
	e := w.entry("bell", schema.Create, nil, w.row("bell", "x", "hi", 1))
	one, two := w.view("bell", "rows", "bob").Frame(e, Tell), w.view("bell", "rows", "cid").Frame(e, Tell)
	if &one[0] != &two[0] {
		t.Error("two subscribers with the same view got two encodings")
	}
	if plain := w.view("bell", "rings", "bob").Frame(e, Tell); string(plain) == string(one) {
		t.Error("a subscription without rls got the row's values")
	}
}

func BenchmarkPublish1000(b *testing.B) {
	w := newWorld(&testing.T{})
	subs := make([]*Subscriber, 1000)
	for i := range subs {
		subs[i], _ = w.hub.Register(w.view("note", "mine", fmt.Sprint("user", i)), Start{}, time.Minute)
	}
	e := w.entry("note", schema.Create, nil, w.row("note", "x", "user7", "hi"))
	for b.Loop() {
		e.Log.Seq++
		w.hub.Publish([]*tail.Entry{e})
		subs[7].Take(nil)
	}
}
