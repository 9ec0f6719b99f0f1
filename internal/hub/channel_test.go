package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/predicate"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// opening is what a test asks of a channel.
type opening struct {
	entity, id, user    string
	filter              string
	fields              string // names, with spaces between; "": all
	changed             string
	leave, unmask, none bool // none: fields, but none of them
}

func (w *world) channel(o opening) *Channel {
	w.t.Helper()
	e := w.entity(o.entity)
	policy, refusals := access.Compile(e)
	if len(refusals) > 0 {
		w.t.Fatal(refusals)
	}
	pr := &access.Principal{ID: o.user, Tenant: "t"}
	if o.unmask {
		pr.Roles = []string{"clear"}
	}
	grant, err := policy.Grant(pr)
	if err != nil {
		w.t.Fatal(err)
	}
	l := Listening{Grant: grant, ID: o.id, Leave: o.leave, Keep: func(int) bool { return !o.none }, Changed: w.fields(e, o.changed)}
	if o.fields != "" {
		kept := w.fields(e, o.fields)
		l.Keep = func(i int) bool {
			for _, k := range kept {
				if k == i {
					return true
				}
			}
			return false
		}
	}
	if l.Filter, err = predicate.ParseQuery(e, o.filter, nil); err != nil {
		w.t.Fatal(err)
	}
	return NewChannel(l)
}

func (w *world) fields(e *schema.Entity, names string) (fields []int) {
	w.t.Helper()
	for name := range strings.FieldsSeq(names) {
		i, ok := e.Field(name)
		if !ok {
			w.t.Fatalf("no field %s", name)
		}
		fields = append(fields, i)
	}
	return fields
}

// told is a change as the log tells channels of it.
func (w *world) told(entity, fine string, before, after store.Row) *tail.Entry {
	op := schema.Update
	switch fine {
	case "created":
		op = schema.Create
	case "deleted":
		op = schema.Delete
	}
	e := w.entry(entity, op, before, after)
	e.Log.Topic, e.Log.Fine = "", fine
	return e
}

func (w *world) wantChannel(o opening, e *tail.Entry, now store.Row, want Verdict) {
	w.t.Helper()
	wantVerdict(w.t, w.channel(o), e, now, want)
}

// Channels contract, section 4.3: what crosses the filter's boundary, on an
// entity without row rules; and beyond it, leave.
func TestChannelFilterBoundary(t *testing.T) {
	w := newWorld(t)
	low, high, null := w.row("bell", "x", "hi", 1), w.row("bell", "x", "hi", 9), w.row("bell", "x", "hi")
	loud := opening{entity: "bell", user: "bob", filter: "filter[level][gt]=5"}
	leave := loud
	leave.leave = true
	soft := w.row("bell", "x", "hi", 9, "ann", 1)
	unknown := make(store.Row, len(low))
	for i := range unknown {
		unknown[i] = value.NotAtHand()
	}
	cases := []struct {
		name          string
		open          opening
		fine          string
		before, after store.Row
		now           store.Row
		want          Verdict
	}{
		{"created and matches", loud, "created", nil, high, high, Tell},
		{"created and does not", loud, "created", nil, low, low, Nothing},
		{"created with null", loud, "created", nil, null, null, Nothing},
		{"enters", loud, "patched", low, high, high, Tell},
		{"enters from null", loud, "updated", null, high, high, Tell},
		{"stays", loud, "updated", high, high, high, Tell},
		{"leaves, not asked for", loud, "patched", high, low, low, Nothing},
		{"leaves", leave, "patched", high, low, low, TellLeave},
		{"leaves to null", leave, "updated", high, null, null, TellLeave},
		{"leaves, and is back as read", leave, "updated", high, low, high, TellLeave},
		{"was never in", leave, "patched", low, low, low, Nothing},
		{"was never in, and is as read", leave, "patched", low, low, high, Nothing},
		{"enters and has left as read: a later event tells", leave, "patched", low, high, low, Nothing},
		{"is gone as read", leave, "patched", high, high, nil, Nothing},
		{"is soft-deleted as read", leave, "patched", high, high, soft, Nothing},
		{"deleted and matched", leave, "deleted", high, nil, nil, Tell},
		{"deleted and did not match: always told", leave, "deleted", low, nil, nil, Tell},
		{"deleted, of which nothing is known", loud, "deleted", nil, nil, nil, Tell},
		{"restored and matches", loud, "restored", nil, high, high, Tell},
		{"restored and does not", leave, "restored", nil, low, low, Nothing},
		{"an event older than the filter's columns", leave, "patched", unknown, unknown, high, Nothing},
		{"only what it is now is not known: no leave", leave, "patched", high, unknown, high, Nothing},
		{"a not that knows all but null", opening{entity: "bell", user: "bob", filter: "filter[not][level][gt]=5"}, "created", nil, null, null, Nothing},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			w.wantChannel(c.open, w.told("bell", c.fine, c.before, c.after), c.now, c.want)
		})
	}
}

