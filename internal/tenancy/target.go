package tenancy

import (
	"crypto/x509"
	"net/http"
	"net/url"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/engine"
	"github.com/rowcast/rowcast/internal/outbox"
	"github.com/rowcast/rowcast/internal/outbox/post"
)

// Target is where events of some topics are delivered.
type Target struct {
	Name        string
	URL         string
	Secrets     []string // the first is current
	Timeout     time.Duration
	Topics      []string
	As          *access.Principal // of this tenant; nil: notifications without values
	Headers     http.Header
	Ordered     bool
	MaxInFlight int
	Roots       *x509.CertPool // nil: whom the system trusts
}

// openOutbox makes the relay, where there is something to relay. It stands on
// the store, and the engine on it.
func (u *Unit) openOutbox() {
	if len(u.config.Targets) == 0 {
		return
	}
	posters := map[string]outbox.Poster{}
	var targets []outbox.Target
	for _, t := range u.config.Targets {
		posters[t.Name] = t.poster(u.config.Now)
		targets = append(targets, outbox.Target{
			Name: t.Name, URL: shown(t.URL), Topics: t.Topics, Timeout: t.Timeout, Ordered: t.Ordered, MaxInFlight: t.MaxInFlight,
		})
	}
	u.Outbox = outbox.New(outbox.Config{
		Queue: u.store.Queue(), Targets: targets, Poster: func(name string) outbox.Poster { return posters[name] },
		Every: u.config.Every, NewID: u.config.IDs.Next, Now: u.config.Now, Logger: u.config.Logger,
		Retention: u.config.Retention, Tenant: u.config.Tenant,
	})
}

func (t *Target) poster(now func() time.Time) *post.Poster {
	return post.New(post.Target{
		Name: t.Name, URL: t.URL, Secrets: t.Secrets, Timeout: t.Timeout, Headers: t.Headers, Roots: t.Roots,
	}, post.Config{Now: now, Idle: t.MaxInFlight})
}

// shown is the URL for statistics: without what may be a secret in it.
func shown(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// wanted are the targets as the engine knows them.
func (c Config) wanted() []engine.Target {
	var all []engine.Target
	for _, t := range c.Targets {
		all = append(all, engine.Target{Name: t.Name, Topics: t.Topics, As: t.As, Ordered: t.Ordered})
	}
	return all
}

// outbox is the relay for the engine; nil, and no nil in an interface, where
// there is none.
func (u *Unit) outbox() engine.Outbox {
	if u.Outbox == nil {
		return nil
	}
	return u.Outbox
}
