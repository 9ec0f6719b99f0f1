package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
)

// channels opens the shop with channels as the boot document's defaults say, and
// as each entity does that is named.
func channels(t testing.TB, defaults *schema.Realtime, entities map[string]*schema.Realtime) *house {
	t.Helper()
	return open(t, func(c *engine.Config) {
		c.Realtime = defaults
		for name, realtime := range entities {
			e, _ := c.Model.Entity(name)
			e.Realtime = realtime
		}
	})
}

// Channels contract, sections 1 and 2: whatever way a row is written, channels
// are told once of it, by the event that the way stands for.
func TestEachChangedRowIsOneChannelEvent(t *testing.T) {
	h := channels(t, nil, map[string]*schema.Realtime{"order": {}})
	id, other := "", ""
	for _, c := range []struct {
		name    string
		write   func() error
		want    string // fine words
		op      schema.Op
		sent    string
		differs string
	}{
		{"POST", func() error { id = h.given(alice, "order", `{"title":"ab","total":1}`); return nil },
			"created", schema.Create, "title,total", "id,title,status,owner_id,total,seen_at,ref,createdby,createdon,updatedby,updatedon"},
		{"PATCH", func() error { _, err := h.patch(alice, "order", id, `{"total":2,"title":"ab"}`); return err }, "patched", schema.Update, "total,title", "total"},
		{"PUT", func() error { _, err := h.put(alice, id, `{"title":"cd","total":2}`); return err }, "updated", schema.Update, "title,total", "title"},
		{"DELETE", func() error { return h.remove(alice, "order", id) }, "deleted", schema.Delete, "", ""},
		{"restore", func() error { _, err := h.restore(alice, "order", id); return err }, "restored", schema.Update, "", "deletedby,deletedon"},
		{"purge of a live row", func() error { return h.purge(staff, id) }, "deleted", schema.Delete, "", ""},
		{"bulk", func() error {
			_, _, err := h.bulk(alice, "order", engine.Options{}, `{"title":"ef"}`, `{"title":"ef"}`)
			return err
		}, "created created", schema.Create, "title", "id,title,status,owner_id,seen_at,ref,createdby,createdon,updatedby,updatedon"},
		{"PATCH of many rows", func() error {
			n, err := h.patchMany(alice, "order", "filter[title][eq]=ef", `{"total":5}`)
			return want(n, 2, err)
		}, "patched patched", schema.Update, "total", "total"},
		{"DELETE of many rows", func() error {
			n, err := h.deleteMany(alice, "order", "filter[title][eq]=ef")
			return want(n, 2, err)
		}, "deleted deleted", schema.Delete, "", ""},
		{"transaction", func() error {
			other = h.given(alice, "order", `{"title":"gh"}`)
			h.forget()
			_, err := h.Transaction(context.Background(), alice, []engine.Step{
				{Op: "create", Entity: "order", Data: body(t, `{"title":"ij"}`)},
				{Op: "update", Entity: "order", ID: other, Data: body(t, `{"total":9}`)},
				{Op: "delete", Entity: "order", ID: other},
			}, engine.Options{})
			return err
		}, "created patched deleted", schema.Create, "title", "id,title,status,owner_id,seen_at,ref,createdby,createdon,updatedby,updatedon"},
		{"purge of a deleted row", func() error { return h.purge(staff, other) }, "deleted", schema.Delete, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.forget()
			if err := c.write(); err != nil {
				t.Fatal(err)
			}
			events := h.events("")
			var got []string
			for _, e := range events {
				got = append(got, e.Fine)
			}
			if strings.Join(got, " ") != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			e := events[0]
			if e.Operation != c.op || e.Entity != "order" || e.Subject == "" || e.Origin != "here" || !e.Time.Equal(h.now) || (e.Row == nil) != (c.op == schema.Delete) {
				t.Errorf("got %+v", e)
			}
			if sent := strings.Join(e.Sent, ","); sent != c.sent {
				t.Errorf("sent: got %q, want %q", sent, c.sent)
			}
			if differs := strings.Join(e.Differs, ","); differs != c.differs {
				t.Errorf("differs: got %q, want %q", differs, c.differs)
			}
		})
	}
}

func want(got, want int, err error) error {
	if err == nil && got != want {
		return fmt.Errorf("changed %d rows, want %d", got, want)
	}
	return err
}

