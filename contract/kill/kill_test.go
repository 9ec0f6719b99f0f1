// Package kill kills a server that is writing as fast as it can, again and
// again, and holds what is left against what was promised: every acknowledged
// write is there, each change stands in the log once for each topic, and a
// subscriber that reconnects with the last id it saw sees each once, in order.
package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
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
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	all := follow(ctx, t, s, "ann", client.Subscription{Entity: "item", Name: "all"})
	births := follow(ctx, t, s, "ann", client.Subscription{Entity: "item", Name: "births"})
	anns := follow(ctx, t, s, "ann", client.Subscription{Entity: "note"})

	writing, stopWriting := context.WithCancel(ctx)
	defer stopWriting()
	var writers sync.WaitGroup
	ledgers := make([]*ledger, 6)
	for i := range ledgers {
		ledgers[i] = newLedger()
		user := []string{"ann", "bob"}[i%2]
		writers.Go(func() { ledgers[i].write(writing, t, s.URL, s.Token(user), user, i) })
	}
	for round := range kills(t) {
		wait(t, time.Duration(200+37*round%400)*time.Millisecond)
		s.Kill()
		s.Start()
	}
	wait(t, 300*time.Millisecond)
	stopWriting()
	writers.Wait()

	acked := 0
	for _, l := range ledgers {
		acked += l.acked
	}
	t.Logf("%d kills, %d acknowledged writes", kills(t), acked)
	if acked < 100 {
		t.Fatalf("only %d writes were acknowledged: that proves nothing", acked)
	}
	// One last write of each kind marks the end of every stream.
	last := s.User("ann")
	last.Post("/data/item", `{"id":"last"}`).Is(201)
	last.Post("/data/note", `{"id":"last"}`).Is(201)
	for _, f := range []*follower{all, births, anns} {
		f.until(t, "last")
	}
	judge(t, s, ledgers, all, births, anns)
	cancel()
	for _, f := range []*follower{all, births, anns} {
		<-f.ended
	}
}

// wait is time in which the writers write.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// ledger is what one writer knows: the highest n it was told is written, and
// the highest it has sent, for each of its rows.
type ledger struct {
	acked      int
	told, sent map[string]int // "entity/id"
}

func newLedger() *ledger { return &ledger{told: map[string]int{}, sent: map[string]int{}} }

// write creates rows and updates each a few times, until ctx is done. What gets
// no answer is unknown, and its row is left alone from then on.
func (l *ledger) write(ctx context.Context, t *testing.T, url, token, user string, writer int) {
	c, err := client.New(client.Config{URL: url, Token: token})
	if err != nil {
		t.Error(err)
		return
	}
	for i := 0; ctx.Err() == nil; i++ {
		entity := []string{"item", "note"}[i%2]
		id := fmt.Sprintf("%s-%d-%d", user, writer, i)
		key := entity + "/" + id
		l.sent[key] = 0
		if _, err := c.Create(context.WithoutCancel(ctx), entity, map[string]any{"id": id, "n": 0}); err != nil {
			wait(t, 10*time.Millisecond)
			continue
		}
		l.told[key] = 0
		l.acked++
		for n := 1; n <= i%3; n++ {
			l.sent[key] = n
			if _, err := c.Patch(context.WithoutCancel(ctx), entity, id, map[string]any{"n": n}); err != nil {
				break
			}
			l.told[key] = n
			l.acked++
		}
	}
}

// follower keeps what a subscriber saw across all deaths of the server.
type follower struct {
	name  string
	ended chan struct{}
	more  chan struct{}

	mu     sync.Mutex
	events []client.Event
}

