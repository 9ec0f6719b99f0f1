package delivery

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/servertest"
	"github.com/rowcast/rowcast/webhook"
)

const orders = "topics: [entity.order]"

// decoded is a body.
type decoded struct {
	ID, Type, Entity, Operation, Subject, Tenant string
	Time                                         time.Time
	Data                                         map[string]any
}

func decode(t *testing.T, body []byte) (d decoded) {
	t.Helper()
	if err := json.Unmarshal(body, &d); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return d
}

// What a receiver gets: a POST of the event, in the shape of a frame, under the
// headers that name and sign it.
func TestACommittedWriteArrivesSigned(t *testing.T) {
	r := servertest.Receive(t)
	s := serve(t, r.Target("billing", orders+`, headers: {Authorization: "Bearer 42"}`))
	id := s.User("ann").Post("/data/order", `{"title":"lamp"}`).Is(201).ID()
	got := r.Await(1)[0]
	if got.Method != http.MethodPost || got.Path != "/hooks" || got.Header.Get("Content-Type") != "application/json" || got.Header.Get("Authorization") != "Bearer 42" {
		t.Errorf("%s %s %v", got.Method, got.Path, got.Header)
	}
	if len(got.ID) != 27 || got.ID[0] != 'U' || got.Topic != "entity.order" || got.Event != "entity.create" {
		t.Errorf("delivery %q of %q, event %q", got.ID, got.Topic, got.Event)
	}
	seconds, err := strconv.ParseInt(got.Header.Get(webhook.HeaderTimestamp), 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age < -time.Minute || age > 5*time.Minute {
		t.Errorf("signed at %d: %v", seconds, err)
	}
	if want := webhook.Sign(servertest.ReceiverSecret, got.Header.Get(webhook.HeaderTimestamp), got.Body); got.Header.Get(webhook.HeaderSignature) != want {
		t.Errorf("signature %s, want %s", got.Header.Get(webhook.HeaderSignature), want)
	}
	ev := decode(t, got.Body)
	if ev.Type != "entity.create" || ev.Entity != "order" || ev.Operation != "create" || ev.Subject != id || ev.Tenant != servertest.Tenant || ev.Data != nil {
		t.Errorf("the body is %s", got.Body)
	}
}

// What the guarantee is: a write that rolls back leaves nothing to deliver. What
// was written after it has arrived shows that nothing is still on its way.
func TestAWriteThatRollsBackIsNotDelivered(t *testing.T) {
	r := servertest.Receive(t)
	s := serve(t, r.Target("billing", orders))
	ann := s.User("ann")
	ann.Post("/data/order", `{"title":"first","code":"taken"}`).Is(201)
	ann.Post("/data/order/bulk", `[{"title":"a"},{"title":"b","code":"taken"}]`).Is(409)
	ann.Post("/data/transaction", `{"writes":[{"op":"create","entity":"order","data":{"title":"c"}},{"op":"create","entity":"order","data":{"title":"d","code":"taken"}}]}`).Is(409)
	ann.Post("/data/order", `{"title":"last"}`).Is(201)
	if all := r.Await(2); len(servertest.IDs(all)) != 2 {
		t.Errorf("%d deliveries of two writes", len(all))
	}
}

// Your answer: a 5xx is tried again, under the same id and with the same bytes.
func TestA500IsTriedAgainWithTheSameIDAndBody(t *testing.T) {
	r := servertest.Receive(t, servertest.Replies(500, 200)...)
	s := serve(t, r.Target("billing", orders))
	s.User("ann").Post("/data/order", `{"title":"lamp"}`).Is(201)
	all := r.Await(2)
	first, second := all[0], all[1]
	if first.ID != second.ID || !bytes.Equal(first.Body, second.Body) {
		t.Errorf("%s, then %s:\n%s\n%s", first.ID, second.ID, first.Body, second.Body)
	}
	if wait := second.At.Sub(first.At); wait < 1900*time.Millisecond {
		t.Errorf("tried again after %s, want two seconds", wait)
	}
}

// Beyond the contract: with as a target reads as that principal, under its row
// rules and masks, and is not told of a row it may not see.
func TestATargetWithAsReadsAsThatPrincipal(t *testing.T) {
	r := servertest.Receive(t)
	s := serve(t, r.Target("billing", orders+", as: {id: svc-billing, roles: [billing]}"))
	ann := s.User("ann")
	ann.Post("/data/order", `{"title":"hidden","card":"1111"}`).Is(201)
	ann.Post("/data/order", `{"title":"lamp","card":"4242"}`).Is(201)
	got := r.Await(1)[0]
	if data := decode(t, got.Body).Data; data["title"] != "lamp" || data["card"] != "**42" {
		t.Errorf("got %s", got.Body)
	}
}

// A receiver behind TLS is trusted by the target's own ca.
func TestADeliveryOverTLS(t *testing.T) {
	r := servertest.ReceiveTLS(t)
	s := serve(t, r.Target("billing", orders))
	s.User("ann").Post("/data/order", `{"title":"lamp"}`).Is(201)
	r.Await(1)
}

// What waits while the server is down is delivered when it is back, and what was
// accepted is not delivered again.
func TestDeliveriesSurviveARestart(t *testing.T) {
	r := servertest.Receive(t)
	s := serve(t, r.Target("billing", orders))
	s.User("ann").Post("/data/order", `{"title":"first"}`).Is(201)
	first := r.Await(1)[0]
	delivered(t, s, 1) // a receiver that goes before its answer has arrived is sent it again
	r.Down()
	s.User("ann").Post("/data/order", `{"title":"second"}`).Is(201)
	s.Stop()
	r.Up()
	s.Start()
	all := r.Until("second delivery", func(all []servertest.Received) bool { return len(servertest.IDs(all)) == 2 })
	if last := all[len(all)-1]; last.ID == first.ID || len(all) != 2 {
		t.Errorf("%d requests: %v", len(all), servertest.IDs(all))
	}
}

// A process that ends between commit and delivery delivers when it is back.
func TestADeathAfterTheCommitLosesNoDelivery(t *testing.T) {
	r := servertest.Receive(t)
	s := servertest.StartProcess(t, servertest.Options{Schema: shop, Targets: []string{r.Target("billing", orders)}, Failpoint: "handover.before"})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/data/order", bytes.NewReader([]byte(`{"title":"lamp"}`)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token("ann"))
	req.Header.Set("Content-Type", "application/json")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Errorf("the dead answer %d", resp.StatusCode)
	}
	s.Died()
	if all := r.All(); len(all) != 0 {
		t.Errorf("%d deliveries before the hand-over", len(all))
	}
	s.Start()
	r.Await(1)
}