// The guard holds what row rules name and what channels may filter by, and no
// cell that may not leave on a channel.
func TestAChannelsGuardKeepsWhatDecidesWhoIsTold(t *testing.T) {
	e := func(h *house) *schema.Entity { p, _ := h.Policy("order"); return p.Entity }
	kept := func(h *house, row store.Row) (names []string) {
		for i, cell := range row {
			if cell != value.NotAtHand() {
				names = append(names, e(h).Fields[i].Name)
			}
		}
		return names
	}
	at := func(h *house, name string) int { i, _ := e(h).Field(name); return i }
	for _, c := range []struct {
		name         string
		filterable   bool
		subscribable []string
		want         string
	}{
		{"not filterable", false, nil, "status owner_id"},
		{"not filterable, narrowed", false, []string{"title"}, "status owner_id"},
		{"filterable", true, nil, "id title status owner_id total code size born card pin notes stamp paid_at seen_at ref createdby createdon updatedby updatedon deletedby deletedon"},
		{"filterable, narrowed", true, []string{"title", "total"}, "title status owner_id total"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &schema.Realtime{Filterable: c.filterable}
			h := channels(t, nil, map[string]*schema.Realtime{"order": r})
			if c.subscribable != nil {
				p, _ := h.Policy("order")
				for _, name := range c.subscribable {
					i, _ := p.Entity.Field(name)
					r.Subscribable = append(r.Subscribable, i)
				}
				h = channels(t, nil, map[string]*schema.Realtime{"order": r})
			}
			id := h.given(alice, "order", `{"title":"ab","total":1}`)
			created := h.only("")
			if created.Guard.Before != nil || strings.Join(kept(h, created.Guard.After), " ") != c.want {
				t.Errorf("create: got %v and %v, want nothing and %v", created.Guard.Before, kept(h, created.Guard.After), c.want)
			}
			if _, err := h.patch(alice, "order", id, `{"status":"open"}`); err != nil {
				t.Fatal(err)
			}
			g := h.only("").Guard
			if strings.Join(kept(h, g.Before), " ") != c.want || strings.Join(kept(h, g.After), " ") != c.want {
				t.Errorf("update: got %v and %v, want %v", kept(h, g.Before), kept(h, g.After), c.want)
			}
			if was, is := g.Before[at(h, "status")], g.After[at(h, "status")]; was != value.OfText("draft") || is != value.OfText("open") {
				t.Errorf("update: got %v to %v", was, is)
			}
			if err := h.remove(alice, "order", id); err != nil {
				t.Fatal(err)
			}
			if g := h.only("").Guard; g.After != nil || strings.Join(kept(h, g.Before), " ") != c.want {
				t.Errorf("delete: got %v and %v", kept(h, g.Before), g.After)
			}
			if err := h.purge(staff, id); err != nil {
				t.Fatal(err)
			}
			if g := h.only("").Guard; g.After != nil || g.Before != nil {
				t.Errorf("purge of what nobody could see: got %v, want nothing", g)
			}
		})
	}
}

// The nearest scope that names an event decides; what is not named is published;
// no key at all is no channel.
func TestWhatIsMutedIsNotWritten(t *testing.T) {
	const all = "created patched updated deleted restored deleted"
	off := func(events ...schema.RealtimeEvent) map[schema.RealtimeEvent]bool {
		m := map[schema.RealtimeEvent]bool{}
		for _, e := range events {
			m[e] = false
		}
		return m
	}
	for _, c := range []struct {
		name             string
		defaults, entity *schema.Realtime
		want             string
	}{
		{"no key anywhere", nil, nil, ""},
		{"the defaults alone", &schema.Realtime{}, nil, all},
		{"the defaults are off", &schema.Realtime{Off: true}, nil, ""},
		{"the entity is off", &schema.Realtime{}, &schema.Realtime{Off: true}, ""},
		{"the entity alone", nil, &schema.Realtime{}, all},
		{"muted by the defaults", &schema.Realtime{Events: off("updated", "deleted")}, &schema.Realtime{}, "created patched restored"},
		{"muted by the entity", &schema.Realtime{}, &schema.Realtime{Events: off("created", "restored")}, "patched updated deleted deleted"},
		{"spoken again by the entity", &schema.Realtime{Events: off("created", "patched", "restored")},
			&schema.Realtime{Events: map[schema.RealtimeEvent]bool{"created": true}}, "created updated deleted deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := channels(t, c.defaults, map[string]*schema.Realtime{"order": c.entity})
			id := h.given(alice, "order", `{"title":"ab"}`)
			for _, write := range []func() error{
				func() error { _, err := h.patch(alice, "order", id, `{"total":1}`); return err },
				func() error { _, err := h.put(alice, id, `{"title":"cd"}`); return err },
				func() error { return h.remove(alice, "order", id) },
				func() error { _, err := h.restore(alice, "order", id); return err },
				func() error { return h.remove(alice, "order", id) },
			} {
				if err := write(); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, e := range h.events("") {
				got = append(got, e.Fine)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if topics := len(h.events("entity.order")); topics != 6 {
				t.Errorf("got %d events on the topic, want 6: muting is the channel's alone", topics)
			}
		})
	}
}

// A publisher's bulk: false and its condition are its own: channels are told of
// each row, whatever topics say.
func TestChannelsDoNotHearWhatTopicsSay(t *testing.T) {
	h := channels(t, nil, map[string]*schema.Realtime{"order": {}, "note": {}})
	if _, _, err := h.bulk(alice, "order", engine.Options{}, `{"title":"ab"}`); err != nil {
		t.Fatal(err)
	}
	if got := len(h.events("")); got != 1 || len(h.events("orders.quiet")) != 0 {
		t.Errorf("bulk: got %d channel events, want 1", got)
	}
	h.forget()
	h.given(alice, "note", `{"rank":0,"text":"a"}`) // its topic's condition is false
	if got := len(h.events("")); got != 1 || len(h.log) != 1 {
		t.Errorf("condition: got %d channel events of %d, want 1 of 1", got, len(h.log))
	}
}

// One write is one event on a channel with an id of its own: the same change on
// a topic has another.
func TestAChannelEventHasItsOwnID(t *testing.T) {
	h := channels(t, nil, map[string]*schema.Realtime{"order": {}})
	h.given(alice, "order", `{"title":"ab"}`)
	var ids []string
	for _, e := range h.log {
		ids = append(ids, e.EventID)
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 3 { // two topics and the channel
		t.Errorf("got ids %v, want three", ids)
	}
}
