package delivery

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
)

// later makes a delivery wait longer than any test.
func later() servertest.Reply {
	return servertest.Reply{Status: 503, Header: http.Header{"Retry-After": {"600"}}}
}

// bySubject replies to the first attempt at a row's delivery what its id begins
// with, and accepts every other.
func bySubject(t *testing.T, hold <-chan struct{}) func(servertest.Received) servertest.Reply {
	t.Helper()
	return func(got servertest.Received) servertest.Reply {
		subject := decode(t, got.Body).Subject
		switch {
		case strings.HasPrefix(subject, "fail"):
			return servertest.Reply{Status: 422}
		case strings.HasPrefix(subject, "wait"):
			return later()
		case strings.HasPrefix(subject, "hold"):
			return servertest.Reply{Until: hold}
		}
		return servertest.Reply{}
	}
}

// seed queues a failed, a waiting and a held delivery for each target, and
// returns those that wait when they do.
func (d desk) seed(s *servertest.Server, targets int) []queued {
	d.t.Helper()
	ann := s.In(d.t).User("ann")
	for _, id := range []string{"hold", "wait", "fail", "pass"} {
		ann.Post("/data/note", `{"id":"`+id+`"}`).Is(201)
	}
	return d.until("seed", func(items []queued) bool {
		return len(items) == 3*targets && allAre(items, func(q queued) bool {
			return q.Status == map[string]string{"hold": "claimed", "wait": "pending", "fail": "failed"}[q.Subject] && (q.Attempts == 1) == (q.Subject != "hold")
		})
	})
}

// Running the queue: pending lists what waits or is stuck, failed first and then
// by age; all that is known of a delivery is shown, but no body. It can be narrowed
// to a target and a status, and read page by page without a hole or a repetition.
func TestPendingListsFailedFirst(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	one, two := servertest.Receive(t), servertest.Receive(t)
	one.ReplyWith(bySubject(t, hold))
	two.ReplyWith(bySubject(t, hold))
	s := open(t, one.Target("one", patient+noteTopic), two.Target("two", patient+noteTopic))
	d := deskOf(t, s)
	items := d.seed(s, 2)
	order := func(items []queued) (rows []string) {
		for _, q := range items {
			rows = append(rows, q.Subject+" "+q.Target)
		}
		return rows
	}
	inOrder := func(a, b queued) int {
		if (a.Status == "failed") != (b.Status == "failed") {
			return map[bool]int{true: -1, false: 1}[a.Status == "failed"]
		}
		return strings.Compare(a.ID, b.ID)
	}
	if !slices.IsSortedFunc(items, inOrder) || items[0].Status != "failed" || items[1].Status != "failed" || items[2].Subject != "hold" {
		t.Errorf("listed %v", order(items))
	}
	for _, q := range items {
		if q.Topic != "entity.note" || q.Event != "entity.create" || q.Tenant != servertest.Tenant || q.Entity != "note" ||
			q.Created.IsZero() || (q.NextAt != nil) != (q.Status == "pending") {
			t.Errorf("shown as %+v", q)
		}
	}
	if body := d.Get(events + "pending").Is(200).Body; strings.Contains(body, "body") {
		t.Errorf("bodies are shown: %s", body)
	}
	var paged []queued
	for next := ""; ; {
		page, further := d.page("limit=2" + next)
		paged = append(paged, page...)
		if further == "" {
			break
		}
		next = "&cursor=" + further
	}
	if !slices.Equal(order(paged), order(items)) {
		t.Errorf("page by page %v, at once %v", order(paged), order(items))
	}
	narrowed, _ := d.page("target=two&status=failed")
	if !slices.Equal(order(narrowed), []string{"fail two"}) {
		t.Errorf("narrowed: %v", order(narrowed))
	}
	for query, code := range map[string]string{
		"status=done": "bad_parameter", "limit=0": "bad_parameter", "limit=101": "bad_parameter", "targt=one": "bad_parameter", "cursor=x": "invalid_cursor",
	} {
		d.Get(events+"pending?"+query).Problem(400, code)
	}
	d.Get(events+"pending?target=three").Problem(404, "target_not_found")
}

