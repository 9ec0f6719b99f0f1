package admin_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rowcast/rowcast/internal/admin"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// box is a queue in memory, and a relay that sends nothing.
type box struct {
	mu       sync.Mutex
	queue    []*store.Delivery
	attempts []store.Attempt
	stats    outbox.Stats
	drain    func(context.Context) (outbox.Drained, error)
	answer   post.Result
	fault    error

	uncounted error // of Stats alone: the queue is too long to be counted
}

func (b *box) List(_ context.Context, f store.DeliveryFilter) (found []*store.Delivery, _ error) {
	order := func(live bool, id string) string {
		if live {
			return "1" + id
		}
		return "0" + id
	}
	place := func(d *store.Delivery) string { return order(d.Status != store.Failed, d.ID) }
	for _, d := range b.queue {
		if (f.Target == "" || f.Target == d.Target) && (f.Status == 0 || f.Status == d.Status) && (f.After == "" || place(d) > order(f.AfterLive, f.After)) {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b *store.Delivery) int { return cmp.Compare(place(a), place(b)) })
	return found[:min(len(found), f.Limit)], b.fault
}

func (b *box) Attempts(_ context.Context, id string) (found []store.Attempt, _ error) {
	for _, a := range b.attempts {
		if a.Delivery == id {
			found = append(found, a)
		}
	}
	return found, b.fault
}

func (b *box) find(id string) *store.Delivery {
	for _, d := range b.queue {
		if d.ID == id {
			return d
		}
	}
	return nil
}

func (b *box) Requeue(_ context.Context, r store.Requeue) (m store.Moved, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range r.IDs {
		switch d := b.find(id); {
		case d == nil:
			m.Refused = append(m.Refused, store.Unmoved{ID: id, Reason: store.ReasonUnknown})
		case d.Status == store.Pending:
			m.Refused = append(m.Refused, store.Unmoved{ID: id, Reason: store.ReasonPending})
		case d.Status == store.Claimed:
			m.Refused = append(m.Refused, store.Unmoved{ID: id, Reason: store.ReasonClaimed})
		default:
			d.Status = store.Pending
			m.IDs = append(m.IDs, id)
		}
	}
	for _, d := range b.queue {
		if r.IDs != nil || d.Target != r.Target || d.Status != store.Failed ||
			d.Created.Before(r.Since) || !r.Until.IsZero() && !d.Created.Before(r.Until) {
			continue
		}
		if len(m.IDs) == r.Limit {
			m.More = true
			break
		}
		d.Status = store.Pending
		m.IDs = append(m.IDs, d.ID)
	}
	return m, b.fault
}

func (b *box) Skip(_ context.Context, ids []string) (m store.Moved, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range ids {
		switch d := b.find(id); {
		case d == nil:
			m.Refused = append(m.Refused, store.Unmoved{ID: id, Reason: store.ReasonUnknown})
		case d.Status == store.Claimed:
			m.Refused = append(m.Refused, store.Unmoved{ID: id, Reason: store.ReasonClaimed})
		default:
			b.queue = slices.DeleteFunc(b.queue, func(d *store.Delivery) bool { return d.ID == id })
			m.IDs = append(m.IDs, id)
		}
	}
	return m, b.fault
}

func (b *box) Drain(ctx context.Context) (outbox.Drained, error) {
	if b.drain == nil {
		return outbox.Drained{}, b.fault
	}
	return b.drain(ctx)
}

func (b *box) Test(_ context.Context, target string) (post.Result, error) {
	for _, t := range b.stats.Targets {
		if t.Name == target {
			return b.answer, b.fault
		}
	}
	return post.Result{}, fmt.Errorf("test: %w", outbox.ErrNoTarget)
}

func (b *box) Stats(context.Context) (outbox.Stats, error) {
	return b.stats, cmp.Or(b.fault, b.uncounted)
}

func (b *box) Targets() []outbox.TargetStats { return b.stats.Targets }

// uid is the id of a delivery: the higher n, the younger.
func uid(n int) string { return fmt.Sprintf("U01M2P1R18V26CMVBZ1DC%06d", n) }

// queued is a delivery of the order n, queued n seconds after since.
func queued(n int, status store.DeliveryStatus) *store.Delivery {
	return &store.Delivery{
		ID: uid(n), Target: "billing", Topic: "entity.order", Event: "entity.update", EventID: "secret-event", Entity: "order",
		Subject: fmt.Sprint(n), Body: []byte("secret-body"), Created: since.Add(time.Duration(n) * time.Second),
		Status: status, Due: since.Add(time.Hour), Owner: "secret-owner",
	}
}

// billing is a target as a relay has it: a URL that was not cleaned before.
func billing() outbox.TargetStats {
	return outbox.TargetStats{Target: outbox.Target{
		Name: "billing", URL: "https://secret-user:secret-password@receiver.example/hooks?key=secret-key#secret-fragment",
		Topics: []string{"entity.order"}, Timeout: 10 * time.Second, MaxInFlight: 8,
	}, Breaker: "closed"}
}

func newBox(ds ...*store.Delivery) *box {
	return &box{queue: ds, stats: outbox.Stats{Targets: []outbox.TargetStats{billing()}}}
}

// desk serves the boxes as the datastores of the tenant here, and theirs as one of
// the tenant there. Config.Outboxes hands out all, whoever asks.
func desk(t *testing.T, theirs *box, own ...*box) http.Handler {
	t.Helper()
	return api(t, deskConfig(theirs, own...))
}

func deskConfig(theirs *box, own ...*box) admin.Config {
	c := config(new([]string))
	c.Outboxes = func(string) []admin.Outbox {
		all := []admin.Outbox{{Tenant: there, Datastore: "main", Relay: theirs}}
		for i, b := range own {
			all = append(all, admin.Outbox{Tenant: here, Datastore: fmt.Sprint("d", i), Relay: b})
		}
		return all
	}
	return c
}

const events = "/admin/data/events/"

// ask sends a request as an operator of the tenant here, a POST where there is a body.
func ask(t *testing.T, h http.Handler, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	if body == "" {
		return get(t, h, events+path, here+" operator")
	}
	return send(t, h, path, body, map[string]string{"Authorization": here + " operator", "Content-Type": "application/json"})
}

func send(t *testing.T, h http.Handler, path, body string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, events+path, strings.NewReader(body))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// answers fails unless the answer is a 200 with just that document.
func answers(t *testing.T, got *httptest.ResponseRecorder, want string) {
	t.Helper()
	if got.Code != 200 || got.Body.String() != want+"\n" || got.Header().Get("Content-Type") != "application/json" || got.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("got  %d %v\n%s\nwant %s", got.Code, got.Header(), got.Body, want)
	}
}
