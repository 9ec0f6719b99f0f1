package cluster

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/browsertest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// crowd is who follows and who writes while something befalls two instances.
type crowd struct {
	t       *testing.T
	both    []*servertest.Server
	items   []*servertest.Follower // of every change of item
	notes   *servertest.Follower   // of ann's notes
	writers []*servertest.Writer
	others  []watcher
	stop    context.CancelFunc
	running sync.WaitGroup
}

// watcher follows every change of item, from before the first to the row "end",
// by means of its own.
type watcher interface {
	// Until waits until a row was told of.
	Until(subject string)
	// IDs returns the ids of all it was told, in order.
	IDs() []string
}

// browser opens a browser's own EventSource at the instances, behind what is the
// least of a load balancer.
func browser(t *testing.T, both []*servertest.Server) watcher {
	t.Helper()
	return browsertest.Follow(t, both[0].Token("ann"), "/subscribe/item?name=all&heartbeat=1s", both[0].URL, both[1].URL)
}

// gather has everybody follow, others too, and then has writers begin.
func gather(t *testing.T, both []*servertest.Server, others ...func(*testing.T, []*servertest.Server) watcher) *crowd {
	t.Helper()
	c := &crowd{t: t, both: both}
	follow := func(entity, name string, slow time.Duration, at ...*servertest.Server) *servertest.Follower {
		return servertest.Follow(t, servertest.Following{
			Subscription: client.Subscription{Entity: entity, Name: name}, User: "ann", Slow: slow, Servers: at,
		})
	}
	c.items = []*servertest.Follower{
		follow("item", "all", 0, both[0]),
		follow("item", "all", 0, both[1]),
		follow("item", "rows", 0, both[0], both[1]),                   // another instance at each return
		follow("item", "rows", 50*time.Millisecond, both[1], both[0]), // so slow that its buffers overflow
	}
	c.notes = follow("note", "mine", 0, both[1], both[0])
	for _, follow := range others {
		c.others = append(c.others, follow(t, both))
	}
	writing, stop := context.WithCancel(t.Context())
	c.stop = stop
	for i := range 4 {
		w := &servertest.Writer{
			User: []string{"ann", "bob"}[i%2], Name: fmt.Sprint("w", i), Servers: both, Entities: []string{"item", "item", "note"},
			Pad: strings.Repeat("x", 4<<10), Pause: 8 * time.Millisecond,
		}
		c.writers = append(c.writers, w)
		c.running.Go(func() { w.Run(writing, t) })
	}
	t.Cleanup(func() { stop(); c.running.Wait() })
	return c
}

// more lets everybody go on for that long, and until so many more writes were
// acknowledged.
func (c *crowd) more(n int, least time.Duration) {
	c.t.Helper()
	servertest.Pass(c.t.Context(), least)
	servertest.More(c.t, c.writers, n)
}

// judge ends the writing, and holds what everybody was told against what is there.
func (c *crowd) judge() {
	c.t.Helper()
	c.stop()
	c.running.Wait()
	for _, w := range c.writers {
		c.t.Log(w)
	}
	c.write("item")
	c.write("note")
	followers := append([]*servertest.Follower{c.notes}, c.items...)
	counts := map[*servertest.Follower]map[string]int{}
	for _, f := range followers {
		f.Hurry()
		f.Until("end")
		counts[f] = f.Count()
		c.t.Logf("%s: %d events over %d connections", f, len(f.IDs()), f.Connections())
	}
	c.compare(counts)
	orders := [][]string{}
	for _, f := range c.items {
		orders = append(orders, f.IDs())
	}
	for _, o := range c.others {
		o.Until("end")
		orders = append(orders, o.IDs())
		c.t.Logf("%T: %d events", o, len(o.IDs()))
	}
	servertest.Same(c.t, orders...)
	for _, f := range followers {
		f.Close()
	}
}

// compare holds rows against events: a row that was created and then changed n
// times has n+1 of them at each who may see it, and none at who may not.
func (c *crowd) compare(counts map[*servertest.Follower]map[string]int) {
	c.t.Helper()
	expect := func(f *servertest.Follower, id string, want int) {
		if got := counts[f][id]; got != want {
			c.t.Errorf("%s: told %d times of %s, want %d", f, got, id, want)
		}
	}
	for _, w := range c.writers {
		w.Judge(c.both[1], func(entity, id string, changes int) {
			switch {
			case entity == "item":
				for _, f := range c.items {
					expect(f, id, changes)
				}
			case w.User == "ann":
				expect(c.notes, id, changes)
			default:
				expect(c.notes, id, 0)
			}
		})
	}
}

// write writes the last row of an entity, however long the instance needs to
// recover from what befell it.
func (c *crowd) write(entity string) {
	c.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		a := c.both[1].User("ann").Post("/data/"+entity, `{"id":"end","n":0}`)
		if a.Status == http.StatusCreated || a.Status == http.StatusConflict {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("the last write is answered %d: %s", a.Status, a.Body)
		}
		servertest.Pass(c.t.Context(), 100*time.Millisecond)
	}
}
