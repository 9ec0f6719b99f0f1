package boot

import (
	"crypto/x509"
	"net/http"
	"regexp"
	"time"

	"github.com/rowcast/rowcast/internal/access"
	"github.com/rowcast/rowcast/internal/document"
)

// Target is where events of some topics are delivered, by every tenant that
// publishes one of them.
type Target struct {
	Name        string
	URL         string         // http or https; no credentials, no fragment
	Secrets     []string       // at least one; the first is current
	Timeout     time.Duration  // of one attempt. Defaults to 10 s
	Topics      []string       // at least one, each published by somebody
	As          *As            // nil: notifications without values
	Headers     http.Header    // sent beside rowcast's own; canonical names, one value each
	Ordered     bool           // order: row, the events of a row one after the other
	MaxInFlight int            // attempts at one time and instance. Defaults to 8
	Roots       *x509.CertPool // who may vouch for the receiver; nil: whom the system trusts
	Pos         document.Pos
}

// As is the principal as whom a target reads what is delivered to it.
type As struct {
	ID     string
	Roles  []string
	Claims map[string]any // as decoded JSON; numbers are json.Number
}

// Principal returns who that is in a tenant. It never expires.
func (a *As) Principal(tenant string) *access.Principal {
	return &access.Principal{ID: a.ID, Roles: a.Roles, Tenant: tenant, Claims: a.Claims}
}

// targetName is what stands in metrics and paths as it is.
var targetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// The bounds of one attempt, and of the attempts at one time.
const (
	minTimeout  = 100 * time.Millisecond
	maxTimeout  = time.Minute
	maxInFlight = 256
)

func (l *loader) readTarget(member document.Member) {
	name := member.Key.Raw()
	if !targetName.MatchString(name) || len(name) > maxName {
		l.refusals.Add(member.Key.Refusal("not a target's name; write letters, digits, dots, dashes and underscores, such as billing"))
	}
	m := member.Value.Map(&l.refusals, targetShape)
	t := Target{Name: name, Timeout: 10 * time.Second, MaxInFlight: 8, Pos: member.Key.Pos}
	t.URL = l.targetURL(m.Need("url", "say where deliveries are posted, such as https://receiver.example/hooks"))
	t.Secrets = l.targetSecrets(m.Need("secret", "an unsigned delivery is one a receiver cannot trust; write secret: \"${NAME}\" and set NAME in the environment"))
	t.Topics = l.targetTopics(m.Need("topics", "say what is delivered; "+l.publishedTopics()))
	if d, ok := m.Get("timeout").Duration(&l.refusals, minTimeout, maxTimeout); ok {
		t.Timeout = d
	}
	if n, ok := m.Get("maxinflight").Int(&l.refusals, 1, maxInFlight); ok {
		t.MaxInFlight = int(n)
	}
	_, t.Ordered = m.Get("order").OneOf(&l.refusals, "row")
	t.Headers = l.targetHeaders(m.Get("headers"))
	t.Roots = l.targetRoots(m.Get("ca"), t.URL)
	t.As = l.targetAs(m.Get("as"), t.Topics)
	l.doc.Events.Targets = append(l.doc.Events.Targets, t)
}
