package admin

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/httpapi"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/store"
)

// depth counts deliveries by status.
type depth struct {
	Pending int64 `json:"pending"`
	Claimed int64 `json:"claimed"`
	Failed  int64 `json:"failed"`
}

func (d *depth) add(s store.Depth) {
	d.Pending += s.Pending
	d.Claimed += s.Claimed
	d.Failed += s.Failed
}

// deliveryCounters are of this process, since it started.
type deliveryCounters struct {
	Attempted uint64 `json:"attempted"`
	Delivered uint64 `json:"delivered"`
	Retried   uint64 `json:"retried"`
	Failed    uint64 `json:"failed"`
	LeaseLost uint64 `json:"leaselost"`
}

func (c *deliveryCounters) add(o outbox.Counters) {
	c.Attempted += o.Attempted
	c.Delivered += o.Delivered
	c.Retried += o.Retried
	c.Failed += o.Failed
	c.LeaseLost += o.LeaseLost
}

// target is a declared one, over all datastores. It has no secret and no header,
// and its url no userinfo and no query, where receivers keep theirs.
type target struct {
	Name        string     `json:"name"`
	URL         string     `json:"url"`
	Timeout     string     `json:"timeout"`
	Topics      []string   `json:"topics"`
	Order       string     `json:"order,omitempty"`
	MaxInFlight int        `json:"maxinflight"`
	InFlight    int        `json:"inflight"`
	Blocked     int64      `json:"blocked"`
	Depth       depth      `json:"depth"`
	OldestDue   *time.Time `json:"oldestdue"` // null: none is pending
	Breaker     string     `json:"breaker"`
}

// leftover is what the queue holds for a target that is not declared any more.
type leftover struct {
	Name  string `json:"name"`
	Depth depth  `json:"depth"`
}

// deliveryStats are those of one tenant.
type deliveryStats struct {
	Depth      depth            `json:"depth"`
	Counters   deliveryCounters `json:"counters"`
	OldestDue  *time.Time       `json:"oldestdue"`
	Targets    []*target        `json:"targets"`
	Undeclared []*leftover      `json:"undeclared"`
}

// stats answers with the queue's depth by status, this process's counters, and the
// declared targets (contract: Running the queue).
func (c Config) stats(w http.ResponseWriter, r *http.Request, p *access.Principal) error {
	if _, err := httpapi.Parameters(w); err != nil {
		return err
	}
	total := deliveryStats{Targets: []*target{}, Undeclared: []*leftover{}}
	undeclared := map[string]*leftover{}
	for _, o := range c.outboxes(p) {
		s, err := o.Relay.Stats(r.Context())
		if err != nil {
			return err
		}
		total.Counters.add(s.Counters)
		for _, t := range s.Targets {
			total.target(t)
		}
		for _, d := range s.Depths {
			total.deepen(d, undeclared)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(undeclared)) {
		total.Undeclared = append(total.Undeclared, undeclared[name])
	}
	return reply(w, total)
}

// find returns a target by name; nil where none bears it.
func (s *deliveryStats) find(name string) *target {
	for _, t := range s.Targets {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// target adds what one datastore's relay says of a target.
func (s *deliveryStats) target(o outbox.TargetStats) {
	t := s.find(o.Name)
	if t == nil {
		t = &target{
			Name: o.Name, URL: bare(o.URL), Timeout: o.Timeout.String(), Topics: orEmpty(o.Topics),
			MaxInFlight: o.MaxInFlight, Breaker: o.Breaker,
		}
		if o.Ordered {
			t.Order = "row"
		}
		s.Targets = append(s.Targets, t)
	}
	t.InFlight += o.InFlight
	if cmp.Compare(severity(o.Breaker), severity(t.Breaker)) > 0 {
		t.Breaker = o.Breaker
	}
}

// deepen adds what one datastore holds for a target.
func (s *deliveryStats) deepen(d store.Depth, undeclared map[string]*leftover) {
	s.Depth.add(d)
	s.OldestDue = earlier(s.OldestDue, d.OldestDue)
	t := s.find(d.Target)
	if t == nil {
		l := undeclared[d.Target]
		if l == nil {
			l = &leftover{Name: d.Target}
			undeclared[d.Target] = l
		}
		l.Depth.add(d)
		return
	}
	t.Depth.add(d)
	t.Blocked += d.Blocked
	t.OldestDue = earlier(t.OldestDue, d.OldestDue)
}

func earlier(a *time.Time, b time.Time) *time.Time {
	if b.IsZero() || a != nil && a.Before(b) {
		return a
	}
	return new(b.UTC())
}

// breakers are the states of a breaker, the worst last.
var breakers = []string{"closed", "probing", "open"}

func severity(breaker string) int { return slices.Index(breakers, breaker) }

// bare is a URL without what may hold a secret.
func bare(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

func targetNames(targets []outbox.TargetStats) []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = t.Name
	}
	return names
}
