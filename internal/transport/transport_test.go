package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/event"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/store"
	"github.com/rowcast/rowcast/internal/tail"
	"github.com/rowcast/rowcast/internal/transport"
	"github.com/rowcast/rowcast/internal/value"
	"github.com/rowcast/rowcast/schema"
	"github.com/rowcast/rowcast/schema/schematest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const shop = `
entities:
  - name: order
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: card, type: string, mask: {keeplast: 2}}
      - {name: note, type: string}
    access:
      read: {language: expr, expression: '["id"]'}
    rowrules:
      - {name: nobody, actions: [read], language: expr, expression: row.note == "x"}
    realtime: {}
`

// pipe is a transport that a test looks into.
type pipe struct {
	name string
	do   func(ctx context.Context, e event.ChannelEvent) error

	mu  sync.Mutex
	got []string
}

func (p *pipe) Name() string { return p.name }

func (p *pipe) Publish(ctx context.Context, e event.ChannelEvent) error {
	line, err := e.MarshalJSON()
	p.mu.Lock()
	p.got = append(p.got, string(line))
	p.mu.Unlock()
	if err == nil && p.do != nil {
		err = p.do(ctx, e)
	}
	return err
}

func (p *pipe) taken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.got...)
}

// errorsTold gathers what OnError is told.
type errorsTold struct {
	mu  sync.Mutex
	all []string
}

func (e *errorsTold) tell(transport string, ev event.ChannelEvent, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, fmt.Sprintf("%s %s %s: %v", transport, ev.Event, ev.ID, err))
}

func (e *errorsTold) told() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.all...)
}

// outlet is an Outlet in a bubble.
type outlet struct {
	*transport.Outlet
	entity *schema.Entity
	errors errorsTold
	seq    int64
	stop   context.CancelFunc
	ended  chan struct{}
}

func open(t *testing.T, change func(*transport.Config), transports ...transport.Transport) *outlet {
	t.Helper()
	o := &outlet{entity: schematest.Entity(t, shop), ended: make(chan struct{})}
	policy, refusals := access.Compile(o.entity)
	if len(refusals) > 0 {
		t.Fatal(refusals)
	}
	c := transport.Config{
		Tenant: "t", Origin: "here", Transports: transports, Policies: map[string]*access.Policy{"order": policy},
		OnError: o.errors.tell, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&c)
	}
	o.Outlet = transport.New(c)
	ctx, stop := context.WithCancel(context.Background())
	o.stop = stop
	go func() {
		defer close(o.ended)
		o.Run(ctx)
	}()
	return o
}

// end stops the outlet and returns how long it took.
func (o *outlet) end() time.Duration {
	began := time.Now()
	o.stop()
	<-o.ended
	return time.Since(began)
}

// entry is a change of a row, as the tail hands it on.
func (o *outlet) entry(fine, id string, change ...func(*tail.Entry)) *tail.Entry {
	o.seq++
	e := &tail.Entry{
		Entity: o.entity,
		Log: &store.LogRow{
			Seq: o.seq, EventID: fmt.Sprintf("E%03d", o.seq), Entity: "order", Operation: schema.Update, Fine: fine, Subject: id,
			Origin: "here", Sent: []string{"card", "note"}, Time: time.Date(2026, 9, 17, 2, 25, 12, 500_000_000, time.UTC),
		},
		Row: store.Row{value.OfText(id), value.OfText("4242"), value.OfText("a"), {}, {}},
	}
	for _, f := range change {
		f(e)
	}
	return e
}

func (o *outlet) offer(fine, id string, change ...func(*tail.Entry)) {
	o.Offer([]*tail.Entry{o.entry(fine, id, change...)})
}

// Channels contract, section 2: the payload's members in their order; item is the
// whole row, whoever may read it, and null of what is gone; changed is there where
// something was changed.
func TestAnEventIsTheWholeRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{name: "p"}
		o := open(t, nil, p)
		for _, fine := range []string{"created", "updated", "patched", "restored", "deleted"} {
			o.offer(fine, "o1")
		}
		synctest.Wait()
		const head, item, changed = `{"event":"%s","entity":"order","id":"o1","channel":"order.o1","occurredAt":"2026-09-17T02:25:12.5Z","item":`,
			`{"id":"o1","card":"4242","note":"a","deletedby":null,"deletedon":null}`, `,"changed":["card","note"]`
		for i, want := range []string{
			fmt.Sprintf(head, "created") + item + "}", fmt.Sprintf(head, "updated") + item + changed + "}", fmt.Sprintf(head, "patched") + item + changed + "}",
			fmt.Sprintf(head, "restored") + item + "}", fmt.Sprintf(head, "deleted") + "null}",
		} {
			if got := p.taken(); len(got) <= i || got[i] != want {
				t.Errorf("event %d: got %v\nwant %s", i, got, want)
			}
		}
		o.end()
	})
}

// An event is told once, by who wrote it, of a row that is still there to show.
func TestWhatTransportsAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{name: "p"}
		o := open(t, nil, p)
		for name, change := range map[string]func(*tail.Entry){
			"a topic's":                 func(e *tail.Entry) { e.Log.Topic = "entity.order" },
			"another instance's":        func(e *tail.Entry) { e.Log.Origin = "there" },
			"an entity no longer known": func(e *tail.Entry) { e.Entity = nil },
			"a row that is gone":        func(e *tail.Entry) { e.Row = nil },
			"a row deleted since":       func(e *tail.Entry) { e.Row[4] = value.OfTime(time.Now()) },
		} {
			o.offer("updated", name, change)
		}
		o.offer("deleted", "gone", func(e *tail.Entry) { e.Row = nil })
		synctest.Wait()
		if got := p.taken(); len(got) != 1 || !strings.Contains(got[0], `"id":"gone"`) {
			t.Errorf("got %v, want the delete alone", got)
		}
		o.end()
	})
}

// A transport that never comes back, one that panics and one that fails: the
// others are told everything in order, and the counters say how each did.
func TestNoTransportDelaysAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		blocks := &pipe{name: "blocks", do: func(context.Context, event.ChannelEvent) error { <-release; return nil }}
		panics := &pipe{name: "panics", do: func(context.Context, event.ChannelEvent) error { panic("no") }}
		fails := &pipe{name: "fails", do: func(context.Context, event.ChannelEvent) error { return errors.New("no") }}
		works := &pipe{name: "works"}
		o := open(t, nil, blocks, panics, fails, works)
		const n = 3000
		for i := range n {
			o.offer("updated", fmt.Sprintf("o%d", i))
			if i%100 == 0 {
				synctest.Wait() // those that move have taken what there was
			}
		}
		synctest.Wait()
		got := works.taken()
		if len(got) != n {
			t.Fatalf("%d events arrived, want %d", len(got), n)
		}
		for i, line := range got {
			if !strings.Contains(line, fmt.Sprintf(`"id":"o%d"`, i)) {
				t.Fatalf("event %d is %s", i, line)
			}
		}
		want := []transport.Counter{
			{Transport: "blocks", Dropped: n - 1 - 1024}, {Transport: "panics", Errors: n}, {Transport: "fails", Errors: n}, {Transport: "works", Published: n},
		}
		for i, c := range o.Counters() {
			if c != want[i] {
				t.Errorf("got %+v, want %+v", c, want[i])
			}
		}
		if took := o.end(); took != 4*time.Second {
			t.Errorf("the end took %v, want 3 s for what is queued and 1 s for what hangs", took)
		}
		close(release)
	})
}

// Item is shared by all transports: one that appends to it, to end a line, does
// not write into what another one holds.
func TestWhoAppendsToAnItemDisturbsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines [2][]byte
		ending := func(i int, end byte) *pipe {
			return &pipe{name: fmt.Sprint(i), do: func(_ context.Context, e event.ChannelEvent) error {
				lines[i] = append(e.Item, end)
				return nil
			}}
		}
		o := open(t, nil, ending(0, '\n'), ending(1, '\x00'))
		o.offer("created", "o1")
		o.end()
		for i, end := range []string{"}\n", "}\x00"} {
			if !strings.HasSuffix(string(lines[i]), end) {
				t.Errorf("transport %d holds %q", i, lines[i])
			}
		}
	})
}

// Each event that a transport did not take is told to OnError.
func TestWhatIsNotTakenIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := true
		release := make(chan struct{})
		p := &pipe{name: "p", do: func(_ context.Context, e event.ChannelEvent) error {
			switch {
			case e.ID == "boom":
				panic("no")
			case e.ID == "bad":
				return errors.New("broken pipe")
			case first:
				first = false
				<-release
			}
			return nil
		}}
		o := open(t, nil, p)
		o.offer("created", "bad")
		o.offer("deleted", "boom")
		synctest.Wait()
		for i := range 1026 { // one is under way, 1,024 wait, one is too many
			o.offer("updated", fmt.Sprintf("o%d", i))
			synctest.Wait()
		}
		close(release)
		synctest.Wait()
		want := []string{"p created bad: broken pipe", `p deleted boom: transport "p" panicked: no`, "p updated o1025: " + transport.ErrDropped.Error()}
		if got := o.errors.told(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := len(p.taken()); got != 2+1025 {
			t.Errorf("%d events were tried, want all but the one dropped", got)
		}
		o.end()
	})
}

// OnPublishError is the embedder's code too: where it hangs or panics nobody
// waits.
func TestAnOnErrorThatHangsDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &pipe{name: "p", do: func(_ context.Context, e event.ChannelEvent) error { return errors.New(e.ID) }}
		told := 0
		var log bytes.Buffer
		o := open(t, func(c *transport.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c.OnError = func(string, event.ChannelEvent, error) {
				if told++; told == 1 {
					panic("no")
				}
				<-release
			}
		}, p)
		for range 1000 {
			o.offer("updated", "o1")
		}
		synctest.Wait()
		if got := o.Counters()[0]; got.Errors != 1000 {
			t.Errorf("got %+v", got)
		}
		if took := o.end(); took != 4*time.Second {
			t.Errorf("the end took %v", took)
		}
		if !strings.Contains(log.String(), "OnPublishError did not return") || strings.Contains(log.String(), "a transport did not end") {
			t.Errorf("the log does not say what did not come back: %s", log.String())
		}
		close(release)
	})
}

// A queue is bounded in bytes as well, but takes one event whatever its size.
func TestAQueueIsBoundedInBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &pipe{name: "p", do: func(context.Context, event.ChannelEvent) error { <-release; return nil }}
		o := open(t, nil, p)
		large := func(e *tail.Entry) { e.Row[2] = value.OfText(strings.Repeat("x", 3<<20)) }
		for i := range 6 {
			o.offer("updated", fmt.Sprintf("o%d", i), large)
			synctest.Wait()
		}
		// One is under way; two of 6 MiB with their encodings are below 16, a third above.
		if got := o.Counters()[0].Dropped; got != 3 {
			t.Errorf("%d dropped, want 3", got)
		}
		close(release)
		o.end()
	})
}

// What is queued when the server stops is still published, for a while, and then
// a transport is told to stop.
func TestTheEndGoesOnWithWhatIsQueued(t *testing.T) {
	for _, c := range []struct {
		name  string
		each  time.Duration
		taken int
		took  time.Duration
	}{
		{"all of it", 100 * time.Millisecond, 10, time.Second},
		{"as much as there is time for", time.Second, 4, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pipe{name: "p", do: func(ctx context.Context, _ event.ChannelEvent) error {
					select {
					case <-time.After(c.each):
						return nil
					case <-ctx.Done():
						return ctx.Err()
					}
				}}
				o := open(t, nil, p)
				for i := range 10 {
					o.offer("updated", fmt.Sprintf("o%d", i))
				}
				synctest.Wait()
				if took := o.end(); took != c.took {
					t.Errorf("the end took %v, want %v", took, c.took)
				}
				if got := len(p.taken()); got > c.taken || got < c.taken-1 {
					t.Errorf("%d events were tried, want %d", got, c.taken)
				}
			})
		})
	}
}

// One Publish has half a minute.
func TestAPublishHasATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{name: "p", do: func(ctx context.Context, _ event.ChannelEvent) error { <-ctx.Done(); return ctx.Err() }}
		o := open(t, nil, p)
		o.offer("updated", "o1")
		<-time.After(29 * time.Second)
		synctest.Wait()
		if got := o.Counters()[0].Errors; got != 0 {
			t.Errorf("got %d errors before its time", got)
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if got := o.Counters()[0].Errors; got != 1 {
			t.Errorf("got %d errors, want 1", got)
		}
		o.end()
	})
}

// What no transport is registered for costs nothing.
func TestWithoutTransports(t *testing.T) {
	o := open(t, nil)
	o.offer("updated", "o1")
	<-o.ended
	if len(o.Counters()) != 0 {
		t.Errorf("got %v", o.Counters())
	}
	o.stop()
}

// BenchmarkOffer is what a transport costs the tail.
func BenchmarkOffer(b *testing.B) {
	for _, n := range []int{0, 1, 4} {
		b.Run(fmt.Sprintf("%d transports", n), func(b *testing.B) {
			entity := schematest.Entity(b, shop)
			policy, _ := access.Compile(entity)
			var list []transport.Transport
			for i := range n {
				list = append(list, silent(fmt.Sprint(i)))
			}
			o := transport.New(transport.Config{Origin: "here", Transports: list, Policies: map[string]*access.Policy{"order": policy}, OnError: func(string, event.ChannelEvent, error) {}})
			ctx, stop := context.WithCancel(b.Context())
			var run sync.WaitGroup
			run.Go(func() { o.Run(ctx) })
			made := &outlet{entity: entity}
			batch := []*tail.Entry{made.entry("updated", "o1")}
			b.ReportAllocs()
			for b.Loop() {
				o.Offer(batch)
			}
			stop()
			run.Wait()
		})
	}
}

type silent string

func (s silent) Name() string                                    { return string(s) }
func (silent) Publish(context.Context, event.ChannelEvent) error { return nil }
