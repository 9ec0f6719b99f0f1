package main_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// operator lets the token "ops" be an admin, and "ann" a caller.
type operator struct{}

func (operator) Authenticate(r *http.Request) (*access.Principal, bool, error) {
	p, err := operator{}.Verify(r.Context(), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	return p, false, err
}

func (operator) Verify(_ context.Context, token string) (*access.Principal, error) {
	switch token {
	case "ops":
		return &access.Principal{ID: "ops", Tenant: "t1", Roles: []string{"admin"}}, nil
	case "ann":
		return &access.Principal{ID: "ann", Tenant: "t1"}, nil
	}
	return nil, fault.New(fault.Unauthenticated, "no credential that verifies")
}

type noEngine struct{}

func (noEngine) Unit(string, string) (*engine.Engine, bool) { return nil, false }

// relay answers with what it holds, and notes what it was asked.
type relay struct {
	admin.Relay
	list     []*store.Delivery
	filter   store.DeliveryFilter
	attempts []store.Attempt
	requeued []store.Requeue
	moved    []store.Moved // an answer each
	skipped  []string
	drained  []outbox.Drained // an answer each; all but the last come late
	result   post.Result
}

func (r *relay) List(_ context.Context, f store.DeliveryFilter) ([]*store.Delivery, error) {
	r.filter = f
	return r.list[:min(len(r.list), f.Limit)], nil
}

func (r *relay) Attempts(context.Context, string) ([]store.Attempt, error) { return r.attempts, nil }

func (r *relay) Requeue(_ context.Context, q store.Requeue) (m store.Moved, _ error) {
	r.requeued = append(r.requeued, q)
	m, r.moved = r.moved[0], r.moved[1:]
	return m, nil
}

func (r *relay) Skip(_ context.Context, ids []string) (m store.Moved, _ error) {
	r.skipped = ids
	m, r.moved = r.moved[0], r.moved[1:]
	return m, nil
}

func (r *relay) Drain(ctx context.Context) (d outbox.Drained, _ error) {
	d, r.drained = r.drained[0], r.drained[1:]
	if len(r.drained) > 0 {
		<-ctx.Done()
		return d, ctx.Err()
	}
	return d, nil
}

func (r *relay) Test(_ context.Context, target string) (post.Result, error) {
	if target != "billing" {
		return post.Result{}, outbox.ErrNoTarget
	}
	return r.result, nil
}

func (r *relay) Stats(context.Context) (outbox.Stats, error) {
	return outbox.Stats{
		Depths:   []store.Depth{{Target: "billing", Pending: 12, Failed: 3, Blocked: 2, OldestDue: queuedAt}, {Target: "gone", Failed: 7}},
		Counters: outbox.Counters{Counts: outbox.Counts{Attempted: 9, Delivered: 4, Retried: 3, Failed: 2, LeaseLost: 1}},
		Targets:  r.Targets(),
	}, nil
}

func (*relay) Targets() []outbox.TargetStats {
	return []outbox.TargetStats{{
		Target: outbox.Target{Name: "billing", URL: "https://receiver.example/hooks", Timeout: 10 * time.Second}, InFlight: 1, Breaker: "open",
	}}
}

var queuedAt = time.Date(2026, 9, 17, 2, 25, 12, 0, time.UTC)

func deliveryNumber(n int) string { return fmt.Sprintf("U01M2P1R18V26CMVBZ1DC%06d", n) }

// counter serves r; the address, with the flags that an operator gives.
func counter(t *testing.T, r *relay) []string {
	t.Helper()
	routes := admin.Routes(admin.Config{
		Metrics: admin.NewMetrics(func() []admin.Unit { return nil }),
		Outboxes: func(tenant string) []admin.Outbox {
			return []admin.Outbox{{Tenant: tenant, Datastore: "main", Relay: r}}
		},
		DrainTime: 50 * time.Millisecond,
	})
	h, err := httpapi.New(httpapi.Config{Auth: operator{}, Tenants: noEngine{}, Routes: routes})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return []string{"--url", server.URL, "--token", "ops"}
}

// deliveries runs a command line against r.
func deliveries(t *testing.T, r *relay, args ...string) result {
	t.Helper()
	return run(t, append(append([]string{"deliveries"}, args...), counter(t, r)...)...)
}

func TestDeliveriesPending(t *testing.T) {
	r := &relay{list: []*store.Delivery{
		{
			ID: deliveryNumber(1), Target: "billing", Event: "entity.create", Entity: "order", Subject: "7", Status: store.Failed, Attempts: 12,
			LastStatus: 503, LastError: "503 \x1b[2JService\tUnavailable", Created: queuedAt,
		},
		{ID: deliveryNumber(2), Target: "billing", Event: "entity.update", Entity: "order", Subject: "7", Status: store.Pending, Due: queuedAt},
		{ID: deliveryNumber(3), Target: "billing", Status: store.Pending},
	}}
	got := deliveries(t, r, "pending", "--limit", "2", "--target", "billing", "--status", "pending")
	want := `ID                           TARGET   STATUS   ATTEMPTS  NEXT                  EVENT          ROW      LAST ERROR
U01M2P1R18V26CMVBZ1DC000001  billing  failed   12        -                     entity.create  order 7  503 ?[2JService?Unavailable
U01M2P1R18V26CMVBZ1DC000002  billing  pending  0         2026-09-17T02:25:12Z  entity.update  order 7  -
`
	if got.status != 0 || got.stdout != want || !strings.HasPrefix(got.stderr, "there are more: --cursor ") {
		t.Errorf("got %d\n%s%s\nwant\n%s", got.status, got.stdout, got.stderr, want)
	}
	if r.filter.Target != "billing" || r.filter.Status != store.Pending {
		t.Errorf("asked for %+v", r.filter)
	}
	cursor := strings.TrimSpace(strings.TrimPrefix(got.stderr, "there are more: --cursor "))
	if got := deliveries(t, r, "pending", "--target", "billing", "--status", "pending", "--cursor", cursor); got.status != 0 || r.filter.After != deliveryNumber(2) || !r.filter.AfterLive {
		t.Errorf("with the cursor: %+v, asked for %+v", got, r.filter)
	}
	if got := deliveries(t, &relay{}, "pending"); got != (result{"", "no deliveries wait\n", 0}) {
		t.Errorf("of none: %+v", got)
	}
}

func TestDeliveriesStats(t *testing.T) {
	want := `queue: 12 pending, 0 claimed, 10 failed; oldest due 2026-09-17T02:25:12Z
this instance: 9 attempted, 4 delivered, 3 retried, 2 failed, 1 leases lost
TARGET   PENDING  CLAIMED  FAILED  BLOCKED  IN FLIGHT  BREAKER  TIMEOUT  URL
billing  12       0        3       2        1          open     10s      https://receiver.example/hooks
gone     0        0        7       -        -          -        -        not declared
`
	if got := deliveries(t, &relay{}, "stats"); got != (result{want, "", 0}) {
		t.Errorf("got %d\n%s%s", got.status, got.stdout, got.stderr)
	}
}

func TestDeliveriesAttempts(t *testing.T) {
	r := &relay{attempts: []store.Attempt{
		{Number: 1, At: queuedAt, Took: 10 * time.Second, Error: "timeout", Outcome: store.Retried},
		{Number: 2, At: queuedAt.Add(12 * time.Second), Took: 31 * time.Millisecond, Status: 204, Outcome: store.Delivered},
	}}
	want := `NUMBER  AT                    TOOK  STATUS  OUTCOME    ERROR
1       2026-09-17T02:25:12Z  10s   -       retried    timeout
2       2026-09-17T02:25:24Z  31ms  204     delivered  -
`
	if got := deliveries(t, r, "attempts", deliveryNumber(1)); got != (result{want, "", 0}) {
		t.Errorf("got %d\n%s%s", got.status, got.stdout, got.stderr)
	}
	if got := deliveries(t, &relay{}, "attempts", deliveryNumber(1)); got.status != 0 || got.stdout != "" || !strings.HasPrefix(got.stderr, "no attempt is logged") {
		t.Errorf("of none: %+v", got)
	}
}

func TestDeliveriesDrainGoesOnUntilAllIsAttempted(t *testing.T) {
	answers := []outbox.Drained{{Attempted: 5, Delivered: 3, Retried: 2}, {Attempted: 2, Delivered: 1, Failed: 1}}
	want := result{"7 attempted: 4 delivered, 2 to be retried, 1 failed\n", "5 attempted so far\n", 0}
	if got := deliveries(t, &relay{drained: answers}, "drain"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wantJSON := `{"attempted":5,"delivered":3,"retried":2,"failed":0,"more":true}` + "\n" + `{"attempted":2,"delivered":1,"retried":0,"failed":1,"more":false}` + "\n"
	if got := deliveries(t, &relay{drained: answers}, "drain", "--json"); got.status != 0 || got.stdout != wantJSON {
		t.Errorf("as JSON: %+v", got)
	}
	// Nothing in half a minute is not gone on with for ever.
	if got := deliveries(t, &relay{drained: make([]outbox.Drained, 3)}, "drain"); got.status != 1 || !strings.Contains(got.stderr, "without an attempt") {
		t.Errorf("without an attempt: %+v", got)
	}
}

func TestDeliveriesRequeue(t *testing.T) {
	one := store.Moved{IDs: []string{deliveryNumber(1)}}
	r := &relay{moved: []store.Moved{one}}
	if got := deliveries(t, r, "requeue", deliveryNumber(1)); got != (result{"requeued 1\n", "", 0}) || r.requeued[0].IDs[0] != deliveryNumber(1) {
		t.Errorf("by id: %+v, asked for %+v", got, r.requeued)
	}
	r = &relay{moved: []store.Moved{{IDs: one.IDs, More: true}, one}}
	got := deliveries(t, r, "requeue", "--target", "billing", "--since", "2026-09-17T02:00:00+02:00", "--until", "1h")
	if got != (result{"requeued 2\n", "1 requeued so far\n", 0}) || len(r.requeued) != 2 {
		t.Fatalf("of a time: %+v, asked for %+v", got, r.requeued)
	}
	asked := r.requeued[1]
	if ago := time.Since(asked.Until); asked.Target != "billing" || !asked.Since.Equal(queuedAt.Truncate(time.Hour).Add(-2*time.Hour)) || ago < time.Hour || ago > 2*time.Hour {
		t.Errorf("asked for %+v", asked)
	}
	r = &relay{moved: []store.Moved{{IDs: one.IDs, Refused: []store.Unmoved{{ID: deliveryNumber(2), Reason: store.ReasonClaimed}}}}}
	got = deliveries(t, r, "requeue", deliveryNumber(1), deliveryNumber(2))
	if want := (result{"requeued 1\n", deliveryNumber(2) + ": it is being sent\nrowcast: 1 left as they are\n", 1}); got != want {
		t.Errorf("of one that is claimed: %+v, want %+v", got, want)
	}
}

func TestDeliveriesSkip(t *testing.T) {
	r := &relay{moved: []store.Moved{{IDs: []string{deliveryNumber(1), deliveryNumber(2)}}}}
	got := deliveries(t, r, "skip", "--json", deliveryNumber(1), deliveryNumber(2))
	if want := fmt.Sprintf(`{"removed":[%q,%q],"skipped":[]}`+"\n", deliveryNumber(1), deliveryNumber(2)); got != (result{want, "", 0}) || len(r.skipped) != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestDeliveriesTest(t *testing.T) {
	r := &relay{result: post.Result{Class: post.Accepted, Status: 204, Took: 31 * time.Millisecond}}
	if got := deliveries(t, r, "test", "billing"); got != (result{"billing accepted the test event: status 204 after 31ms\n", "", 0}) {
		t.Errorf("accepted: %+v", got)
	}
	r.result = post.Result{Class: post.Refuse, Status: 401, Took: time.Millisecond, Error: "401 Unauthorized"}
	if got := deliveries(t, r, "test", "billing"); got != (result{"", "rowcast: billing did not accept the test event, after 1ms: 401 Unauthorized\n", 1}) {
		t.Errorf("refused: %+v", got)
	}
	if got := deliveries(t, r, "test", "biling"); got.status != 1 || !strings.Contains(got.stderr, "target_not_found") || !strings.Contains(got.stderr, "available: billing") {
		t.Errorf("unknown: %+v", got)
	}
}

func TestDeliveriesThatAreRefused(t *testing.T) {
	flags := counter(t, &relay{})
	for _, c := range []struct {
		args   string
		status int
		wants  string
	}{
		{"pending --limit 0", 1, "from 1 to 100"},
		{"pending --status delivered", 1, "available: claimed, failed, pending"},
		{"pending --cursor x", 1, "invalid_cursor"},
		{"stats --token ann", 1, "rowcast token --roles"},
		{"stats --token nobody", 1, "ROWCAST_TOKEN"},
		{"attempts 7", 1, "id must be"},
		{"requeue 7", 1, "ids[0] invalid_value"},
		{"requeue --target biling", 1, "available: billing"},
		{"", 2, "say what to do"},
		{"nothing", 2, "unknown command"},
		{"pending extra", 2, "unknown command"},
		{"attempts", 2, "accepts 1 arg"},
		{"requeue", 2, "requeue --target TARGET"},
		{"requeue --since 1h", 2, "requeue --target TARGET"},
		{"requeue 7 --target billing", 2, "in the place of ids"},
		{"requeue --target billing --since yesterday", 2, "2026-09-17T02:25:12Z"},
		{"requeue --target billing --until -2h", 2, "how long ago"},
		{"skip", 2, "at least 1 arg"},
		{"test", 2, "accepts 1 arg"},
	} {
		// A flag of the case comes last and beats the one before.
		got := run(t, append(append([]string{"deliveries"}, flags...), strings.Fields(c.args)...)...)
		if got.status != c.status || got.stdout != "" || !strings.Contains(got.stderr, c.wants) {
			t.Errorf("%q: %+v, want %d and %q", c.args, got, c.status, c.wants)
		}
	}
}

func TestEveryCommandOfDeliveriesHasHelpWithAnExample(t *testing.T) {
	for _, command := range []string{"", "pending", "stats", "attempts", "drain", "requeue", "skip", "test"} {
		got := run(t, append(strings.Fields("deliveries "+command), "--help")...)
		if got.status != 0 || !strings.Contains(got.stdout, "Examples:\n  ") || got.stderr != "" {
			t.Errorf("%s: status %d\n%s%s", command, got.status, got.stdout, got.stderr)
		}
	}
}
