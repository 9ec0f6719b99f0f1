package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowcast/rowcast/internal/servertest"
)

const schema = `
entities:
  - name: item               # no row rules: everybody sees everything
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: w, type: int}
      - {name: v, type: string}
      - {name: n, type: int}
      - {name: owner_id, type: string}
      - {name: pad, type: string}
    access:
      actions: {language: expr, expression: '["create","read","update","delete","restore","purge"]'}
    events:
      - {name: changed}
    subscriptions:
      - {name: all}
      - {name: rows, rls: true}
      - {name: own, scope: user}
      - {name: large, filter: {language: expr, expression: payload.n >= 50}}
      - {name: largerows, rls: true, filter: {language: expr, expression: payload.n >= 50}}
      - {name: births, eventtypes: [create]}
  - name: note               # rows are their owner's; staff sees all
    inherits: [softdelete]
    fields:
      - {name: id, type: string}
      - {name: w, type: int}
      - {name: v, type: string}
      - {name: n, type: int}
      - {name: owner_id, type: string}
      - {name: pad, type: string}
    access:
      actions: {language: expr, expression: '["create","read","update","delete","restore","purge"]'}
    rowrules:
      - {name: own, actions: [read, update, delete], language: expr, expression: row.owner_id == user.id}
      - {name: staff, actions: [read, update, delete], language: expr, expression: '"staff" in user.roles'}
    events:
      - {name: changed}
    subscriptions:
      - {name: mine, rls: true}
      - {name: large, rls: true, filter: {language: expr, expression: payload.n >= 50}}
`

var every = []string{"create", "update", "delete"}

func kinds() []*kind {
	all := []*kind{
		{entity: "item", name: "all", user: "ann", ops: every},
		{entity: "item", name: "all", user: "bob", ops: []string{"update", "delete"}, query: "&ops=update,delete"},
		{entity: "item", name: "rows", user: "bob", ops: every, rls: true},
		{entity: "item", name: "own", user: "ann", ops: every, scope: true},
		{entity: "item", name: "large", user: "bob", ops: every, least: 50},
		{entity: "item", name: "large", user: "ann", ops: every, least: 50, leave: true},
		{entity: "item", name: "largerows", user: "sue", ops: every, least: 50, rls: true, leave: true},
		{entity: "item", name: "births", user: "sue", ops: []string{"create"}},
		{entity: "note", name: "mine", user: "ann", ops: every, rls: true},
		{entity: "note", name: "mine", user: "ann", ops: every, rls: true, leave: true},
		{entity: "note", name: "mine", user: "bob", ops: every, rls: true, leave: true},
		{entity: "note", name: "mine", user: "sue", ops: every, rls: true},
		{entity: "note", name: "large", user: "ann", ops: every, rls: true, leave: true, least: 50},
		{entity: "note", name: "large", user: "bob", ops: []string{"update"}, query: "&ops=update", rls: true, least: 50},
	}
	for _, k := range all {
		if k.leave {
			k.query += "&leave=true"
		}
	}
	return all
}

// settings say how long the chaos lasts, and what its decisions come from.
func settings(t *testing.T) (span time.Duration, seed uint64) {
	t.Helper()
	span, seed = 30*time.Second, rand.Uint64()
	if text := os.Getenv("ROWCAST_CHAOS"); text != "" {
		var err error
		if span, err = time.ParseDuration(text); err != nil {
			t.Fatalf("ROWCAST_CHAOS is a duration such as 10m, not %q", text)
		}
	}
	if text := os.Getenv("ROWCAST_CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("ROWCAST_CHAOS_SEED is a number, not %q", text)
		}
	}
	t.Logf("ROWCAST_CHAOS=%s ROWCAST_CHAOS_SEED=%d", span, seed)
	return span, seed
}

const writers = 5

