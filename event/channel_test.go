package event

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var noon = time.Date(2026, 9, 17, 12, 0, 0, 250_000_000, time.FixedZone("", 2*60*60))

// What a write is published as: members stand in the printed order, changed
// only where a row was changed in place, and no values where the row is gone.
func TestChannelEventAppendJSON(t *testing.T) {
	item, sent := json.RawMessage(`{"id":"b1","price":3}`), []string{"price", `a"b`}
	const head, tail = `","entity":"note.tag","id":"a.\n<1>\u2028","channel":"note.tag.a.\n<1>\u2028","occurredAt":"2026-09-17T10:00:00.25Z","item":`, `}`
	for _, c := range []struct {
		name string
		e    ChannelEvent
		want string // from the value of item on
	}{
		{"created", ChannelEvent{Event: ChannelCreated, Item: item}, `{"id":"b1","price":3}`},
		{"created says nothing of what was sent", ChannelEvent{Event: ChannelCreated, Item: item, Changed: sent}, `{"id":"b1","price":3}`},
		{"updated", ChannelEvent{Event: ChannelUpdated, Item: item, Changed: sent}, `{"id":"b1","price":3},"changed":["price","a\"b"]`},
		{"patched", ChannelEvent{Event: ChannelPatched, Item: item, Changed: sent[:1]}, `{"id":"b1","price":3},"changed":["price"]`},
		{"patched where nothing that was sent may be told", ChannelEvent{Event: ChannelPatched, Item: json.RawMessage(`{}`)}, `{},"changed":[]`},
		{"restored", ChannelEvent{Event: ChannelRestored, Item: item, Changed: sent}, `{"id":"b1","price":3}`},
		{"deleted, whatever a handler returned", ChannelEvent{Event: ChannelDeleted, Item: item, Changed: sent}, `null`},
		{"left", ChannelEvent{Event: Left, Item: item, Changed: sent}, `null`},
		{"without a row", ChannelEvent{Event: ChannelCreated}, `null`},
		{"what stands beside the JSON", ChannelEvent{Event: ChannelDeleted, EventID: "x", Tenant: "y"}, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.e.Entity, c.e.ID, c.e.OccurredAt = "note.tag", "a.\n<1>\u2028", noon
			want := `{"event":"` + string(c.e.Event) + head + c.want + tail
			if got := string(c.e.AppendJSON([]byte("before "))); got != "before "+want {
				t.Errorf("\n got %s\nwant before %s", got, want)
			}
			marshalled, err := json.Marshal(c.e)
			var plain bytes.Buffer
			json.HTMLEscape(&plain, []byte(want))
			if err != nil || string(marshalled) != plain.String() {
				t.Errorf("marshalled: %v\n got %s\nwant %s", err, marshalled, plain.String())
			}
		})
	}
}

// Whatever a row's id and the names hold, a frame's data is one line of JSON
// that says just what was given.
func FuzzChannelEvent(f *testing.F) {
	f.Add("patched", "book", "b1", "price,status", `{"id":"b1"}`)
	f.Add("left", "note.tag", "a\r\nb\u0085\u2029", "", `{}`)
	f.Add("deleted", "\xff", "\x00\"\\", ",", `[1e400]`)
	f.Fuzz(func(t *testing.T, op, entity, id, names, item string) {
		e := ChannelEvent{Event: ChannelOp(op), Entity: entity, ID: id, OccurredAt: noon, Changed: strings.Split(names, ",")}
		if json.Valid([]byte(item)) && !strings.ContainsAny(item, "\r\n") {
			e.Item = json.RawMessage(item)
		}
		text := e.AppendJSON(nil)
		if bytes.ContainsAny(text, "\r\n") {
			t.Fatalf("more than a line: %q", text)
		}
		var got struct {
			Event, Entity, ID, Channel string
			OccurredAt                 time.Time
			Item                       json.RawMessage
			Changed                    []string
		}
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		texts := []string{got.Event, got.Entity, got.ID, got.Channel}
		if want := []string{op, entity, id, entity + "." + id}; allUTF8(want) && !slices.Equal(texts, want) {
			t.Errorf("got %q, want %q", texts, want)
		}
		if !got.OccurredAt.Equal(noon) || (got.Changed != nil) != e.Event.Changes() {
			t.Errorf("occurredAt %v, changed %q", got.OccurredAt, got.Changed)
		}
		if gone := string(got.Item) == "null" || got.Item == nil; e.Event.Gone() && !gone {
			t.Errorf("values of a row that is gone: %s", got.Item)
		}
	})
}

func allUTF8(texts []string) bool {
	return !slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) })
}

func BenchmarkChannelEvent(b *testing.B) {
	e := ChannelEvent{
		Event: ChannelPatched, Entity: "order", ID: "01M2P1R18V26CMVBZ1DC0AS1Z1", OccurredAt: noon,
		Item: json.RawMessage(`{"id":"01M2P1R18V26CMVBZ1DC0AS1Z1","status":"open","total":1200}`), Changed: []string{"status", "total"},
	}
	buf := make([]byte, 0, 512)
	b.ReportAllocs()
	for b.Loop() {
		buf = e.AppendJSON(buf[:0])
	}
}
