package delivery

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
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
	{"requeue.before", 1, 1, "requeue"}, {"requeue.after", 1, 1, "requeue"}, {"sweep", 1, 1, "sweep"},
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
	holds   int // deliveries that the dead were made to hold
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	l := &ledger{rng: rand.New(rand.NewPCG(seed, 0))}
	targets := map[string]target{
		"healthy": {servertest.Receive(t), everything, ""},
		"moody":   {servertest.Receive(t), items, ""},
		"strict":  {servertest.Receive(t), items, ""},
		"gone":    {servertest.Receive(t), items, ""},
		"ordered": {servertest.Receive(t), everything, ", order: row"},
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

// refuse has the strict target refuse every other delivery.
func (l *ledger) refuse() {
	l.targets["strict"].ReplyWith(func(got servertest.Received) servertest.Reply {
		if strings.ContainsRune("13579BDFHKNQSVXZ", rune(got.ID[len(got.ID)-1])) {
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
				l.sweep()
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

// sweep has the process end itself before it sweeps for the first time, and then
// after it. There is something to sweep: one that died holds a delivery, whose
// lease, on PostgreSQL, has to run out; and a target is not declared for a while.
func (l *ledger) sweep() {
	t := l.t
	t.Helper()
	l.holds++
	held, healthy := fmt.Sprintf("held-%d", l.holds), l.targets["healthy"]
	hold := newScript()
	hold.about(held, servertest.Reply{Until: t.Context().Done()})
	healthy.ReplyWith(hold.reply)
	l.targets["gone"].Reply(servertest.Replies(500)...)
	l.live(func() {
		l.s.User("root", "staff").Post("/data/item", `{"id":"`+held+`","n":0}`).Is(201)
		healthy.Until("delivery to hold", about(held, 1))
		l.until(func() bool { return slices.Contains(slices.Collect(maps.Values(l.waiting(l.s)["gone"])), "pending") },
			func() string { return "nothing waits for the target that will be gone" })
	})
	l.targets["gone"].Reply()
	died := time.Now()
	l.s.Retarget(declared(l.targets, "gone", "one")...)
	if l.s.Database() != "" {
		servertest.Pass(t.Context(), time.Until(died.Add(16*time.Second)))
	}
	for _, at := range []string{"sweep.before", "sweep.after"} {
		l.die(death{at, 1, 1, ""}, func() {})
	}
	l.s.Retarget(declared(l.targets, "", "one")...)
	l.live(func() {
		queue := l.balance(l.s, "after deaths while it sweeps")
		if !slices.Contains(slices.Collect(maps.Values(queue["gone"])), "failed") {
			t.Errorf("of the target that was not declared the queue holds %v", queue["gone"])
		}
		healthy.Until("delivery that the dead held", about(held, 2))
	})
}

// postAndDie posts as an operator, and returns the status of the answer; 0: none came.
func (l *ledger) postAndDie(path, body string) int {
	w := &ledgerWriters{t: l.t, urls: []string{l.s.URL}, token: l.s.Token("root", "admin")}
	one := &ledgerWriter{ledgerWriters: w, http: &http.Client{}}
	status, _ := one.do(l.t.Context(), step{method: "POST", path: path, body: body})
	return status
}