// The guard of a read guards a channel: on rows that only their owner may read,
// also where a filter would let another's through.
func TestChannelRowRules(t *testing.T) {
	w := newWorld(t)
	ann := func(text string) store.Row { return w.row("note", "x", "ann", text) }
	bob := func(text string) store.Row { return w.row("note", "x", "bob", text) }
	mine := opening{entity: "note", user: "ann", leave: true}
	open := mine
	open.filter = "filter[text][eq]=open"
	cases := []struct {
		name          string
		open          opening
		fine          string
		before, after store.Row
		now           store.Row
		want          Verdict
	}{
		{"her own", mine, "created", nil, ann("a"), ann("a"), Tell},
		{"another's", mine, "created", nil, bob("a"), bob("a"), Nothing},
		{"another's that the filter would show", open, "created", nil, bob("open"), bob("open"), Nothing},
		{"hers that the filter does not", open, "created", nil, ann("shut"), ann("shut"), Nothing},
		{"given to her", open, "patched", bob("open"), ann("open"), ann("open"), Tell},
		{"given away", open, "patched", ann("open"), bob("open"), bob("open"), TellLeave},
		{"given away, not in the filter before", open, "patched", ann("shut"), bob("open"), bob("open"), Nothing},
		{"another's leaves the filter", open, "patched", bob("open"), bob("shut"), bob("shut"), Nothing},
		{"hers leaves the filter", open, "patched", ann("open"), ann("shut"), ann("shut"), TellLeave},
		{"visible after, no longer as read", open, "patched", ann("open"), ann("open"), bob("open"), Nothing},
		{"hers is deleted", mine, "deleted", ann("a"), nil, nil, Tell},
		{"hers is deleted, whatever the filter says", open, "deleted", ann("shut"), nil, nil, Tell},
		{"another's is deleted", open, "deleted", bob("open"), nil, nil, Nothing},
		{"deleted, of which nothing is known", mine, "deleted", nil, nil, nil, Nothing},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			w.wantChannel(c.open, w.told("note", c.fine, c.before, c.after), c.now, c.want)
		})
	}
}

// changed= tells of updates that changed one of the fields, and of all that a
// row is there, gone, or out of sight.
func TestChannelChanged(t *testing.T) {
	w := newWorld(t)
	low, high := w.row("bell", "x", "hi", 1), w.row("bell", "x", "hi", 9)
	level := opening{entity: "bell", user: "bob", changed: "level text"}
	loud := opening{entity: "bell", user: "bob", changed: "text", leave: true, filter: "filter[level][gt]=5"}
	cases := []struct {
		name          string
		open          opening
		fine          string
		differs       []string
		before, after store.Row
		want          Verdict
	}{
		{"patched, one of them", level, "patched", []string{"id", "level"}, low, high, Tell},
		{"updated, one of them", level, "updated", []string{"text"}, low, high, Tell},
		{"patched, another", level, "patched", []string{"id"}, low, high, Nothing},
		{"sent and equal", level, "patched", nil, low, low, Nothing},
		{"created", level, "created", nil, nil, low, Tell},
		{"restored", level, "restored", nil, nil, low, Tell},
		{"deleted", level, "deleted", nil, low, nil, Tell},
		{"enters by another field", loud, "patched", []string{"level"}, low, high, Nothing},
		{"leaves by another field", loud, "patched", []string{"level"}, high, low, TellLeave},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			e := w.told("bell", c.fine, c.before, c.after)
			e.Log.Differs = c.differs
			w.wantChannel(c.open, e, c.after, c.want)
		})
	}
}

