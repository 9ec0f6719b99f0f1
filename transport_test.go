package rowcast_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/event"
)

// wire is a transport whose events a test takes out one by one.
type wire struct {
	name   string
	events chan event.ChannelEvent
	do     func(context.Context) error
}

func newWire(name string, do func(context.Context) error) *wire {
	return &wire{name: name, events: make(chan event.ChannelEvent, 4096), do: do}
}

func (w *wire) Name() string { return w.name }

func (w *wire) Publish(ctx context.Context, e event.ChannelEvent) error {
	w.events <- e
	if w.do == nil {
		return nil
	}
	return w.do(ctx)
}

func (w *wire) next(t *testing.T) event.ChannelEvent {
	t.Helper()
	select {
	case e := <-w.events:
		return e
	case <-time.After(30 * time.Second):
		t.Fatalf("transport %s is not told", w.name)
		return event.ChannelEvent{}
	}
}

// telling is a shop whose operations tell of themselves in each way.
func telling(t *testing.T, c rowcast.Config) (*rowcast.Server, string) {
	t.Helper()
	c.Operations = []rowcast.Operation{
		{Entity: "order", Name: "declared", Handler: func(context.Context, *rowcast.Call) error { return nil }},
		{Entity: "order", Name: "rename", RealtimeEvent: "patched", Handler: func(_ context.Context, c *rowcast.Call) error { return c.Set("title", "new") }},
		{Entity: "order", Name: "open", Action: "create", RealtimeEvent: "created", Handler: func(_ context.Context, c *rowcast.Call) error {
			_, err := c.Create("order", map[string]string{"id": "made", "title": "opened"})
			return err
		}},
		{Entity: "order", Name: "archive", RealtimeEvent: "deleted", Handler: func(_ context.Context, c *rowcast.Call) error { return c.Set("note", "a secret") }},
		{Entity: "order", Name: "quiet", Handler: func(_ context.Context, c *rowcast.Call) error { return c.Set("title", "quiet") }},
	}
	return live(t, c)
}

// Channels contract, sections 1 and 2: a transport is told of every write, after
// its commit and in order, with the whole row; of an operation as what it is
// declared as, with the id of the request or of the row that it made, and of what
// is told as deleted nothing that a handler set.
func TestATransportIsToldOfEveryWrite(t *testing.T) {
	w := newWire("wire", nil)
	c := site(t, bellBoot, shopSchema)
	c.Transports = []rowcast.Transport{w}
	s, url := telling(t, c)
	for _, step := range []struct{ method, path, body, want string }{
		{"POST", "/data/order", `{"id":"o1","title":"lamp","note":"n"}`, `created o1 {"id":"o1","title":"lamp","total":null,"note":"n"} []`},
		{"PATCH", "/data/order/o1", `{"total":1}`, `patched o1 {"id":"o1","title":"lamp","total":1,"note":"n"} [total]`},
		{"PUT", "/data/order/o1", `{"title":"lamp"}`, `updated o1 {"id":"o1","title":"lamp","total":null,"note":"n"} [title]`},
		{"POST", "/data/order/o1/quiet", "", ""},
		{"POST", "/data/order/o1/markPaid", "", `updated o1 {"id":"o1","title":"quiet","total":null,"note":"paid"} [note]`},
		{"POST", "/data/order/o1/rename", "", `patched o1 {"id":"o1","title":"new","total":null,"note":"paid"} [title]`},
		{"POST", "/data/order/open", "", `created made {"id":"made","title":"opened","total":null,"note":null} []`},
		{"POST", "/data/order/o1/archive", "", `deleted o1  []`},
		{"DELETE", "/data/order/o1", "", `deleted o1  []`},
	} {
		if status, got := send(t, request(t, step.method, url+step.path, strings.NewReader(step.body))); status >= 300 {
			t.Fatalf("%s %s: got %d %s", step.method, step.path, status, got)
		}
		if step.want == "" {
			continue
		}
		e := w.next(t)
		if got := fmt.Sprintf("%s %s %s %v", e.Event, e.ID, e.Item, e.Changed); got != step.want {
			t.Errorf("%s %s:\n got %s\nwant %s", step.method, step.path, got, step.want)
		}
		if e.Entity != "order" || e.Channel() != "order."+e.ID || e.Tenant != "a:b:c:d" || e.EventID == "" || time.Since(e.OccurredAt) > time.Hour {
			t.Errorf("got %+v", e)
		}
	}
	if _, text := post(t, url+"/data/line", `{"price":1}`); len(w.events) != 0 {
		t.Errorf("told of an entity without channels: %s", text)
	}
	eventually(t, func() bool {
		got := s.Counters()[0].Transports
		return slices.Equal(got, []rowcast.TransportCounters{{Transport: "wire", Published: 8}})
	})
}

// eventually waits for what follows shortly after an event: a counter.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatal("it does not come to hold")
		case <-tick.C:
		}
	}
}

