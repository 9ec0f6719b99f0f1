package delivery

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/rowcast/rowcast/internal/pgtest"
	"github.com/rowcast/rowcast/internal/servertest"
)

// takeover is within what time others take over what a dead instance held: its
// lease of 15 s, and 5 s to find that out.
const takeover = 20 * time.Second

// Beyond the contract, on any number of instances: they share the work; none of
// them loses a delivery that dies, stands still past its lease, or stops; what
// one completes whose lease is over counts for nothing.
//
// ROWCAST_CLUSTER sets how long instances are killed (10s).
func TestAFleetLosesNoDelivery(t *testing.T) {
	t.Parallel()
	if servertest.OneWriter() {
		return // a fleet needs a database that instances share
	}
	f := newFleet(t)
	f.step("shared work", f.sharesTheWork)
	f.writers.start(4, nil)
	f.step("kills", f.killAtRandom)
	f.step("lost leases", f.losesTheLease)
	f.step("an orderly stop", f.stopsInOrder)
	f.writers.halt()
	f.step("running dry", func() {
		f.balance(f.one, "in the end")
		f.dry(f.one)
	})
	f.judge(f.one, f.writers)
}

// span is how long instances are killed.
func span(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("ROWCAST_CLUSTER")
	if text == "" {
		return 10 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("ROWCAST_CLUSTER is a duration such as 5m, not %q", text)
	}
	return d
}

// fleet is three instances on one database behind the same targets, each of which
// says in a header which it is.
type fleet struct {
	*books
	database        string
	one, two, three *servertest.Server
	writers         *ledgerWriters
	script          *script // of the healthy target
	rows            int
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{database: pgtest.Database(t), script: newScript()}
	targets := map[string]target{
		"healthy": {servertest.Receive(t), everything, ", timeout: 1m"},
		"moody":   {servertest.Receive(t), items, ""},
		"ordered": {servertest.Receive(t), everything, ", order: row, maxinflight: 2"},
		"biller":  {servertest.Receive(t), notes, ", as: {id: svc-billing, roles: [billing]}"},
	}
	targets["healthy"].ReplyWith(f.script.reply)
	targets["moody"].ReplyWith(moody(0.3))
	for name, s := range map[string]**servertest.Server{"one": &f.one, "two": &f.two, "three": &f.three} {
		*s = servertest.StartProcess(t, servertest.Options{
			Schema: ledgerSchema, Driver: "postgres", Database: f.database, Listen: servertest.FreeAddress(t), Targets: declared(targets, "", name),
		})
	}
	f.books = openBooks(t, f.one, targets)
	f.writers = newWriters(t, 20*time.Millisecond, f.one, f.two, f.three)
	return f
}

func (f *fleet) step(name string, do func()) {
	f.t.Helper()
	began := time.Now()
	do()
	f.t.Logf("%s: after %s", name, time.Since(began).Round(time.Millisecond))
}

// sender is the instance that sent a request.
func sender(got servertest.Received) string { return got.Header.Get("X-Instance") }

// sharesTheWork: all is written at one instance, and no request is answered before
// each instance has sent some. None keeps from the others what it has no hands
// for: they come before the first attempt has run out of time.
func (f *fleet) sharesTheWork() {
	f.t.Helper()
	all := make(chan struct{})
	ordered := f.targets["ordered"]
	ordered.Reply(servertest.Reply{Until: all})
	rows := make([]string, 60)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":"shared-%d","n":0}`, i)
	}
	f.one.User("root", "staff").Post("/data/item/bulk", "["+strings.Join(rows, ",")+"]").Is(201)
	requests := ordered.Until("request of each instance", func(all []servertest.Received) bool {
		senders := map[string]bool{}
		for _, got := range all {
			senders[sender(got)] = true
		}
		return len(senders) == 3
	})
	close(all)
	if again := len(requests) - len(servertest.IDs(requests)); again > 0 {
		f.t.Errorf("before each instance had sent something, %d attempts ran out of time", again)
	}
	ordered.ReplyWith(moody(0.05))
}

// killAtRandom kills instances under load, and starts each again.
func (f *fleet) killAtRandom() {
	f.t.Helper()
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	kills := 0
	for until := time.Now().Add(span(f.t)); time.Now().Before(until); kills++ {
		victim := []*servertest.Server{f.one, f.two, f.three}[rng.IntN(3)]
		servertest.Pass(f.t.Context(), time.Duration(500+rng.IntN(2000))*time.Millisecond)
		victim.Kill()
		servertest.Pass(f.t.Context(), time.Duration(rng.IntN(500))*time.Millisecond)
		victim.Start()
	}
	f.t.Logf("seed %d: %d kills, %d changes acknowledged", seed, kills, f.writers.acknowledged())
}

