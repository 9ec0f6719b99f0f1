package delivery

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rowcast/rowcast/internal/servertest"
)

// routes are those of the queue, with a body that each takes.
var routes = []struct{ method, path, body string }{
	{"GET", "pending", ""}, {"GET", "stats", ""}, {"GET", "attempts?id=U01M2P1R18V26CMVBZ1DC0AS1Z1", ""}, {"POST", "drain", ""},
	{"POST", "requeue", `{"target":"billing"}`}, {"POST", "skip", `{"ids":["U01M2P1R18V26CMVBZ1DC0AS1Z1"]}`}, {"POST", "test", `{"target":"billing"}`},
}

// Running the queue: the routes are for the admin role, whatever they are asked;
// whoever has no credential is told no more. With the session's cookie a change
// must come from the console's own origin.
func TestTheQueueIsForItsOperators(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t)
	s := open(t, r.Target("billing", noteTopic))
	cookie := s.As("").With("Cookie", "rowcast_session="+s.Token("ops", "admin"))
	for _, route := range routes {
		t.Run(route.path, func(t *testing.T) {
			s := s.In(t)
			s.As("").Do(route.method, events+route.path, route.body).Problem(401, "unauthenticated")
			s.User("ann", "billing", "Admin").Do(route.method, events+route.path, route.body).Problem(403, "forbidden")
			s.User("ops", "admin").Do(route.method, events+route.path, route.body).Is(200)
			other := map[string]string{"GET": "POST", "POST": "GET"}[route.method]
			s.User("ops", "admin").Do(other, events+route.path, "").Problem(405, "method_not_allowed")
		})
		t.Run(route.path+" by cookie", func(t *testing.T) {
			for origin, own := range map[string]bool{s.URL: true, "https://evil.example": false, "null": false} {
				caller := cookie.With("Origin", origin)
				if own {
					caller = caller.With("Sec-Fetch-Site", "same-origin")
				} else {
					caller = caller.With("Sec-Fetch-Site", "cross-site")
				}
				a := caller.Do(route.method, events+route.path, route.body)
				if refused := a.Status == 403 && a.Code() == "cross_origin"; refused != (!own && route.method == "POST") {
					t.Errorf("from %s: %d %s", origin, a.Status, a.Body)
				}
			}
		})
	}
}

// Two tenants deliver to the same target each what is its own, under its own
// name. An operator sees and moves the deliveries of his tenant, and to him those
// of another are not there.
func TestTenantsDeliverApart(t *testing.T) {
	t.Parallel()
	const other = "acme:test:shop:t2"
	r := servertest.Receive(t, servertest.Replies(400)...)
	s := servertest.Start(t, servertest.Options{Schema: market, Tenants: map[string]string{other: market}, Targets: []string{r.Target("billing", noteTopic)}})
	s.User("ann").Post("/data/note", `{"id":"one"}`).Is(201)
	s.As(s.TokenOf(other, "ann")).Post("/data/note", `{"id":"two"}`).Is(201)
	mine, theirs := deskOf(t, s), desk{s.As(s.TokenOf(other, "ops", "admin")), t}
	own, foreign := mine.failed(1)[0], theirs.failed(1)[0]
	for _, c := range []struct{ q, want queued }{
		{own, queued{Subject: "one", Tenant: servertest.Tenant}}, {foreign, queued{Subject: "two", Tenant: other}},
	} {
		if c.q.Subject != c.want.Subject || c.q.Tenant != c.want.Tenant {
			t.Errorf("listed %s of %s, want %s of %s", c.q.Subject, c.q.Tenant, c.want.Subject, c.want.Tenant)
		}
	}
	for _, got := range r.Await(2) {
		ev := decode(t, got.Body)
		if want := map[string]string{"one": servertest.Tenant, "two": other}[ev.Subject]; ev.Tenant != want {
			t.Errorf("%s came as of %s", ev.Subject, ev.Tenant)
		}
	}
	r.Reply()
	if m := mine.requeue(idsOf(foreign)); len(m.Requeued) != 0 || len(m.Skipped) != 1 || m.Skipped[0].Reason != "unknown" {
		t.Errorf("requeued another tenant's: %+v", m)
	}
	if m := mine.skip(foreign); len(m.Removed) != 0 || len(m.Skipped) != 1 || m.Skipped[0].Reason != "unknown" {
		t.Errorf("skipped another tenant's: %+v", m)
	}
	if log := mine.attempts(foreign.ID); len(log) != 0 {
		t.Errorf("shown another tenant's attempts: %+v", log)
	}
	if m := mine.requeue(`{"target":"billing"}`); !slices.Equal(m.Requeued, []string{own.ID}) {
		t.Errorf("of the target were requeued %v, want %s alone", m.Requeued, own.ID)
	}
	mine.idle()
	if c := mine.settled(2); c.Counters.Attempted != 2 || c.Counters.Delivered != 1 || c.Depth != (depth{}) {
		t.Errorf("this tenant's stats: %+v", c)
	}
	if c := theirs.settled(1); c.Counters.Attempted != 1 || c.Counters.Delivered != 0 || c.Depth.Failed != 1 {
		t.Errorf("the other's stats: %+v", c)
	}
}

