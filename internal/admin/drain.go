package admin

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/rowcast/rowcast/fault"
	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/outbox"
)

// drainTime is how long a drain may keep its caller waiting.
const drainTime = 30 * time.Second

// drained is what a drain came to.
type drained struct {
	Attempted int  `json:"attempted"`
	Delivered int  `json:"delivered"`
	Retried   int  `json:"retried"`
	Failed    int  `json:"failed"`
	More      bool `json:"more"` // the time was over before all that was due had been attempted
}

func (d *drained) add(o outbox.Drained) {
	d.Attempted += o.Attempted
	d.Delivered += o.Delivered
	d.Retried += o.Retried
	d.Failed += o.Failed
}

// drain attempts what is due now: 200 when that is done, 202 when the time was
// over before, and the rest goes on as it would have anyway.
func (c Config) drain(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	if err := nothingSent(w); err != nil {
		return err
	}
	own, err := c.mustHave(p)
	if err != nil {
		return err
	}
	done, err := c.drainAll(r.Context(), own)
	if err != nil {
		return err
	}
	if done.More {
		return replyWith(w, http.StatusAccepted, done)
	}
	return reply(w, done)
}

// drainAll drains all datastores at the same time, so that one slow receiver does
// not use up the time of the next one, and returns when each has.
func (c Config) drainAll(ctx context.Context, own []Outbox) (total drained, err error) {
	limit := c.DrainTime
	if limit <= 0 {
		limit = drainTime
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, o := range own {
		group.Go(func() {
			d, failed := o.Relay.Drain(bounded)
			mu.Lock()
			defer mu.Unlock()
			total.add(d)
			switch {
			case failed == nil:
			case errors.Is(failed, outbox.ErrStopped):
				err = errors.Join(err, fault.New(fault.Unavailable, "the server is stopping").Because(failed))
			case bounded.Err() != nil && errors.Is(failed, bounded.Err()):
				total.More = true
			default:
				err = errors.Join(err, failed)
			}
		})
	}
	group.Wait()
	return total, errors.Join(err, ctx.Err())
}
