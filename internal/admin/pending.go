package admin

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/store"
)

// How many deliveries a page has.
const (
	pageLimit    = 20
	maxPageLimit = 100
)

// delivery is one that waits, as it is shown: no body, and of the row its id alone.
type delivery struct {
	ID         string     `json:"id"`
	Target     string     `json:"target"`
	Topic      string     `json:"topic"`
	Event      string     `json:"event"`
	Tenant     string     `json:"tenant"`
	Entity     string     `json:"entity"`
	Subject    string     `json:"subject"`
	Status     string     `json:"status"`
	Attempts   int        `json:"attempts"`
	NextAt     *time.Time `json:"nextat"`     // null unless pending
	LastStatus *int       `json:"laststatus"` // null: no answer yet
	LastError  *string    `json:"lasterror"`
	Created    time.Time  `json:"created"`
}

var statusNames = map[store.DeliveryStatus]string{store.Pending: "pending", store.Claimed: "claimed", store.Failed: "failed"}

func shown(d *store.Delivery, tenant string) delivery {
	view := delivery{
		ID: d.ID, Target: d.Target, Topic: d.Topic, Event: d.Event, Tenant: tenant, Entity: d.Entity, Subject: d.Subject,
		Status: statusNames[d.Status], Attempts: d.Attempts, Created: d.Created.UTC(),
		LastStatus: orNull(d.LastStatus), LastError: orNull(d.LastError),
	}
	if d.Status == store.Pending {
		view.NextAt = new(d.Due.UTC())
	}
	return view
}

// pending lists the deliveries of all the caller's datastores in one order: failed
// ones first, then the others, each by id, which is by age.
func (c Config) pending(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	query, err := httpapi.Parameters(w, "target", "status", "limit", "cursor")
	if err != nil {
		return err
	}
	q, err := readPage(query, p.Tenant)
	if err != nil {
		return err
	}
	own := c.outboxes(p)
	found, err := q.merge(r.Context(), own)
	if err != nil {
		return err
	}
	if len(found) == 0 && q.target != "" {
		if err := known(r.Context(), own, q.target); err != nil {
			return err
		}
	}
	var next *string
	if len(found) > q.limit {
		found = found[:q.limit]
		next = new(q.cursor(found[q.limit-1]))
	}
	items := make([]delivery, len(found))
	for i, d := range found {
		items[i] = shown(d, p.Tenant)
	}
	return reply(w, map[string]any{"items": items, "next": next})
}

// page says what a list is of, and where it goes on.
type page struct {
	tenant, target string
	status         store.DeliveryStatus
	limit          int
	after          place
}

func readPage(query url.Values, tenant string) (page, error) {
	q := page{tenant: tenant, target: query.Get("target"), limit: pageLimit}
	if query.Has("target") && q.target == "" {
		return q, fault.New(fault.BadParameter, "target is empty; leave it out for all")
	}
	if query.Has("status") {
		for status, name := range statusNames {
			if name == query.Get("status") {
				q.status = status
			}
		}
		if q.status == 0 {
			f := fault.New(fault.BadParameter, "status %q is none that a delivery has", clipped(query.Get("status")))
			f.Available = slices.Sorted(maps.Values(statusNames))
			return q, f
		}
	}
	if query.Has("limit") {
		var err error
		if q.limit, err = strconv.Atoi(query.Get("limit")); err != nil || q.limit < 1 || q.limit > maxPageLimit {
			return q, fault.New(fault.BadParameter, "limit must be a number from 1 to %d", maxPageLimit)
		}
	}
	if query.Has("cursor") {
		var ok bool
		if q.after, ok = q.open(query.Get("cursor")); !ok {
			return q, fault.New(fault.InvalidCursor, "the cursor is not one of this list: send it with the target and status it came with, or start again without it")
		}
	}
	return q, nil
}

// merge returns the first limit deliveries after the place, and one more where
// there is one.
func (q page) merge(ctx context.Context, own []Outbox) (all []*store.Delivery, err error) {
	for _, o := range own {
		some, err := o.Relay.List(ctx, store.DeliveryFilter{
			Target: q.target, Status: q.status, Limit: q.limit + 1, After: q.after.id, AfterLive: q.after.live,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortFunc(all, func(a, b *store.Delivery) int {
		return cmp.Or(cmp.Compare(live(a), live(b)), cmp.Compare(a.ID, b.ID))
	})
	return all[:min(len(all), q.limit+1)], nil
}

// live orders the ones that wait for an operator before the others.
func live(d *store.Delivery) int {
	if d.Status == store.Failed {
		return 0
	}
	return 1
}

// known refuses the name of a target that is not declared and has no deliveries:
// a misspelt one must not look like one that has nothing to do.
func known(ctx context.Context, own []Outbox, target string) error {
	if len(own) == 0 {
		return nil
	}
	var names []string
	for _, o := range own {
		s, err := o.Relay.Stats(ctx)
		if err != nil {
			return err
		}
		names = append(names, targetNames(s.Targets)...)
		for _, d := range s.Depths {
			names = append(names, d.Target)
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); slices.Contains(names, target) {
		return nil
	}
	return targetNotFound(target, names)
}