// A channel hears of its own entity's channel events, an item channel of its
// row's: not of another's, nor of what topics are told.
func TestChannelRouting(t *testing.T) {
	w := newWorld(t)
	row := w.row("bell", "x", "hi", 1)
	for name, c := range map[string]struct {
		open    opening
		topic   string
		subject string
		want    Verdict
	}{
		"collection":         {opening{entity: "bell"}, "", "x", Tell},
		"its row":            {opening{entity: "bell", id: "a.b"}, "", "a.b", Tell},
		"another row":        {opening{entity: "bell", id: "a"}, "", "a.b", Nothing},
		"another entity":     {opening{entity: "note"}, "", "x", Nothing},
		"an event of topics": {opening{entity: "bell"}, "entity.bell", "x", Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			e := w.told("bell", "created", nil, row)
			e.Log.Topic, e.Log.Subject = c.topic, c.subject
			w.wantChannel(c.open, e, row, c.want)
		})
	}
}

// An item channel costs nothing when other rows change: it is not even judged.
func TestItemChannelHasALaneOfItsOwn(t *testing.T) {
	w := newWorld(t)
	seven, _ := w.hub.Register(w.channel(opening{entity: "bell", id: "7"}), Start{}, time.Minute)
	all, _ := w.hub.Register(w.channel(opening{entity: "bell"}), Start{}, time.Minute)
	topic, _ := w.hub.Register(w.view("bell", "rings", "bob"), Start{}, time.Minute)
	batch := make([]*tail.Entry, 10)
	for i := range batch {
		batch[i] = w.told("bell", "created", nil, w.row("bell", fmt.Sprint(i), "hi", 1))
		batch[i].Log.Subject = fmt.Sprint(i)
	}
	if sorted := w.hub.sort(batch); len(sorted) != 2 || len(sorted[lane{entity: "bell", id: "7"}]) != 1 || len(sorted[lane{entity: "bell"}]) != 10 {
		t.Errorf("sorted into %d lanes, want the entity's with 10 entries and the row's with 1: %v", len(sorted), sorted)
	}
	w.hub.Publish(batch)
	for name, c := range map[string]struct {
		s    *Subscriber
		want int
	}{"item": {seven, 1}, "collection": {all, 10}, "topic": {topic, 0}} {
		due := c.s.Take(nil)
		if len(due.Frames) != c.want || due.Upto.Seq != batch[9].Log.Seq {
			t.Errorf("%s: %d frames up to %d, want %d up to %d", name, len(due.Frames), due.Upto.Seq, c.want, batch[9].Log.Seq)
		}
	}
	if c := w.hub.Counters(); c.Topics != 3 || c.Published != 10 || c.Delivered != 11 {
		t.Errorf("hub's counters: %+v", c)
	}
	for _, s := range []*Subscriber{seven, all, topic} {
		w.hub.Unregister(s)
	}
	if c := w.hub.Counters(); c.Topics != 0 || c.Subscribers != 0 {
		t.Errorf("hub's counters at the end: %+v", c)
	}
}

