package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
	"github.com/rowcast/rowcast/internal/store"
)

// nothingSent takes a request without parameters and without a body, or with {}.
func nothingSent(w http.ResponseWriter) error {
	sent, err := body(w)
	if err == nil && len(sent) > 0 {
		err = fault.New(fault.MalformedBody, "this route takes nothing: leave the body empty, or send {}")
	}
	return err
}

func body(w http.ResponseWriter) (map[string]json.RawMessage, error) {
	if _, err := httpapi.Parameters(w); err != nil {
		return nil, err
	}
	return httpapi.Object(w)
}

// unmoved is a delivery that stays as it is, and why.
type unmoved struct {
	ID     string `json:"id"`
	Reason string `json:"reason"`
}

// requeue makes failed deliveries pending again. A pending one would lose its
// backoff and a claimed one is in flight: they are skipped (contract: Running the queue).
func (c Config) requeue(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	sent, err := body(w)
	if err != nil {
		return err
	}
	wish, err := readWish(sent)
	if err != nil {
		return err
	}
	own, err := c.mustHave(p)
	if err != nil {
		return err
	}
	var moved store.Moved
	if wish.ids == nil {
		moved, err = requeueRange(r.Context(), own, wish)
	} else {
		moved, err = byID(own, wish.ids, func(o Outbox, ids []string) (store.Moved, error) {
			return o.Relay.Requeue(r.Context(), store.Requeue{IDs: ids})
		})
	}
	if err != nil {
		return err
	}
	return reply(w, map[string]any{"requeued": orEmpty(moved.IDs), "skipped": refusals(moved.Refused), "more": moved.More})
}

// requeueRange moves up to idLimit deliveries in all.
func requeueRange(ctx context.Context, own []Outbox, wish wish) (all store.Moved, err error) {
	if err := declared(own, wish.target); err != nil {
		return all, err
	}
	for i, o := range own {
		moved, err := o.Relay.Requeue(ctx, store.Requeue{
			Target: wish.target, Since: wish.since, Until: wish.until, Limit: idLimit - len(all.IDs),
		})
		if err != nil {
			return all, err
		}
		all.IDs = append(all.IDs, moved.IDs...)
		all.Refused = append(all.Refused, moved.Refused...)
		if all.More = moved.More; all.More {
			return all, nil
		}
		if len(all.IDs) >= idLimit {
			all.More = i+1 < len(own) // the next one was not looked at
			return all, nil
		}
	}
	return all, nil
}

// declared refuses a target that is none; those of all datastores are the same.
// It counts nothing: a queue that has grown too long for that is just what
// somebody works on here.
func declared(own []Outbox, target string) error {
	names := targetNames(own[0].Relay.Targets())
	if slices.Contains(names, target) {
		return nil
	}
	return targetNotFound(target, names)
}

// skip removes deliveries that wait, failed or not: they are never sent.
func (c Config) skip(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	sent, err := body(w)
	if err != nil {
		return err
	}
	ids, err := readIDs(sent)
	if err != nil {
		return err
	}
	own, err := c.mustHave(p)
	if err != nil {
		return err
	}
	moved, err := byID(own, ids, func(o Outbox, ids []string) (store.Moved, error) { return o.Relay.Skip(r.Context(), ids) })
	if err != nil {
		return err
	}
	return reply(w, map[string]any{"removed": orEmpty(moved.IDs), "skipped": refusals(moved.Refused)})
}

// byID asks one datastore after the other for the deliveries that none before
// knew. What none knows is unknown, and so is what another tenant has.
func byID(own []Outbox, ids []string, move func(Outbox, []string) (store.Moved, error)) (all store.Moved, err error) {
	for _, o := range own {
		if len(ids) == 0 {
			break
		}
		moved, err := move(o, ids)
		if err != nil {
			return all, err
		}
		all.IDs = append(all.IDs, moved.IDs...)
		ids = nil
		for _, u := range moved.Refused {
			if u.Reason == store.ReasonUnknown {
				ids = append(ids, u.ID)
			} else {
				all.Refused = append(all.Refused, u)
			}
		}
	}
	for _, id := range ids {
		all.Refused = append(all.Refused, store.Unmoved{ID: id, Reason: store.ReasonUnknown})
	}
	return all, nil
}

func refusals(list []store.Unmoved) []unmoved {
	shown := make([]unmoved, len(list))
	for i, u := range list {
		shown[i] = unmoved(u)
	}
	return shown
}

func orEmpty(ids []string) []string {
	if ids == nil {
		return []string{}
	}
	return ids
}

// tested is how a target answered a test event.
type tested struct {
	Target       string  `json:"target"`
	Accepted     bool    `json:"accepted"`
	Status       *int    `json:"status"` // null: no answer
	Milliseconds int64   `json:"milliseconds"`
	Error        *string `json:"error"`
}

// test sends a signed test event to a target now. That the target refused it, or
// did not answer, is the answer and no problem of this request.
func (c Config) test(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	sent, err := body(w)
	if err != nil {
		return err
	}
	target, err := readTarget(sent)
	if err != nil {
		return err
	}
	own, err := c.mustHave(p)
	if err != nil {
		return err
	}
	relay := own[0].Relay // each has the same targets
	result, err := relay.Test(r.Context(), target)
	if errors.Is(err, outbox.ErrNoTarget) {
		err = declared(own, target)
	}
	if err != nil {
		return err
	}
	return reply(w, tested{
		Target: target, Accepted: result.Class == post.Accepted, Status: orNull(result.Status),
		Milliseconds: result.Took.Milliseconds(), Error: orNull(result.Error),
	})
}
