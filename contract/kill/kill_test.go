// Package kill kills a server that is writing as fast as it can, again and
// again, and holds what is left against what was promised: every acknowledged
// write is there, each change stands in the log once for each topic, and a
// subscriber that reconnects with the last id it saw sees each once, in order.
package kill

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/client"
	"github.com/rowcast/rowcast/internal/servertest"
)

const schema = `
entities:
  - name: item
    fields:
      - {name: id, type: string}
      - {name: n, type: int}
    events:
      - {name: changed}
      - {name: births, operations: [create], topic: item.births}
    subscriptions:
      - {name: all}
      - {name: births, source: item.births}
  - name: note
    fields:
      - {name: id, type: string}
      - {name: owner_id, type: string, defaultvalue: user.id}
      - {name: n, type: int}
    rowrules:
      - {name: own, actions: [read, update], language: expr, expression: row.owner_id == user.id}
    events:
      - {name: changed}
    subscriptions:
      - {name: mine, rls: true}
`

// kills is how often the server dies: ROWCAST_KILLS, 4 where that is not set.
func kills(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("ROWCAST_KILLS"))
	if os.Getenv("ROWCAST_KILLS") == "" {
		return 4
	}
	if err != nil || n < 1 {
		t.Fatalf("ROWCAST_KILLS=%q is no number of kills", os.Getenv("ROWCAST_KILLS"))
	}
	return n
}

func TestKillNine(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	s := servertest.StartProcess(t, servertest.Options{Schema: schema, Listen: servertest.FreeAddress(t)})
	defer s.Stop()

	follow := func(entity, name string) *servertest.Follower {
		return servertest.Follow(t, servertest.Following{
			Subscription: client.Subscription{Entity: entity, Name: name}, User: "ann", Servers: []*servertest.Server{s},
		})
	}
	all, births, notes := follow("item", "all"), follow("item", "births"), follow("note", "mine")
	followers := []*servertest.Follower{all, births, notes}
	defer func() {
		for _, f := range followers {
			f.Close()
		}
	}()

	var running sync.WaitGroup
	defer running.Wait()
	writing, stop := context.WithCancel(t.Context())
	defer stop()
	writers := make([]*servertest.Writer, 6)
	for i := range writers {
		writers[i] = &servertest.Writer{
			User: []string{"ann", "bob"}[i%2], Name: fmt.Sprint("w", i), Servers: []*servertest.Server{s}, Entities: []string{"item", "note"},
		}
		running.Go(func() { writers[i].Run(writing, t) })
	}
	for round := range kills(t) {
		servertest.Pass(t.Context(), time.Duration(200+37*round%400)*time.Millisecond)
		s.Kill()
		s.Start()
	}
	servertest.More(t, writers, 100) // it serves as before
	stop()
	running.Wait()
	t.Logf("%d kills, %d acknowledged writes", kills(t), servertest.Acknowledged(writers))
	// One last write of each kind marks the end of every stream.
	last := s.User("ann")
	last.Post("/data/item", `{"id":"last","n":0}`).Is(201)
	last.Post("/data/note", `{"id":"last","n":0}`).Is(201)
	for _, f := range followers {
		f.Until("last")
	}
	judge(t, s, writers, all.Count(), births.Count(), notes.Count())
}

// judge holds rows and streams against what the writers know: a row that was
// created and then changed n times has n+1 events, each once.
func judge(t *testing.T, s *servertest.Server, writers []*servertest.Writer, all, births, notes map[string]int) {
	t.Helper()
	expect := func(stream, row string, got, want int) {
		if got != want {
			t.Errorf("%s told %d times of %s, want %d", stream, got, row, want)
		}
	}
	for _, w := range writers {
		w.Judge(s, func(entity, id string, changes int) {
			switch {
			case entity == "item":
				expect("all", id, all[id], changes)
				expect("births", id, births[id], min(changes, 1))
			case w.User == "ann":
				expect("ann's notes", id, notes[id], changes)
			default:
				expect("ann's notes, of bob's", id, notes[id], 0)
			}
		})
	}
}