// Channels contract, sections 2 and 5: what a frame shows, narrowed to what
// leaves and is read; changed is narrowed as the item is.
func TestChannelFrames(t *testing.T) {
	w := newWorld(t)
	row := w.row("card", "7", "Dune", "secret1", "hush")
	const start = `{"event":"patched","entity":"card","id":"7","channel":"card.7","occurredAt":"1970-01-01T00:00:00Z","item":`
	const left = `{"event":"left","entity":"card","id":"7","channel":"card.7","occurredAt":"1970-01-01T00:00:00Z","item":null}`
	cases := []struct {
		name    string
		open    opening
		fine    string
		verdict Verdict
		event   string
		data    string
	}{
		{"whole", opening{entity: "card", unmask: true}, "patched", Tell, "patched",
			start + `{"id":"7","title":"Dune","pin":"secret1","note":"hush"},"changed":["title","pin","note"]}`},
		{"masked, and not all readable", opening{entity: "card"}, "patched", Tell, "patched",
			start + `{"id":"7","title":"Dune","pin":"******1"},"changed":["title","pin"]}`},
		{"some fields", opening{entity: "card", fields: "note title"}, "patched", Tell, "patched", start + `{"title":"Dune"},"changed":["title"]}`},
		{"no fields", opening{entity: "card", none: true}, "patched", Tell, "patched", start + `{},"changed":[]}`},
		{"restored names none", opening{entity: "card", fields: "id"}, "restored", Tell, "restored",
			`{"event":"restored","entity":"card","id":"7","channel":"card.7","occurredAt":"1970-01-01T00:00:00Z","item":{"id":"7"}}`},
		{"left shows no value", opening{entity: "card", unmask: true}, "patched", TellLeave, "left", left},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w.t = t
			e := w.told("card", c.fine, row, row)
			e.Log.Subject, e.Log.Sent = "7", []string{"title", "pin", "note", "no field any more"}
			got := string(w.channel(c.open).Frame(e, c.verdict))
			want := "id: " + e.Log.EventID + "\nevent: " + c.event + "\ndata: " + c.data + "\n\n"
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// One encode serves all who see the same, and nobody else.
func TestChannelsShareOneEncodingWhereTheySeeTheSame(t *testing.T) {
	w := newWorld(t)
	row := w.row("card", "7", "Dune", "secret1", "hush")
	e := w.told("card", "patched", row, row)
	frame := func(o opening, v Verdict) *byte {
		o.entity = "card"
		return &w.channel(o).Frame(e, v)[0]
	}
	all := frame(opening{user: "ann"}, Tell)
	for name, o := range map[string]opening{
		"another user":               {user: "bob"},
		"of the one row":             {user: "bob", id: "7"},
		"with a filter":              {user: "bob", filter: "filter[title][eq]=Dune"},
		"fields that are all of his": {user: "bob", fields: "id title pin"},
		"fields that he cannot read": {user: "bob", fields: "id title pin note"},
	} {
		if frame(o, Tell) != all {
			t.Errorf("%s: got an encoding of its own", name)
		}
	}
	for name, o := range map[string]opening{
		"unmasked": {user: "ann", unmask: true}, "fewer fields": {user: "ann", fields: "title"}, "none": {user: "ann", none: true},
	} {
		if frame(o, Tell) == all {
			t.Errorf("%s: shares the encoding of who sees other fields", name)
		}
	}
	if frame(opening{user: "ann"}, TellLeave) != frame(opening{user: "ann", unmask: true}, TellLeave) {
		t.Error("left shows no values, and is encoded twice")
	}
}

func TestAboutAChannel(t *testing.T) {
	w := newWorld(t)
	if got := w.channel(opening{entity: "bell", id: "a.b", user: "ann"}).About(); got.Channel != "bell.a.b" || got.Subscription != "" ||
		got.Entity.Name != "bell" || got.Principal.ID != "ann" {
		t.Errorf("got %+v", got)
	}
	if got := w.view("bell", "rings", "ann").About(); got.Channel != "" || got.Subscription != "rings" || got.Principal.ID != "ann" {
		t.Errorf("got %+v", got)
	}
}

// What a filter costs each subscriber for each change: memory alone is looked
// at, no database, and nothing is allocated where nothing is told.
func BenchmarkJudgeFilter(b *testing.B) {
	w := newWorld(&testing.T{})
	row := w.row("bell", "x", "the quick brown fox", 3)
	for name, filter := range map[string]string{
		"none": "", "eq": "filter[level][eq]=5", "like": "filter[text][like]=%25lazy%25",
		"or of and": "filter[or][0][level][gt]=5&filter[or][0][text][eq]=x&filter[or][1][level][in]=7,8,9",
	} {
		c := w.channel(opening{entity: "bell", user: "bob", filter: filter})
		e := w.told("bell", "patched", row, row)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Judge(e)
			}
		})
	}
}

// One change, and a thousand who listen for other things.
func BenchmarkPublish1000Channels(b *testing.B) {
	w := newWorld(&testing.T{})
	for name, open := range map[string]func(i int) opening{
		"filters": func(i int) opening {
			return opening{entity: "bell", user: "bob", filter: fmt.Sprintf("filter[level][eq]=%d", i+10)}
		},
		"items": func(i int) opening { return opening{entity: "bell", user: "bob", id: fmt.Sprint("row", i)} },
	} {
		w.hub = New(nil)
		for i := range 1000 {
			w.hub.Register(w.channel(open(i)), Start{}, time.Minute)
		}
		e := w.told("bell", "patched", nil, w.row("bell", "x", "hi", 1))
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e.Log.Seq++
				w.hub.Publish([]*tail.Entry{e})
			}
		})
	}
}
