package delivery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// death is a place where the process ends itself, when it comes there for the
// nth time: a number that is drawn between least and most.
type death struct {
	at          string
	least, most int
	kind        string // what brings it there: "" writing
}

var writingDeaths = []death{
	{"insert.before", 3, 20, ""}, {"insert.after", 3, 20, ""}, {"commit.before", 15, 50, ""}, {"commit.after", 15, 50, ""},
	{"handover.before", 3, 20, ""}, {"handover.after", 3, 20, ""}, {"claim.before", 3, 15, ""}, {"claim.after", 3, 15, ""},
}

var sendingDeaths = []death{
	{"send.before", 3, 40, ""}, {"answer.after", 3, 40, ""}, {"completion.before", 3, 12, ""}, {"completion.after", 3, 12, ""},
	{"requeue.before", 1, 1, "requeue"}, {"requeue.after", 1, 1, "requeue"}, {"sweep.before", 1, 1, "sweep"}, {"sweep.after", 1, 1, "sweep"},
}

// What the guarantee is: no delivery of what was committed is lost, none is made
// of what was not, and each attempt is of the same id and the same bytes, at
// whatever place the process ends, to targets that accept, fail, refuse, want
// order or read as somebody.
//
// One server lives on one database from death to death. After each the books are
// balanced: as many deliveries were received or wait as there are events that the
// target wants. In the end everything is delivered and held against the events.
func TestTheLedgerOfDeliveriesAcrossDeaths(t *testing.T) {
	for name, deaths := range map[string][]death{"while it writes": writingDeaths, "while it sends": sendingDeaths} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newLedger(t).run(deaths)
		})
	}
}

// rounds is how often the process dies at each place: a fifth of ROWCAST_KILLS, 1
// where that is not set.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("ROWCAST_KILLS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("ROWCAST_KILLS=%q is no number of kills", text)
	}
	return (n + 4) / 5
}

// ledger is a server with targets of all kinds, and the books.
type ledger struct {
	*books
	s       *servertest.Server
	writers *ledgerWriters
	rng     *rand.Rand
	last    time.Time // of the last death that was written before
	held    []string  // what the dead had sent, and hold
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	l := &ledger{rng: rand.New(rand.NewPCG(seed, 0))}
	targets := map[string]target{
		"healthy": {servertest.Receive(t), all, ""},
		"moody":   {servertest.Receive(t), items, ""},
		"strict":  {servertest.Receive(t), items, ""},
		"gone":    {servertest.Receive(t, servertest.Replies(500)...), items, ""},
		"ordered": {servertest.Receive(t), all, ", order: row"},
		"biller":  {servertest.Receive(t), notes, ", as: {id: svc-billing, roles: [billing]}"},
	}
	targets["moody"].ReplyWith(moody(0.5))
	targets["ordered"].ReplyWith(moody(0.1))
	l.s = servertest.StartProcess(t, servertest.Options{
		Schema: ledgerSchema, Listen: servertest.FreeAddress(t), Targets: declared(targets, "", "one"),
	})
	l.books = openBooks(t, l.s, targets)
	l.writers = newWriters(t, 2*time.Millisecond, l.s)
	l.refuse()
	l.s.Kill()
	return l
}

// moody answers 500 to a share of the first requests, and to no delivery more
// than twice.
func moody(share float64) func(servertest.Received) servertest.Reply {
	var mu sync.Mutex
	failed := map[string]int{}
	return func(got servertest.Received) servertest.Reply {
		mu.Lock()
		defer mu.Unlock()
		if failed[got.ID] < 2 && rand.Float64() < share {
			failed[got.ID]++
			return servertest.Reply{Status: 500}
		}
		return servertest.Reply{}
	}
}

// refuse has the strict target refuse every other delivery.
func (l *ledger) refuse() {
	l.targets["strict"].ReplyWith(func(got servertest.Received) servertest.Reply {
		if strings.Contains("13579BDFHKNQSVXZ", got.ID[len(got.ID)-1:]) {
			return servertest.Reply{Status: 400}
		}
		return servertest.Reply{}
	})
}

func (l *ledger) run(deaths []death) {
	t := l.t
	t.Helper()
	for range rounds(t) {
		for _, d := range deaths {
			began := time.Now()
			switch d.kind {
			case "requeue":
				l.requeue(d)
			case "sweep":
				l.sweep(d)
			default:
				l.write(d)
			}
			t.Logf("%s: after %s", d.at, time.Since(began).Round(time.Millisecond))
		}
	}
	l.live(func() {
		l.balance(l.s, "in the end")
		l.dry(l.s)
	})
	l.s.Start()
	l.judge(l.s, l.writers)
	l.freed()
	if l.writers.rolledBack == 0 || l.writers.acknowledged() == 0 {
		t.Errorf("%d changes were acknowledged, %d requests rolled back", l.writers.acknowledged(), l.writers.rolledBack)
	}
	l.s.Stop()
}