// Running the queue: stats has the depth by status, this instance's counters and
// the declared targets; a delivery in flight is counted as such.
func TestStatsCountTheQueue(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	defer close(hold)
	one, two := servertest.Receive(t), servertest.Receive(t)
	one.ReplyWith(bySubject(t, hold))
	s := open(t, one.Target("one", patient+noteTopic), two.Target("two", "topics: [ticket.large]"))
	d := deskOf(t, s)
	d.seed(s, 1)
	got := d.settled(3)
	if want := (depth{1, 1, 1}); got.Depth != want || got.OldestDue == nil || !got.OldestDue.After(time.Now()) {
		t.Errorf("depth %+v, want %+v; oldest due %v", got.Depth, want, got.OldestDue)
	}
	if c := got.Counters; c.Delivered != 1 || c.Retried != 1 || c.Failed != 1 || c.LeaseLost != 0 || c.Attempted != 3 {
		t.Errorf("counters %+v", c)
	}
	if len(got.Targets) != 2 || got.Targets[0].Depth != got.Depth || got.Targets[1].Depth != (depth{}) ||
		got.Targets[0].Breaker != "closed" || len(got.Undeclared) != 0 {
		t.Errorf("targets %+v", got.Targets)
	}
	for series, want := range map[string]float64{
		`rowcast_delivery_attempts_total{outcome="delivered"`: 1, `rowcast_delivery_attempts_total{outcome="retried"`: 1,
		`rowcast_delivery_attempts_total{outcome="failed"`: 1, "rowcast_deliveries_inflight": 1, "rowcast_deliveries": 3,
		`rowcast_deliveries{status="failed"`: 1, `rowcast_deliveries{status="pending"`: 1, `rowcast_deliveries{status="claimed"`: 1,
	} {
		d.metric(s, series, want)
	}
}

// Running the queue: requeue moves failed deliveries only. One that is pending
// would lose its backoff, one that is claimed is in flight, and what was delivered,
// or never there, is unknown; each is told why. What is put back begins its
// attempts again and comes under the same id, with the same body.
func TestRequeueMovesFailedOnesOnly(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	r := servertest.Receive(t)
	r.ReplyWith(bySubject(t, hold))
	s := open(t, r.Target("billing", patient+noteTopic))
	d := deskOf(t, s)
	items := d.seed(s, 1)
	failed, held, waits := items[0], items[1], items[2]
	done := r.Await(4)[slices.IndexFunc(r.All(), func(got servertest.Received) bool { return decode(t, got.Body).Subject == "pass" })]
	nowhere := queued{ID: "U01M2P1R18V26CMVBZ1DC0AS1Z1"}
	r.Reply() // all are accepted from now on
	m := d.requeue(idsOf(failed, waits, held, queued{ID: done.ID}, nowhere))
	reasons := map[string]string{}
	for _, skipped := range m.Skipped {
		reasons[skipped.ID] = skipped.Reason
	}
	want := map[string]string{waits.ID: "pending", held.ID: "claimed", done.ID: "unknown", nowhere.ID: "unknown"}
	if !slices.Equal(m.Requeued, []string{failed.ID}) || fmt.Sprint(reasons) != fmt.Sprint(want) {
		t.Errorf("requeued %v, left %v, want %v", m.Requeued, reasons, want)
	}
	if still := d.find(waits.ID); still.Attempts != 1 || !still.NextAt.Equal(*waits.NextAt) {
		t.Errorf("it waited until %s, now until %s after %d attempts", waits.NextAt, still.NextAt, still.Attempts)
	}
	log := d.logged(failed.ID, 2)
	if log[0].Outcome != "failed" || log[1].Outcome != "delivered" || log[1].Number != 1 {
		t.Errorf("its attempts: %+v", log)
	}
	close(hold)
	d.until("the waiting one alone", func(items []queued) bool { return len(items) == 1 && items[0].ID == waits.ID })
}

// Running the queue: failed deliveries of a target can be put back by when they
// were queued, others' stay; drain attempts what is due, and says what became of it.
func TestRequeueByTimeAndDrain(t *testing.T) {
	t.Parallel()
	one, two := servertest.Receive(t, servertest.Replies(400)...), servertest.Receive(t, servertest.Replies(400)...)
	s := open(t, one.Target("one", patient+noteTopic), two.Target("two", patient+noteTopic))
	d, ann := deskOf(t, s), s.User("ann")
	for _, id := range []string{"a", "b", "c"} {
		ann.Post("/data/note", `{"id":"`+id+`"}`).Is(201)
	}
	items := d.failed(6)
	of := func(target, subject string) queued {
		return items[slices.IndexFunc(items, func(q queued) bool { return q.Target == target && q.Subject == subject })]
	}
	one.Reply(servertest.Replies(200)...)
	at := func(q queued) string { return q.Created.Format(time.RFC3339Nano) }
	m := d.requeue(`{"target":"one","since":"` + at(of("one", "b")) + `","until":"` + at(of("one", "c")) + `"}`)
	if !slices.Equal(m.Requeued, []string{of("one", "b").ID}) || len(m.Skipped) != 0 || m.More {
		t.Errorf("from b until before c: %+v, want %s", m, of("one", "b").ID)
	}
	d.failed(5)
	if m := d.requeue(`{"target":"one"}`); len(m.Requeued) != 2 {
		t.Errorf("all others of the target: %+v", m)
	}
	d.failed(3)
	if got := len(two.All()); got != 3 {
		t.Errorf("the other target was sent %d, want 3", got)
	}
	for body, field := range map[string]string{
		`{}`: "target", `{"ids":[]}`: "ids", `{"ids":["x"]}`: "ids[0]", `{"ids":["U01M2P1R18V26CMVBZ1DC0AS1Z1"],"target":"one"}`: "target",
		`{"target":"one","since":"yesterday"}`: "since", `{"tarqet":"one"}`: "tarqet",
	} {
		if p := d.Post(events+"requeue", body).Problem(422, "invalid"); !slices.ContainsFunc(p.Errors, func(e struct{ Field, Code, Detail string }) bool { return e.Field == field }) {
			t.Errorf("%s: %+v does not name %s", body, p.Errors, field)
		}
	}
	d.Post(events+"requeue", `{"target":"three"}`).Problem(404, "target_not_found")
	d.Post(events+"requeue", `{"target":`).Problem(400, "malformed_body")
}