func follow(ctx context.Context, t *testing.T, s *servertest.Server, user string, sub client.Subscription) *follower {
	c, err := client.New(client.Config{URL: s.URL, Token: s.Token(user)})
	if err != nil {
		t.Fatal(err)
	}
	sub.Heartbeat = time.Second
	f := &follower{name: sub.Entity + " " + sub.Name, ended: make(chan struct{}), more: make(chan struct{}, 1)}
	opened := s.User(user).Get("/data/" + sub.Entity) // the entity is there
	opened.Is(200)
	go func() {
		defer close(f.ended)
		err := c.Stream(sub).Run(ctx, func(e client.Event) error {
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
			t.Errorf("%s: the stream ended with %v", f.name, err)
		}
	}()
	// A first event shows that the stream is open before anything is counted.
	for i := 0; ; i++ {
		s.User(user).Post("/data/"+sub.Entity, fmt.Sprintf(`{"id":"first %s %d"}`, f.name, i)).Is(201)
		select {
		case <-f.more:
			return f
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// until waits for the event of a row.
func (f *follower) until(t *testing.T, id string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		f.mu.Lock()
		found := slices.ContainsFunc(f.events, func(e client.Event) bool { return e.Subject == id })
		f.mu.Unlock()
		if found {
			return
		}
		select {
		case <-f.more:
		case <-deadline:
			t.Fatalf("%s: the event of row %s never comes; %d events came", f.name, id, len(f.events))
		}
	}
}

// judge holds rows and streams against the ledgers.
func judge(t *testing.T, s *servertest.Server, ledgers []*ledger, all, births, anns *follower) {
	t.Helper()
	items, bornItems, notes := all.perRow(t), births.perRow(t), anns.perRow(t)
	c := map[string]*client.Client{}
	for _, user := range []string{"ann", "bob"} {
		var err error
		if c[user], err = client.New(client.Config{URL: s.URL, Token: s.Token(user)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, l := range ledgers {
		user := []string{"ann", "bob"}[i%2]
		for key := range l.sent {
			entity, id := key[:4], key[5:]
			n, there := stored(t, c[user], entity, id)
			told, wasTold := l.told[key]
			if wasTold && (!there || n < told) {
				t.Errorf("%s: acknowledged up to n=%d, stored: %v, n=%d", key, told, there, n)
			}
			if !there {
				n = -1
			}
			// A row that was created and then changed n times has n+1 events, each once.
			switch {
			case entity == "item":
				expect(t, "all", key, items[id], n+1)
				expect(t, "births", key, bornItems[id], min(n+1, 1))
			case user == "ann":
				expect(t, "ann's notes", key, notes[id], n+1)
			default:
				expect(t, "ann's notes, of bob's", key, notes[id], 0)
			}
		}
	}
}

func expect(t *testing.T, stream, row string, got, want int) {
	t.Helper()
	if got != want {
		t.Errorf("%s told %d times of %s, want %d", stream, got, row, want)
	}
}

func stored(t *testing.T, c *client.Client, entity, id string) (n int, there bool) {
	t.Helper()
	raw, err := c.Get(t.Context(), entity, id)
	if err != nil {
		return 0, false
	}
	var row struct{ N int }
	if err := json.Unmarshal(raw, &row); err != nil {
		t.Fatal(err)
	}
	return row.N, true
}

// perRow counts events by row, having checked that no id came twice, that those
// of a row (with one writer all of them) ascend, that no gap was told, and that a row never shows an older state.
func (f *follower) perRow(t *testing.T) map[string]int {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	count, shown, seen, last := map[string]int{}, map[string]int{}, map[string]bool{}, map[string]string{}
	for _, e := range f.events {
		if e.Gap != nil {
			t.Errorf("%s: a gap was told: %+v", f.name, *e.Gap)
			continue
		}
		if seen[e.ID] || e.ID <= last[e.Subject] {
			t.Errorf("%s: id %s of %s after %s, or again", f.name, e.ID, e.Subject, last[e.Subject])
		}
		if servertest.OneWriter() && e.ID <= last[""] {
			t.Errorf("%s: id %s after %s", f.name, e.ID, last[""])
		}
		seen[e.ID], last[e.Subject], last[""] = true, e.ID, e.ID
		count[e.Subject]++
		if len(e.Data) == 0 {
			continue
		}
		var row struct{ N int }
		if err := json.Unmarshal(e.Data, &row); err != nil {
			t.Fatal(err)
		}
		if row.N < shown[e.Subject] || row.N < count[e.Subject]-1 {
			t.Errorf("%s: event %d of %s shows n=%d, older than it may", f.name, count[e.Subject], e.Subject, row.N)
		}
		shown[e.Subject] = row.N
	}
	return count
}
