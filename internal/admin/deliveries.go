package admin

import (
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// Queue is what operators read and change of the deliveries in a datastore. The
// methods are those of store.Queue; what is moved there is told to whoever sends.
type Queue interface {
	List(ctx context.Context, f store.DeliveryFilter) ([]*store.Delivery, error)
	Attempts(ctx context.Context, id string) ([]store.Attempt, error)
	Requeue(ctx context.Context, r store.Requeue) (store.Moved, error)
	Skip(ctx context.Context, ids []string) (store.Moved, error)
}

// Relay is a Queue with the one that sends from it; *outbox.Relay is the one there is.
type Relay interface {
	Queue
	// Drain attempts what is due. Where ctx ends before, it returns what was done
	// until then, and the error of ctx.
	Drain(ctx context.Context) (outbox.Drained, error)
	// Test sends a test event; outbox.ErrNoTarget where the target is not declared.
	Test(ctx context.Context, target string) (post.Result, error)
	Stats(ctx context.Context) (outbox.Stats, error)
	// Targets are the declared ones; unlike Stats it asks no datastore.
	Targets() []outbox.TargetStats
}

var _ Relay = (*outbox.Relay)(nil)

// Outbox is the relay of one tenant's datastore.
type Outbox struct {
	Tenant, Datastore string
	Relay             Relay
}

// deliveryRoutes are what operators do with deliveries (contract: Running the queue).
// They are there whether a target is declared or not.
func deliveryRoutes(c Config) []httpapi.Route {
	route := func(method, name string, h func(http.ResponseWriter, *http.Request, *access.Principal) error) httpapi.Route {
		return httpapi.Route{Method: method, Pattern: "/admin/data/events/" + name, Guard: httpapi.Admin, Handler: h}
	}
	return []httpapi.Route{
		route(http.MethodGet, "pending", c.pending),
		route(http.MethodGet, "stats", c.stats),
		route(http.MethodGet, "attempts", c.attempts),
		route(http.MethodPost, "drain", c.drain),
		route(http.MethodPost, "requeue", c.requeue),
		route(http.MethodPost, "skip", c.skip),
		route(http.MethodPost, "test", c.test),
	}
}

// outboxes returns those of the caller's tenant: whatever Config.Outboxes says,
// nobody's deliveries are shown to, or moved by, another tenant.
func (c Config) outboxes(p *access.Principal) (own []Outbox) {
	if c.Outboxes == nil {
		return nil
	}
	for _, o := range c.Outboxes(p.Tenant) {
		if o.Tenant == p.Tenant {
			own = append(own, o)
		}
	}
	return own
}

// mustHave is outboxes for what makes no sense without a target.
func (c Config) mustHave(p *access.Principal) ([]Outbox, error) {
	own := c.outboxes(p)
	if len(own) == 0 {
		return nil, fault.New(fault.NoTargetDeclared, "no target is declared under events.targets, so there are no deliveries")
	}
	return own, nil
}

func targetNotFound(name string, available []string) error {
	f := fault.New(fault.TargetNotFound, "no target %q is declared", clipped(name))
	f.Available = available
	return f
}

// deliveryID is U and a ULID.
var deliveryID = regexp.MustCompile(`^U[0-7][0-9A-HJKMNP-TV-Z]{25}$`)

// clipped keeps what a caller sent from filling a refusal.
func clipped(text string) string {
	if runes := []rune(text); len(runes) > 64 {
		return string(runes[:64]) + "…"
	}
	return text
}

// attempt is one POST as it is shown.
type attempt struct {
	Number       int       `json:"number"`
	At           time.Time `json:"at"`
	Milliseconds int64     `json:"milliseconds"`
	Status       *int      `json:"status"` // null: no answer
	Error        *string   `json:"error"`
	Outcome      string    `json:"outcome"`
}

// outcomes are the words of the metrics too.
var outcomes = map[store.Outcome]string{store.Delivered: "delivered", store.Retried: "retried", store.GivenUp: "failed"}

// attempts shows the attempt log of one delivery. It outlives the delivery, so an
// id that is nowhere is not told from one that was never attempted.
func (c Config) attempts(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	query, err := httpapi.Parameters(w, "id")
	if err != nil {
		return err
	}
	id := query.Get("id")
	if !deliveryID.MatchString(id) {
		return fault.New(fault.BadParameter, "id must be the id of a delivery: U and 26 letters and digits")
	}
	items := []attempt{}
	for _, o := range c.outboxes(p) {
		made, err := o.Relay.Attempts(r.Context(), id)
		if err != nil {
			return err
		}
		for _, a := range made {
			items = append(items, attempt{
				Number: a.Number, At: a.At.UTC(), Milliseconds: a.Took.Milliseconds(),
				Status: orNull(a.Status), Error: orNull(a.Error), Outcome: outcomes[a.Outcome],
			})
		}
	}
	return reply(w, map[string]any{"items": items})
}

// orNull is JSON's null for a zero value.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