// command runs rowcast deliveries against a server.
func (d desk) command(s *servertest.Server, token string, args ...string) (out, complaint string, status int) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), receiving)
	defer cancel()
	cmd := exec.CommandContext(ctx, servertest.Binary(d.t), append([]string{"deliveries", "--url", s.URL}, args...)...) // #nosec G204 -- the command of this tree
	cmd.Env = append(cmd.Environ(), "ROWCAST_TOKEN="+token)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		d.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// The command line does what the routes do: each command says what it did, and
// fails where something was left as it is.
func TestTheCommandsOfTheQueue(t *testing.T) {
	t.Parallel()
	r := servertest.Receive(t)
	r.ReplyWith(bySubject(t, nil))
	s := open(t, r.Target("billing", noteTopic))
	d, ann, token := deskOf(t, s), s.User("ann"), s.Token("ops", "admin")
	for _, id := range []string{"wait", "fail-1", "fail-2", "pass"} {
		ann.Post("/data/note", `{"id":"`+id+`"}`).Is(201)
	}
	items := d.until("three", func(items []queued) bool {
		return len(items) == 3 && allAre(items, func(q queued) bool { return q.Attempts == 1 && q.Status != "claimed" })
	})
	run := func(want int, says string, args ...string) {
		t.Helper()
		out, complaint, status := d.command(s, token, args...)
		if status != want || !strings.Contains(out+complaint, says) {
			t.Errorf("deliveries %v: status %d, want %d and %q:\n%s%s", args, status, want, says, out, complaint)
		}
	}
	run(0, items[0].ID, "pending", "--status", "failed")
	run(0, "there are more: --cursor", "pending", "--limit", "1")
	run(0, "1 pending, 0 claimed, 2 failed", "stats")
	run(0, "422", "attempts", items[0].ID)
	run(1, "it is pending, and would lose its wait", "requeue", items[2].ID)
	r.Reply()
	run(0, "requeued 1", "requeue", items[0].ID)
	d.logged(items[0].ID, 2)
	run(0, "requeued 1", "requeue", "--target", "billing", "--since", "2h")
	d.logged(items[1].ID, 2)
	run(0, "attempted", "drain")
	run(0, "removed 1", "skip", items[2].ID)
	run(1, "there is none of that id", "skip", items[2].ID)
	run(0, "billing accepted the test event", "test", "billing")
	run(1, `no target "nobody"`, "test", "nobody")
	run(0, "no deliveries wait", "pending")
	if _, complaint, status := d.command(s, s.Token("ann"), "stats"); status != 1 || !strings.Contains(complaint, "--roles") {
		t.Errorf("without the role: status %d: %s", status, complaint)
	}
	if _, complaint, status := d.command(s, "", "stats"); status != 1 || !strings.Contains(complaint, "ROWCAST_TOKEN") {
		t.Errorf("without a token: status %d: %s", status, complaint)
	}
}