// live starts the server without a failpoint, and kills it when done.
func (l *ledger) live(do func()) {
	l.t.Helper()
	l.s.Start()
	do()
	l.s.Kill()
}

// die starts the server so that it ends itself, and waits until it has.
func (l *ledger) die(d death, do func()) {
	l.t.Helper()
	l.s.Doom(fmt.Sprintf("%s:%d", d.at, d.least+l.rng.IntN(d.most-d.least+1)))
	l.s.Start()
	do()
	l.s.Died()
}

// write has the writers write until the process ends itself.
func (l *ledger) write(d death) {
	l.t.Helper()
	l.die(d, func() {
		l.writers.start(2, l.s.Gone())
		l.writers.running.Wait()
	})
	l.live(func() { l.balance(l.s, "after a death at "+d.at) })
	l.last = time.Now()
}

// requeue puts back what was refused, and the process ends itself at that: before
// it nothing has moved, after it everything has, and is delivered.
func (l *ledger) requeue(d death) {
	t := l.t
	t.Helper()
	var refused []string
	l.live(func() {
		l.until(func() bool {
			refused = nil
			for id, status := range l.waiting(l.s)["strict"] {
				if status == "failed" && len(refused) < 20 {
					refused = append(refused, id)
				}
			}
			return len(refused) > 0
		}, func() string { return "nothing is refused" })
	})
	l.targets["strict"].Reply()
	known := len(l.targets["strict"].All())
	l.die(d, func() {
		ids, err := json.Marshal(map[string][]string{"ids": refused})
		if err != nil {
			t.Fatal(err)
		}
		if status := l.postAndDie("/admin/data/events/requeue", string(ids)); status != 0 {
			t.Errorf("%s: the dead answer %d", d.at, status)
		}
	})
	l.live(func() {
		if d.at == "requeue.before" {
			queue := l.balance(l.s, "after a death at "+d.at)
			for _, id := range refused {
				if queue["strict"][id] != "failed" {
					t.Errorf("%s: delivery %s is %q, want failed as it was", d.at, id, queue["strict"][id])
				}
			}
			return
		}
		l.targets["strict"].Until("deliveries that were put back", func(all []servertest.Received) bool {
			again := servertest.IDs(all[known:])
			return !slices.ContainsFunc(refused, func(id string) bool { return !slices.Contains(again, id) })
		})
		l.balance(l.s, "after a death at "+d.at)
	})
	l.refuse()
}

// sweep has the process end itself while it sweeps: a target is not declared any
// more, so what waits for it becomes failed, and on PostgreSQL the leases of those
// that died before have run out: before the sweep the dead still hold what they
// had sent, and after it that is sent again.
func (l *ledger) sweep(d death) {
	t := l.t
	t.Helper()
	l.s.Retarget(declared(l.targets, "gone", "one")...)
	if l.s.Database() != "" {
		servertest.Pass(t.Context(), time.Until(l.last.Add(16*time.Second)))
	}
	sent := servertest.IDs(slices.Concat(l.targets["healthy"].All(), l.targets["biller"].All()))
	l.die(d, func() {})
	l.s.Retarget(declared(l.targets, "", "one")...)
	l.live(func() {
		queue := l.balance(l.s, "after a death at "+d.at)
		for _, id := range sent {
			if d.at == "sweep.before" && (queue["healthy"][id] == "claimed" || queue["biller"][id] == "claimed") {
				l.held = append(l.held, id)
			}
		}
		if l.s.Database() != "" && len(l.held) == 0 {
			t.Errorf("%s: the dead hold nothing", d.at)
		}
		states := map[string]int{}
		for _, status := range queue["gone"] {
			states[status]++
		}
		if failed := states["failed"] > 0; failed != (d.at == "sweep.after") {
			t.Errorf("%s: of the target that was not declared the queue holds %v", d.at, states)
		}
	})
}

// freed: what the dead held was sent again.
func (l *ledger) freed() {
	l.t.Helper()
	times := map[string]int{}
	for _, got := range slices.Concat(l.targets["healthy"].All(), l.targets["biller"].All()) {
		times[got.ID]++
	}
	for _, id := range l.held {
		if times[id] < 2 {
			l.t.Errorf("delivery %s, which a dead instance held, was sent %d times", id, times[id])
		}
	}
}

// postAndDie posts as an operator, and returns the status of the answer; 0: none came.
func (l *ledger) postAndDie(path, body string) int {
	w := &ledgerWriters{t: l.t, urls: []string{l.s.URL}, token: l.s.Token("root", "admin")}
	one := &ledgerWriter{ledgerWriters: w, http: &http.Client{}}
	status, _ := one.do(l.t.Context(), step{method: "POST", path: path, body: body})
	return status
}
