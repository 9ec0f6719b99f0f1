package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/rowcast/rowcast"
	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/servertest"
)

const ledger = `
entities:
  - name: account
    fields: [{name: id, type: string}, {name: n, type: int}]
    events: [{name: changed}]
    subscriptions: [{name: all}]
    realtime: {}
    operations:
      - {name: addOne, kind: write, cardinality: one, realtimeevent: patched, set: {n: {language: expr, expression: payload.n + 1}}}
  - name: entry
    fields: [{name: id, type: string}, {name: account, type: string}]
    realtime: {}
`

// startLedger serves accounts with the operations in Go.
func startLedger(t *testing.T, operations ...rowcast.Operation) *servertest.Server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Schema: ledger, Embed: func(c *rowcast.Config) { c.Operations = operations }})
}

// Beyond the contract: what an operation reads of its row and writes is one
// transaction, so that of many at once none is lost, whoever does the work.
func TestOperationsAtOnceLoseNothing(t *testing.T) {
	s := startLedger(t, rowcast.Operation{Entity: "account", Name: "add", RealtimeEvent: "patched", Handler: func(_ context.Context, c *rowcast.Call) error {
		var n int
		if err := c.Row().Get("n", &n); err != nil {
			return err
		}
		return c.Set("n", n+1)
	}})
	ann := s.User("ann")
	ann.Post("/data/account", `{"id":"a","n":0}`).Is(201)
	stream := ann.Open("/realtime?channel=account.a")
	const each = 20
	var all sync.WaitGroup
	for range each {
		for _, name := range []string{"add", "addOne"} {
			all.Go(func() { ann.Post("/data/account/a/"+name, "").Is(200) })
		}
	}
	all.Wait()
	if got := ann.Get("/data/account/a").Is(200).JSON()["n"]; fmt.Sprint(got) != fmt.Sprint(2*each) {
		t.Errorf("got %v, want %d", got, 2*each)
	}
	for range 2 * each {
		if f := stream.Frame(); inShort(f) != "patched a n" {
			t.Errorf("told %s", f.Data)
		}
	}
}

// Beyond the contract: what a handler writes is there whole or not at all, also
// where it passes over a write that the datastore refused, panics, or does not
// come back; and channels are told of none of it.
func TestAHandlersWritesAreAllOrNothing(t *testing.T) {
	release := make(chan struct{})
	defer close(release) // before the server stops, and looks for what is left
	begun := func(c *rowcast.Call) error {
		_, err := c.Create("entry", map[string]string{"id": "e", "account": c.Row().ID()})
		return errors.Join(err, c.Set("n", 9))
	}
	ends := map[string]struct {
		end    func(*rowcast.Call) error
		status int
	}{
		"fails":   {func(*rowcast.Call) error { return errors.New("no") }, 500},
		"refuses": {func(*rowcast.Call) error { return fault.New(fault.Conflict, "not now") }, 409},
		"panics":  {func(*rowcast.Call) error { panic("it was to panic") }, 500},
		"passes over": {func(c *rowcast.Call) error {
			if _, err := c.Create("entry", map[string]string{"id": "e"}); err == nil {
				return errors.New("an id was taken twice")
			}
			return nil
		}, 409},
		"hangs": {func(*rowcast.Call) error { <-release; return nil }, 504},
	}
	var how string
	s := startLedger(t, rowcast.Operation{Entity: "account", Name: "work", RealtimeEvent: "updated", Handler: func(_ context.Context, c *rowcast.Call) error {
		end := ends[how].end
		return errors.Join(begun(c), end(c))
	}})
	ann := s.User("ann")
	ann.Post("/data/account", `{"id":"a","n":0}`).Is(201)
	accounts, entries := ann.Open("/realtime?channel=account"), ann.Open("/realtime?channel=entry")
	for how = range ends {
		t.Run(how, func(t *testing.T) {
			ann.Post("/data/account/a/work", "").Is(ends[how].status)
			if got := ann.Get("/data/account/a").Is(200).JSON()["n"]; fmt.Sprint(got) != "0" {
				t.Errorf("the row is left with %v", got)
			}
			ann.Get("/data/entry/e").Is(404)
		})
	}
	ann.Post("/data/account", `{"id":"last","n":0}`).Is(201)
	ann.Post("/data/entry", `{"id":"last"}`).Is(201)
	tells(t, accounts, "created last")
	tells(t, entries, "created last")
}
