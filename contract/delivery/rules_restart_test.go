package delivery

import (
	"slices"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// Durable delivery: the queue outlives the request, the process and the
// connection. What waits, and what is in flight, when a server is stopped in order
// is given back, and comes after the next start; what failed waits on; and none of
// it has lost its id, its body or its attempts.
func TestAnOrderlyStopGivesDeliveriesBack(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	r := servertest.Receive(t)
	r.ReplyWith(bySubject(t, hold))
	s := servertest.StartProcess(t, servertest.Options{Schema: market, Targets: []string{r.Target("billing", patient+noteTopic)}})
	d := deskOf(t, s)
	items := d.seed(s, 1)
	before := r.All()
	s.Stop()
	r.Reply()
	close(hold)
	s.Start()
	d = deskOf(t, s)
	after := d.until("the failed and the waiting one", func(items []queued) bool {
		return len(items) == 2 && items[0].Subject == "fail" && items[1].Subject == "wait"
	})
	if after[0].Attempts != 1 || after[0].why() != items[0].why() || after[1].Attempts != 1 || !after[1].NextAt.Equal(*items[2].NextAt) {
		t.Errorf("after the restart there wait%s", describe(after))
	}
	all := r.All()
	held := all[slices.IndexFunc(all, func(got servertest.Received) bool { return got.ID == items[1].ID })]
	if last := all[len(all)-1]; len(all) != len(before)+1 || last.ID != held.ID || string(last.Body) != string(held.Body) {
		t.Errorf("after %s came %s", bodies(before), bodies(all[len(before):]))
	}
	if log := d.attempts(items[1].ID); len(log) != 1 || log[0].Number != 1 || log[0].Outcome != "delivered" {
		t.Errorf("what was cut short counts as an attempt: %+v", log)
	}
	d.putBack(after[0])
	d.until("the waiting one alone", func(items []queued) bool { return len(items) == 1 && items[0].Subject == "wait" })
}

// A process that is killed loses no delivery: what it held comes again from the
// next one, at the latest when its lease has run out, and what was accepted does not.
func TestAKilledProcessLosesNoDelivery(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	r := servertest.Receive(t)
	r.ReplyWith(bySubject(t, hold))
	s := servertest.StartProcess(t, servertest.Options{Schema: market, Targets: []string{r.Target("billing", patient+noteTopic)}})
	items := deskOf(t, s).seed(s, 1)
	came := len(r.All())
	s.Kill()
	r.Reply()
	close(hold)
	s.Start()
	last := r.Await(came + 1)[came]
	if last.ID != items[1].ID {
		t.Errorf("then came %s, want the one that was in flight, %s", last.ID, items[1].ID)
	}
	s.User("ann").Post("/data/note", `{"id":"next"}`).Is(201)
	deskOf(t, s).until("the failed and the waiting one", func(items []queued) bool {
		return len(items) == 2 && items[0].Subject == "fail" && items[1].Subject == "wait" && items[1].Attempts == 1
	})
	if all := r.All(); len(all) != came+2 || decode(t, all[came+1].Body).Subject != "next" {
		t.Errorf("then came %s", bodies(all[came:]))
	}
}

// Beyond the contract: what waits for a target that the boot document declares no
// more becomes failed, target_not_declared, and nothing of it is sent. It is not
// requeued as long as that is so; once the target is declared again it is.
func TestWhatWaitsForATargetThatIsGone(t *testing.T) {
	t.Parallel()
	gone, other := servertest.Receive(t, later()), servertest.Receive(t)
	targets := []string{gone.Target("gone", noteTopic), other.Target("other", noteTopic)}
	s := open(t, targets...)
	s.User("ann").Post("/data/note", `{"id":"a"}`).Is(201)
	deskOf(t, s).until("a wait", func(items []queued) bool {
		return len(items) == 1 && items[0].Attempts == 1 && items[0].Status == "pending"
	})
	s.Stop()
	s.Retarget(targets[1])
	s.Start()
	d := deskOf(t, s)
	q := d.failed(1)[0]
	if q.why() != "target_not_declared" || q.Target != "gone" || q.NextAt != nil {
		t.Errorf("there waits%s", describe([]queued{q}))
	}
	if got := d.stats(); len(got.Targets) != 1 || len(got.Undeclared) != 1 || got.Undeclared[0].Name != "gone" || got.Undeclared[0].Depth != (depth{Failed: 1}) {
		t.Errorf("stats: %+v", got)
	}
	if m := d.requeue(idsOf(q)); len(m.Requeued) != 0 || len(m.Skipped) != 1 || m.Skipped[0].Reason != "target_not_declared" {
		t.Errorf("requeued: %+v", m)
	}
	s.User("ann").Post("/data/note", `{"id":"b"}`).Is(201)
	other.Await(2)
	gone.Reply()
	s.Stop()
	s.Retarget(targets...)
	s.Start()
	d = deskOf(t, s)
	d.failed(1)
	d.putBack(q)
	d.idle()
	if all := gone.All(); len(all) != 2 || all[0].ID != all[1].ID || string(all[0].Body) != string(all[1].Body) {
		t.Errorf("the target that was gone got %s", bodies(all))
	}
}

// Running the queue: an instance sends at once what a write has queued, and
// retries in time, however rarely the scheduler has its turn.
func TestTheSchedulerIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t, servertest.Replies(500, 200)...)
	ordered := servertest.Receive(t, servertest.Replies(500, 200)...)
	s := servertest.Start(t, servertest.Options{
		Schema: market, Boot: "scheduler: {outbox: {every: 1h}}\n",
		Targets: []string{r.Target("billing", patient+noteTopic), ordered.Target("ordered", noteTopic+", order: row")},
	})
	ann := s.User("ann")
	ann.Post("/data/note", `{"id":"a"}`).Is(201)
	ann.Patch("/data/note/a", `{"text":"x"}`).Is(200)
	deskOf(t, s).idle()
	if n, m := len(r.All()), len(ordered.All()); n != 3 || m != 3 {
		t.Errorf("%d and %d requests for two events and one retry each", n, m)
	}
}