// A transport that blocks for ever and one that panics: writers, streams and the
// other transports do not notice, the counters say so, and the server stops.
func TestBadTransportsHurtNobody(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	blocks := newWire("blocks", func(context.Context) error { <-release; return nil })
	panics := newWire("panics", func(context.Context) error { panic("no") })
	fails := newWire("fails", func(context.Context) error { return errors.New("no route") })
	works := newWire("works", nil)
	told := make(chan string, 4096)
	c := site(t, bellBoot, shopSchema)
	c.Transports = []rowcast.Transport{blocks, panics, fails, works}
	c.OnPublishError = func(transport string, e event.ChannelEvent, err error) {
		told <- fmt.Sprintf("%s %s %s: %v", transport, e.Event, e.ID, err)
	}
	s, url := telling(t, c)

	stream, err := http.DefaultClient.Do(request(t, http.MethodGet, url+"/realtime?channel=order", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }()
	lines := bufio.NewScanner(stream.Body)
	const n = 1200 // more than a queue holds
	for i := range n / 100 {
		var rows []string
		for k := range 100 {
			rows = append(rows, fmt.Sprintf(`{"id":"o%d","title":"x"}`, 100*i+k))
		}
		if status, got := post(t, url+"/data/order/bulk", "["+strings.Join(rows, ",")+"]"); status != 201 {
			t.Fatalf("got %d %s", status, got)
		}
		for k := range 100 {
			if e := works.next(t); e.ID != fmt.Sprintf("o%d", 100*i+k) {
				t.Fatalf("event %d is of %s", 100*i+k, e.ID)
			}
		}
	}
	frames := 0
	for frames < n && lines.Scan() {
		if lines.Text() == "event: created" {
			frames++
		}
	}
	if frames != n {
		t.Errorf("the stream has %d frames, want %d: %v", frames, n, lines.Err())
	}
	want := []rowcast.TransportCounters{
		{Transport: "blocks", Dropped: n - 1 - 1024}, {Transport: "panics", Errors: n}, {Transport: "fails", Errors: n}, {Transport: "works", Published: n},
	}
	eventually(t, func() bool { return slices.Equal(s.Counters()[0].Transports, want) })
	seen := map[string]bool{}
	for _, start := range []string{"panics created o0: transport \"panics\" panicked: no", "fails created o0: no route"} {
		for !seen[start] {
			select {
			case line := <-told:
				seen[line] = true
			case <-time.After(30 * time.Second):
				t.Fatalf("OnPublishError is not told %q", start)
			}
		}
	}
}

// The counters of transports stand in /metrics.
func TestTransportsStandInTheMetrics(t *testing.T) {
	w := newWire("wire", func(context.Context) error { return errors.New("no") })
	c := site(t, strings.ReplaceAll(bellBoot, `tenant: "a:b:c:d"`, `tenant: "a:b:c:d", roles: [admin]`), shopSchema)
	c.Transports = []rowcast.Transport{w}
	_, url := telling(t, c)
	post(t, url+"/data/order", `{"id":"o1","title":"lamp"}`)
	w.next(t)
	const want = `rowcast_transport_errors_total{datastore="main",tenant="a:b:c:d",transport="wire"} 1`
	eventually(t, func() bool {
		_, text := send(t, request(t, http.MethodGet, url+"/metrics", nil))
		return strings.Contains(text, want) && strings.Contains(text, `rowcast_transport_published_total{datastore="main",tenant="a:b:c:d",transport="wire"} 0`) &&
			strings.Contains(text, `rowcast_transport_dropped_total{datastore="main",tenant="a:b:c:d",transport="wire"} 0`)
	})
}

// What was committed before the server stops is published before it ends.
func TestTransportsAreToldOfTheLastWrite(t *testing.T) {
	for range 5 {
		w := newWire("wire", nil)
		c := site(t, bellBoot, strings.Replace(shopSchema, "      - {name: declared, kind: read, cardinality: one}\n", "", 1))
		c.Transports = []rowcast.Transport{w}
		s := opened(t, c)
		stop, done := background(t, s.Run)
		<-s.Ready()
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, request(t, http.MethodPost, "http://shop/data/order", strings.NewReader(`{"id":"o1","title":"lamp"}`)))
		stop()
		if err := <-done; err != nil || answer.Code != http.StatusCreated {
			t.Fatalf("got %d, %v", answer.Code, err)
		}
		if len(w.events) != 1 {
			t.Fatalf("got %d events, want 1", len(w.events))
		}
	}
}

// What is no transport is refused when the server is opened.
func TestOpenRefusesTransports(t *testing.T) {
	var nothing *wire
	for name, c := range map[string]struct {
		list []rowcast.Transport
		says string
	}{
		"nil":           {[]rowcast.Transport{nil}, "transport 0 is nil"},
		"a nil pointer": {[]rowcast.Transport{newWire("a", nil), nothing}, "transport 1 is nil"},
		"no name":       {[]rowcast.Transport{newWire("", nil)}, "transport 0 has no name"},
		"no text":       {[]rowcast.Transport{newWire("\xff", nil)}, "no UTF-8"},
		"two of a name": {[]rowcast.Transport{newWire("a", nil), newWire("b", nil), newWire("a", nil)}, `transport 2: another one is named "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			conf := site(t, bellBoot, bellSchema)
			conf.Transports = c.list
			s, err := rowcast.Open(t.Context(), conf)
			if s != nil {
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
		})
	}
}