// holds has an instance send a delivery that is answered as replies say, and
// returns the row it is about. What another instance got hold of does not count.
func (f *fleet) holds(s *servertest.Server, name string, replies ...servertest.Reply) (row string) {
	f.t.Helper()
	for {
		f.rows++
		row = fmt.Sprintf("%s-holds-%d", name, f.rows)
		f.script.about(row, replies...)
		s.User("root", "staff").Post("/data/item", `{"id":"`+row+`","n":0}`).Is(201)
		all := f.targets["healthy"].Until("request about "+row, about(row, 1))
		if sender(only(all, row)[0]) == name {
			return row
		}
	}
}

// losesTheLease: one instance stands still and another is killed, each while a
// delivery that it sent is not answered. The third sends both again, in time. The
// one that stood still then finds its delivery accepted. That is stale: it is
// counted, and the delivery goes on as the third one's, whose attempt failed.
func (f *fleet) losesTheLease() {
	t, healthy := f.t, f.targets["healthy"]
	t.Helper()
	asleep, fail := make(chan struct{}), make(chan struct{})
	row := f.holds(f.two, "two", servertest.Reply{Until: asleep}, servertest.Reply{Status: 500, Until: fail})
	f.two.Pause()
	close(asleep)
	slept := time.Now()
	f.takesOver()
	again := only(healthy.Until("second request about "+row, about(row, 2)), row)[1]
	t.Logf("what one held that stands still was taken over after %s", again.At.Sub(slept).Round(time.Millisecond))
	f.two.Continue()
	f.until(func() bool { return f.two.Metrics().Of("rowcast_delivery_leases_lost_total") > 0 },
		func() string { return "a stale completion is not counted" })
	close(fail)
	healthy.Until("third request about "+row, about(row, 3))
}

// takesOver: what an instance holds that dies is sent by another in time. On a
// machine that is too busy for that it is tried again.
func (f *fleet) takesOver() {
	t := f.t
	t.Helper()
	for range 3 {
		row := f.holds(f.one, "one", servertest.Reply{Until: t.Context().Done()})
		died := time.Now()
		f.one.Kill()
		again := only(f.targets["healthy"].Until("second request about "+row, about(row, 2)), row)[1]
		f.one.Start()
		if sender(again) == "one" {
			t.Errorf("what the dead held was sent by %s", sender(again))
		}
		took := again.At.Sub(died)
		t.Logf("what the dead held was taken over after %s", took.Round(time.Millisecond))
		if took <= takeover {
			return
		}
	}
	t.Errorf("what the dead held was never taken over within %s", takeover)
}

// stopsInOrder: an instance that stops leaves no lease. What it holds and nobody
// answers is free when it has ended, and sent by another.
func (f *fleet) stopsInOrder() {
	t := f.t
	t.Helper()
	row := f.holds(f.three, "three", servertest.Reply{Until: t.Context().Done()})
	owner := f.ask(`SELECT owner FROM t1._rowcast_deliveries WHERE target = 'healthy' AND subject = $1`, row)
	asked := time.Now()
	f.three.Stop()
	ended := time.Now()
	left := f.ask(`SELECT (SELECT count(*) FROM t1._rowcast_deliveries WHERE owner = $1) + (SELECT count(*) FROM t1._rowcast_instances WHERE owner = $1)`, owner)
	if owner == "" || left != "0" {
		t.Errorf("%q, which has stopped, left %s deliveries and registrations", owner, left)
	}
	again := only(f.targets["healthy"].Until("second request about "+row, about(row, 2)), row)[1]
	if sender(again) == "three" {
		t.Error("the instance that stopped sent it again")
	}
	t.Logf("it stopped within %s; what it held was sent %s later", ended.Sub(asked).Round(time.Millisecond), again.At.Sub(ended).Round(time.Millisecond))
	f.three.Start()
}

// ask returns what the database answers, as text.
func (f *fleet) ask(query, arg string) (text string) {
	t := f.t
	t.Helper()
	db, err := pgx.Connect(t.Context(), f.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()
	if err := db.QueryRow(t.Context(), "SELECT ("+query+")::text", arg).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}
