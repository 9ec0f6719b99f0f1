// Package cluster runs two instances on one PostgreSQL and holds them to what
// one instance promises: every committed change once per id, in one order,
// whichever instance wrote it and whichever tells of it, while instances and
// the database itself are killed.
package cluster

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

const schema = `
entities:
  - name: item
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
    events: [{name: changed}]
    subscriptions: [{name: all}]
  - name: task
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
    realtime: {filterable: true}
`

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// instances starts two on one database.
func instances(t *testing.T, database string) [2]*servertest.Server {
	t.Helper()
	var both [2]*servertest.Server
	for i := range both {
		both[i] = servertest.StartProcess(t, servertest.Options{
			Schema: schema, Driver: "postgres", Database: database, Listen: servertest.FreeAddress(t),
		})
	}
	return both
}

// A write on one instance is told on both, in one order; a stream goes on where
// it stopped on the other.
func TestBothInstancesTellOfAllWrites(t *testing.T) {
	both := instances(t, pgtest.Database(t))
	one, two := both[0].User("ann"), both[1].User("ann")
	onOne, onTwo := one.Open("/subscribe/item"), two.Open("/subscribe/item")
	for i := range 20 {
		[]*servertest.Caller{one, two}[i%2].Post("/data/item", fmt.Sprintf(`{"id":"%d","n":0}`, i)).Is(201)
	}
	var told [2][]string
	var half string
	for i := range 20 {
		a, b := onOne.Frame(), onTwo.Frame()
		told[0], told[1] = append(told[0], a.ID+a.Row()), append(told[1], b.ID+b.Row())
		if i == 9 {
			half = a.ID
		}
	}
	if !slices.Equal(told[0], told[1]) {
		t.Errorf("one tells  %v\nother tells %v", told[0], told[1])
	}
	resumed := two.Resume("/subscribe/item", half)
	for i := 10; i < 20; i++ {
		if f := resumed.Frame(); f.ID+f.Row() != told[0][i] {
			t.Errorf("resumed on the other: %s, want %s", f.ID, told[0][i])
		}
	}
}

// follower is a client that reconnects by itself.
type follower struct {
	ended chan struct{}
	more  chan struct{}

	mu     sync.Mutex
	events []client.Event
}

func follow(ctx context.Context, t *testing.T, s *servertest.Server) *follower {
	t.Helper()
	c, err := client.New(client.Config{URL: s.URL, Token: s.Token("ann")})
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{ended: make(chan struct{}), more: make(chan struct{}, 1)}
	go func() {
		defer close(f.ended)
		err := c.Stream(client.Subscription{Entity: "item", Heartbeat: time.Second}).Run(ctx, func(e client.Event) error {
			f.mu.Lock()
			f.events = append(f.events, e)
			f.mu.Unlock()
			select {
			case f.more <- struct{}{}:
			default:
			}
			return nil
		})
		if ctx.Err() == nil {
			t.Errorf("a stream ended with %v", err)
		}
	}()
	return f
}

// until waits for an event of a row.
func (f *follower) until(t *testing.T, subject string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		f.mu.Lock()
		found := slices.ContainsFunc(f.events, func(e client.Event) bool { return e.Subject == subject })
		n := len(f.events)
		f.mu.Unlock()
		if found {
			return
		}
		select {
		case <-f.more:
		case <-deadline:
			t.Fatalf("the event of row %s never comes; %d came", subject, n)
		}
	}
}

// order returns the ids in the order they came, each once, and without a gap.
func (f *follower) order(t *testing.T, from string) (ids []string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	seen, begun := map[string]bool{}, false
	for _, e := range f.events {
		begun = begun || e.Subject == from
		switch {
		case e.Gap != nil:
			t.Errorf("a gap was told: %+v", *e.Gap)
		case seen[e.ID]:
			t.Errorf("%s came twice", e.ID)
		case begun:
			ids = append(ids, e.ID)
		}
		seen[e.ID] = true
	}
	return ids
}

// writer creates rows and changes each, and knows which were acknowledged.
type writer struct{ told map[string]int }

func (w *writer) run(ctx context.Context, t *testing.T, s *servertest.Server, name string) {
	c, err := client.New(client.Config{URL: s.URL, Token: s.Token("ann")})
	if err != nil {
		t.Error(err)
		return
	}
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprintf("%s-%d", name, i)
		if _, err := c.Create(context.WithoutCancel(ctx), "item", map[string]any{"id": id, "n": 0}); err != nil {
			wait(t, 20*time.Millisecond)
			continue
		}
		w.told[id] = 1
		if _, err := c.Patch(context.WithoutCancel(ctx), "item", id, map[string]any{"n": 1}); err == nil {
			w.told[id] = 2
		}
	}
}

func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// Under load one instance is killed again and again, then the database twice:
// followers on both instances have every acknowledged change, each once, and
// all in one order.
func TestNothingIsLostWhileInstancesAndTheDatabaseDie(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	server, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	both := instances(t, server.Database(t))
	defer both[0].Stop()
	defer both[1].Stop()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	followers := []*follower{follow(ctx, t, both[0]), follow(ctx, t, both[1])}
	for i, f := range followers {
		f.begun(t, both[i])
	}
	both[0].User("ann").Post("/data/item", `{"id":"begin","n":0}`).Is(201)

	writing, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	writers := make([]*writer, 4)
	for i := range writers {
		writers[i] = &writer{told: map[string]int{}}
		wg.Go(func() { writers[i].run(writing, t, both[i%2], fmt.Sprint("w", i)) })
	}
	for range 3 {
		wait(t, 700*time.Millisecond)
		both[0].Kill()
		wait(t, 300*time.Millisecond)
		both[0].Start()
	}
	for _, away := range []time.Duration{0, 3 * time.Second} {
		wait(t, 700*time.Millisecond)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		wait(t, away)
		if err := server.Restart(); err != nil {
			t.Fatal(err)
		}
		wait(t, 1500*time.Millisecond)
	}
	stop()
	wg.Wait()
	both[1].User("ann").Post("/data/item", `{"id":"end","n":0}`).Is(201)
	judge(t, followers, writers)
	cancel()
	for _, f := range followers {
		<-f.ended
	}
}

// begun writes until the follower's stream is seen to be open.
func (f *follower) begun(t *testing.T, s *servertest.Server) {
	t.Helper()
	for i := 0; ; i++ {
		s.User("ann").Post("/data/item", fmt.Sprintf(`{"id":"first %s %d"}`, s.URL, i)).Is(201)
		select {
		case <-f.more:
			return
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func judge(t *testing.T, followers []*follower, writers []*writer) {
	t.Helper()
	var orders [][]string
	for _, f := range followers {
		f.until(t, "end")
		orders = append(orders, f.order(t, "begin"))
		count := map[string]int{}
		for _, e := range f.events {
			count[e.Subject]++
		}
		acknowledged := 0
		for _, w := range writers {
			for id, told := range w.told {
				acknowledged += told
				if count[id] < told {
					t.Errorf("row %s: %d changes acknowledged, %d told", id, told, count[id])
				}
			}
		}
		t.Logf("%d changes acknowledged, %d events", acknowledged, len(f.events))
		if acknowledged < 100 {
			t.Error("that proves nothing")
		}
	}
	if !slices.Equal(orders[0], orders[1]) {
		t.Error("the instances tell in different orders")
	}
}
