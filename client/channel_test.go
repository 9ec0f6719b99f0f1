package client

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

func TestAChannelIsAskedForAsItsRouteTakesIt(t *testing.T) {
	for name, c := range map[string]struct {
		channel Channel
		want    url.Values
	}{
		"all rows": {Channel{Entity: "order"}, url.Values{"channel": {"order"}}},
		"one row":  {Channel{Entity: "order", ID: "a.b/c"}, url.Values{"channel": {"order.a.b/c"}}},
		"no field": {Channel{Entity: "order", Fields: []string{}}, url.Values{"channel": {"order"}, "fields": {""}}},
		"all that there is": {
			Channel{
				Entity: "order", Filter: url.Values{"filter[status][in][]": {"open", "paid"}}, Fields: []string{"id", "status"},
				Changed: []string{"status"}, Leave: true, Heartbeat: time.Second, Lifetime: time.Minute,
			},
			url.Values{
				"channel": {"order"}, "filter[status][in][]": {"open", "paid"}, "fields": {"id,status"}, "changed": {"status"},
				"leave": {"true"}, "heartbeat": {"1s"}, "lifetime": {"1m0s"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			wantEqual(t, "query", c.channel.opening().query, c.want)
		})
	}
}

const patched = `{"event":"patched","entity":"order","id":"7","channel":"order.7","occurredAt":"2026-09-17T02:25:12.5Z",` +
	`"item":{"id":7,"status":"paid"},"changed":["status"]}`

const left = `{"event":"left","entity":"order","id":"8","channel":"order.8","occurredAt":"2026-09-17T02:25:13Z","item":null}`

// A channel is read and resumed like a subscription: an event's ID is the
// frame's, and the row's is its Subject.
func TestAChannelIsFollowedAcrossConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []func(*http.Request) (*http.Response, error){
			stream("retry: 2000\n: subscribed\n\nid: E1\nevent: patched\ndata: " + patched + "\n\n"),
			silent("id: E2\nevent: left\ndata: " + left + "\n\nid: ~g\nevent: stream.gap\ndata: {\"reason\":\"reset\",\"since\":\"E2\"}\n\n"),
		}}
		c, err := New(Config{URL: "http://rowcast.test/base", HTTPClient: &http.Client{Transport: server}})
		if err != nil {
			t.Fatal(err)
		}
		var got []Event
		for ev, err := range c.Subscribe(t.Context(), Channel{Entity: "order", LastEventID: "E0"}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, ev); len(got) == 3 {
				break
			}
		}
		at := time.Date(2026, 9, 17, 2, 25, 12, 500_000_000, time.UTC)
		wantEqual(t, "events", got, []Event{
			{
				ID: "E1", Type: "patched", Entity: "order", Subject: "7", Time: at, Changed: []string{"status"},
				Data: json.RawMessage(`{"id":7,"status":"paid"}`), Raw: json.RawMessage(patched),
			},
			{ID: "E2", Type: "left", Entity: "order", Subject: "8", Time: at.Add(500 * time.Millisecond), Raw: json.RawMessage(left)},
			{ID: "~g", Type: "stream.gap", Gap: &Gap{Reason: "reset", Since: "E2"}, Raw: json.RawMessage(`{"reason":"reset","since":"E2"}`)},
		})
		wantEqual(t, "resumed after", server.resumed, []string{"E0", "E1"})
		wantEqual(t, "asked for", server.queries[0], "/base/realtime?channel=order")
	})
}
