package delivery

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// counted are the n of a row's bodies, in the order they were first sent.
func counted(t *testing.T, all []servertest.Received, subject string) (ns []int) {
	t.Helper()
	seen := map[string]bool{}
	for _, got := range all {
		ev := decode(t, got.Body)
		if n, ok := ev.Data["n"].(float64); ok && ev.Subject == subject && !seen[got.ID] {
			seen[got.ID] = true
			ns = append(ns, int(n))
		}
	}
	return ns
}

// gates hold each row's n-th delivery until that of every row is there.
type gates struct {
	t      *testing.T
	rows   int
	mu     sync.Mutex
	flying map[string]bool // by row: one is held
	here   map[int]int     // by n
	open   map[int]chan struct{}
}

func (g *gates) reply(got servertest.Received) (a servertest.Reply) {
	ev := decode(g.t, got.Body)
	number, _ := ev.Data["n"].(float64)
	n := int(number)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying[ev.Subject] {
		g.t.Errorf("%d of row %s comes while the one before is under way", n, ev.Subject)
	}
	if g.open[n] == nil {
		g.open[n] = make(chan struct{})
	}
	g.flying[ev.Subject] = true
	a.Until = g.open[n]
	if g.here[n]++; g.here[n] < g.rows {
		return a
	}
	if g.here[n] == g.rows {
		close(g.open[n])
		clear(g.flying)
		if n == 2 {
			a.Status = 503 // the last one alone has to come again
		}
	} else {
		g.flying[ev.Subject] = false
	}
	return a
}

const ordered = "topics: [ticket.single], as: {id: svc}, order: row"

// Beyond the contract: with order: row the events of a row come in the order of
// its changes, at most one of them at a time, also where some attempts fail; the
// rows do not wait for each other.
func TestTheEventsOfARowComeInOrder(t *testing.T) {
	t.Parallel()
	const rows, changes = 3, 6
	r := servertest.Receive(t)
	r.ReplyWith((&gates{t: t, rows: rows, flying: map[string]bool{}, here: map[int]int{}, open: map[int]chan struct{}{}}).reply)
	s := open(t, r.Target("billing", ordered+", timeout: 1m"))
	ann := s.User("ann")
	for n := range changes {
		for row := range rows {
			id := fmt.Sprintf("r%d", row)
			if n == 0 {
				ann.Post("/data/ticket", `{"id":"`+id+`","n":0}`).Is(201)
			} else {
				ann.Patch("/data/ticket/"+id, fmt.Sprintf(`{"n":%d}`, n)).Is(200)
			}
		}
	}
	deskOf(t, s).idle()
	for row := range rows {
		if got := counted(t, r.All(), fmt.Sprintf("r%d", row)); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5}) {
			t.Errorf("row %d came as %v", row, got)
		}
	}
}

// With order: row a failed delivery holds back the later ones of its own row, and
// no others; stats show how many are blocked. After requeue they come in order, and
// after skip without the one that was removed.
func TestAFailedDeliveryHoldsBackItsRowAlone(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t)
	r.ReplyWith(func(got servertest.Received) servertest.Reply {
		if ev := decode(t, got.Body); ev.Operation == "create" && ev.Subject != "free" {
			return servertest.Reply{Status: 400}
		}
		return servertest.Reply{}
	})
	s := open(t, r.Target("billing", ordered))
	ann := s.User("ann")
	for _, id := range []string{"again", "never", "free"} {
		ann.Post("/data/ticket", `{"id":"`+id+`","n":0}`).Is(201)
		for n := 1; n <= 2; n++ {
			ann.Patch("/data/ticket/"+id, fmt.Sprintf(`{"n":%d}`, n)).Is(200)
		}
	}
	d := deskOf(t, s)
	items := d.until("two failed and four behind them", func(items []queued) bool {
		return len(items) == 6 && items[0].Status == "failed" && items[1].Status == "failed" && items[2].Status == "pending"
	})
	if got := counted(t, r.All(), "free"); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the free row came as %v", got)
	}
	stats := d.stats()
	if target := stats.Targets[0]; target.Blocked != 4 || stats.Depth != (depth{Pending: 4, Failed: 2}) {
		t.Errorf("blocked %d, want 4; depth %+v", target.Blocked, stats.Depth)
	}
	d.metric(s, "rowcast_deliveries_blocked", 4)
	d.Post(events+"drain", "").Is(200)
	if n := len(r.All()); n != 5 {
		t.Errorf("a drain attempts what is blocked: %d requests, want 5", n)
	}
	r.Reply()
	for i, q := range items[:2] {
		if q.Subject != []string{"again", "never"}[i] || q.Attempts != 1 {
			t.Errorf("failed: %s after %d attempts", q.Subject, q.Attempts)
		}
	}
	d.putBack(items[0])
	d.until("the other row alone", func(items []queued) bool {
		return len(items) == 3 && allAre(items, func(q queued) bool { return q.Subject == "never" })
	})
	if m := d.skip(items[1]); len(m.Removed) != 1 {
		t.Errorf("skipped: %+v", m)
	}
	d.idle()
	for subject, want := range map[string][]int{"again": {0, 1, 2}, "never": {0, 1, 2}} { // the first attempt at 0 was made
		if got := counted(t, r.All(), subject); !slices.Equal(got, want) {
			t.Errorf("%s came as %v, want %v", subject, got, want)
		}
	}
	times := map[string]int{}
	for _, got := range r.All() {
		times[decode(t, got.Body).Subject+" "+got.Event]++
	}
	if times["never entity.create"] != 1 || times["again entity.create"] != 2 {
		t.Errorf("they came %v", times)
	}
}

// One target that is dead or slow delays no other, and its breaker spends the
// attempts of one delivery alone.
func TestADeadTargetDelaysNoOther(t *testing.T) {
	t.Parallel()
	dead, slow, well := servertest.Receive(t, servertest.Replies(500)...), servertest.Receive(t), servertest.Receive(t)
	hold := make(chan struct{})
	slow.Reply(servertest.Reply{Until: hold})
	s := open(t, dead.Target("dead", noteTopic+", maxinflight: 1"), slow.Target("slow", noteTopic), well.Target("well", noteTopic))
	const rows = 40
	ann := s.User("ann")
	var list []string
	for i := range rows {
		list = append(list, fmt.Sprintf(`{"id":"n%02d"}`, i))
	}
	ann.Post("/data/note/bulk", "["+strings.Join(list, ",")+"]").Is(201)
	well.Until("all", func(all []servertest.Received) bool { return len(servertest.IDs(all)) == rows })
	d := deskOf(t, s)
	d.until("an open breaker", func([]queued) bool { return d.stats().Targets[0].Breaker != "closed" })
	close(hold)
	slow.Until("all", func(all []servertest.Received) bool { return len(servertest.IDs(all)) == rows })
	if n := len(servertest.IDs(dead.All())); n > 6 {
		t.Errorf("%d deliveries spent an attempt at a dead target", n)
	}
	dead.Reply()
	d.Post(events+"drain", "").Is(200)
	d.idle()
	if n := len(servertest.IDs(dead.All())); n != rows {
		t.Errorf("%d of %d came once it was alive", n, rows)
	}
}