// Running the queue: drain attempts what is due now and answers when it is known
// what came of it; what is not due keeps its wait.
func TestDrainAttemptsWhatIsDue(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t)
	r.ReplyWith(bySubject(t, nil))
	s := servertest.Start(t, servertest.Options{Schema: market, Targets: []string{r.Target("billing", patient+noteTopic)}, Boot: "scheduler: {outbox: {every: 1h}}\n"})
	d, ann := deskOf(t, s), s.User("ann")
	for _, id := range []string{"wait", "fail-1", "fail-2", "pass"} {
		ann.Post("/data/note", `{"id":"`+id+`"}`).Is(201)
	}
	items := d.until("three", func(items []queued) bool {
		return len(items) == 3 && allAre(items, func(q queued) bool { return q.Attempts == 1 && q.Status != "claimed" })
	})
	r.Reply()
	d.putBack(items[:2]...)
	got := read[struct {
		Attempted, Delivered, Retried, Failed int
		More                                  bool
	}](t, d.Post(events+"drain", ""))
	if got.Delivered != got.Attempted || got.Attempted > 2 || got.Retried+got.Failed != 0 || got.More {
		t.Errorf("drained %+v", got)
	}
	d.until("the waiting one alone", func(items []queued) bool {
		return len(items) == 1 && items[0].Subject == "wait" && items[0].Attempts == 1
	})
	if after := d.settled(6).Counters; after.Delivered != 3 || after.Attempted != 6 {
		t.Errorf("counters %+v", after)
	}
}

// Beyond the contract: skip removes failed and waiting deliveries for good, not
// those in flight; a test event is signed, marked as such, in no queue and counted
// nowhere, and what the target answered is told.
func TestSkipAndTest(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	r := servertest.Receive(t)
	r.ReplyWith(bySubject(t, hold))
	s := open(t, r.Target("billing", patient+noteTopic))
	d := deskOf(t, s)
	items := d.seed(s, 1)
	m := d.skip(items...)
	slices.Sort(m.Removed)
	want := []string{items[0].ID, items[2].ID}
	slices.Sort(want)
	if !slices.Equal(m.Removed, want) || len(m.Skipped) != 1 || m.Skipped[0].ID != items[1].ID || m.Skipped[0].Reason != "claimed" {
		t.Errorf("skipped: %+v", m)
	}
	if again := d.skip(items[0]); len(again.Removed) != 0 || len(again.Skipped) != 1 || again.Skipped[0].Reason != "unknown" {
		t.Errorf("a second time: %+v", again)
	}
	close(hold)
	d.idle()
	before, came := d.settled(4).Counters, len(r.All())
	if before.Attempted != 4 {
		t.Errorf("%d attempts, want 4: none of what was skipped", before.Attempted)
	}
	for i, status := range []int{200, 418} {
		r.Reply(servertest.Replies(status)...)
		tested := read[struct {
			Target   string
			Accepted bool
			Status   int
			Error    *string
		}](t, d.Post(events+"test", `{"target":"billing"}`))
		if tested.Target != "billing" || tested.Accepted != (status == 200) || tested.Status != status || (tested.Error != nil) != (status != 200) {
			t.Errorf("tested: %+v", tested)
		}
		got := r.Await(came + i + 1)[came+i]
		if body := decode(t, got.Body); got.Event != "rowcast.test" || got.Topic != "rowcast.test" || body.Type != "rowcast.test" || body.Tenant != servertest.Tenant || got.Err != nil {
			t.Errorf("the test event is %s of %s: %s", got.Event, got.Topic, got.Body)
		}
	}
	if after := d.stats(); after.Counters != before || after.Depth != (depth{}) {
		t.Errorf("a test event counts: %+v", after)
	}
	if p := d.Post(events+"test", `{"target":"nobody"}`).Problem(404, "target_not_found"); !slices.Equal(p.Available, []string{"billing"}) {
		t.Errorf("there are %v", p.Available)
	}
}