func TestChaos(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	span, seed := settings(t)
	s := servertest.StartProcess(t, servertest.Options{Schema: schema, Listen: servertest.FreeAddress(t)})
	defer s.Stop()
	tokens := map[string]string{"ann": s.Token("ann"), "bob": s.Token("bob"), "sue": s.Token("sue", "staff"), "root": s.Token("root", "admin")}
	w := &world{rows: map[string]*row{}}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel()
	subscribers := listen(ctx, t, s.URL, tokens, seed, &listening)

	var atWork sync.WaitGroup
	defer atWork.Wait()
	writing, stop := context.WithCancel(ctx)
	defer stop()
	made := make([]*writer, writers)
	for i := range made {
		made[i] = newWriter(t, w, i, s.URL, tokens, rand.New(rand.NewPCG(seed, uint64(i))))
		atWork.Go(func() { made[i].work(writing) })
	}
	deaths := disturb(t, s, span, rand.New(rand.NewPCG(seed, 1000)))
	stop()
	atWork.Wait()
	for _, sub := range subscribers {
		sub.calm.Store(true)
	}
	made[0].finish(t)
	for _, sub := range subscribers {
		sub.wait(t)
	}
	made[0].verify(t)
	judgeAll(t, w, made[0].caller, subscribers)
	cancel()
	listening.Wait()
	tidy(t, s)
	quiet(t, s)
	report(t, w, made, subscribers, deaths)
	for _, m := range made {
		m.close()
	}
}

// disturb stops and kills the server now and then, and leaves it running.
func disturb(t *testing.T, s *servertest.Server, span time.Duration, rng *rand.Rand) (deaths int) {
	t.Helper()
	for until := time.Now().Add(span); ; deaths++ {
		pause := time.Duration(1000+rng.IntN(4000)) * time.Millisecond
		if rng.IntN(4) == 0 {
			pause /= 20 // hardly up
		}
		if time.Now().Add(pause).After(until) {
			servertest.Pass(t.Context(), time.Until(until))
			return deaths
		}
		servertest.Pass(t.Context(), pause)
		if rng.IntN(2) == 0 {
			s.Kill()
		} else {
			s.Stop()
		}
		servertest.Pass(t.Context(), time.Duration(rng.IntN(300))*time.Millisecond)
		s.Start()
	}
}

// tidy looks at the metrics when everybody has left.
func tidy(t *testing.T, s *servertest.Server) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for {
		m := s.Metrics()
		left := fmt.Sprintf("%v subscribers, %v topics, lag %v", m.Of("rowcast_subscribers"), m.Of("rowcast_topics"), m.Of("rowcast_log_lag_seconds"))
		if left == "0 subscribers, 0 topics, lag 0" {
			if failed := m.Of("rowcast_filter_failures_total"); failed != 0 {
				t.Errorf("%v filters failed", failed)
			}
			if m.Of("rowcast_events_published_total") < 1 || m.Of("rowcast_events_delivered_total")+m.Of("rowcast_events_replayed_total") < 1 {
				t.Errorf("the counters of events are %s", m.Text)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("when everybody has left, there are %s", left)
		}
		servertest.Pass(t.Context(), 50*time.Millisecond)
	}
}

// quiet holds the server's log against what it had to bear: nothing of that is
// a fault of its own.
func quiet(t *testing.T, s *servertest.Server) {
	t.Helper()
	log, err := os.ReadFile(filepath.Join(s.Dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic") || strings.Contains(line, "DATA RACE") {
			t.Errorf("the server's log says %s", line)
		}
	}
}

func report(t *testing.T, w *world, made []*writer, subscribers []*subscriber, deaths int) {
	changes := 0
	for _, r := range w.rows {
		changes += len(r.versions)
	}
	unsure := 0
	for _, m := range made {
		unsure += m.unsure
	}
	t.Logf("%d deaths, %d rows, %d committed changes, %d answers lost", deaths, len(w.rows), changes, unsure)
	for _, s := range subscribers {
		t.Logf("%s: %d frames over %d connections, %d of them resumed from a bookmark", s, len(s.frames), s.connections, s.bookmarked)
	}
	if changes < 200 {
		t.Errorf("only %d changes: that proves nothing", changes)
	}
}
